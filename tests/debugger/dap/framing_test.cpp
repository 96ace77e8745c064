// The protocol's framing under malformed, huge, nested and cut messages.
#include "debugger/dap/framing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace cudasim::debugger {
namespace {

TEST(Framing, messages_come_whole_however_the_bytes_come) {
    const std::string stream = framed("{\"a\": 1}") + framed("") + framed("\xc3\xa4");
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        MessageReader reader;
        std::vector<std::string> messages;
        for (std::size_t at = 0; at < stream.size(); at += piece) {
            reader.add(std::string_view(stream).substr(at, piece));
            while (auto message = reader.next().message) messages.push_back(*message);
        }
        EXPECT_EQ(messages, (std::vector<std::string>{"{\"a\": 1}", "", "\xc3\xa4"})) << piece;
    }
}

TEST(Framing, other_headers_are_passed_over_and_names_are_of_any_case) {
    MessageReader reader;
    reader.add("X-Other: 1\r\ncontent-LENGTH:  2 \r\n\r\nab");
    EXPECT_EQ(reader.next().message, "ab");
}

TEST(Framing, a_wrong_header_ends_the_stream) {
    for (const std::string header : {"Content-Length: x\r\n\r\n", "Content-Length: -1\r\n\r\n", "\r\n\r\n",
                                     "nonsense\r\n\r\n", "Content-Length: 99999999999999999999999\r\n\r\n"}) {
        MessageReader reader;
        reader.add(header + framed("later"));
        const auto result = reader.next();
        EXPECT_TRUE(result.broken) << header;
        EXPECT_FALSE(result.complaint.empty()) << header;
        EXPECT_FALSE(reader.next().message) << header;
    }
    MessageReader endless;
    endless.add(std::string(2 * longest_header, 'x'));
    EXPECT_TRUE(endless.next().broken);
}

TEST(Framing, a_message_that_is_too_long_is_passed_over) {
    MessageReader reader;
    const std::uint64_t length = longest_message + 1;
    reader.add("Content-Length: " + std::to_string(length) + "\r\n\r\n");
    const auto result = reader.next();
    EXPECT_FALSE(result.broken);
    EXPECT_NE(result.complaint.find("passed over"), std::string::npos);
    for (std::uint64_t sent = 0; sent < length;) {
        const std::uint64_t piece = std::min<std::uint64_t>(1 << 20, length - sent);
        reader.add(std::string(piece, 'x'));
        sent += piece;
        EXPECT_FALSE(reader.next().message);
    }
    reader.add(framed("next"));
    EXPECT_EQ(reader.next().message, "next");
}

TEST(Framing, depth_is_counted_outside_of_texts) {
    const auto nested = [](unsigned depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    EXPECT_TRUE(is_shallow(nested(deepest_message)));
    EXPECT_FALSE(is_shallow(nested(deepest_message + 1)));
    EXPECT_FALSE(is_shallow(std::string(1 << 20, '{')));
    EXPECT_TRUE(is_shallow("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '[') + "\""));
}

TEST(Framing, random_bytes_do_no_harm) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        MessageReader reader;
        std::string bytes = framed("{}");
        const int changes = 1 + static_cast<int>(random() % 4);
        for (int i = 0; i < changes; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
        reader.add(bytes);
        for (int i = 0; i < 10; ++i)
            if (auto message = reader.next().message) (void)is_shallow(*message);
    }
}

}  // namespace
}  // namespace cudasim::debugger

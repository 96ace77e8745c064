// A recorded launch, served without a front end: which launch of a file, from the first request to the end,
// tokens, and clients that vanish.
#include "debugger/cores/core_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <thread>
#include <vector>

#include "debugger/dap/framing.h"
#include "simulator/driver/record_file.h"
#include "tests/simulator/driver/recording.h"

namespace cudasim::debugger {
namespace {

namespace fs = std::filesystem;
using driver::LaunchRecord;
using driver::testing::Recording;

/// A client that says each line when the server has sent what it waits for.
class ScriptedChannel final : public Channel {
  public:
    struct Line {
        std::string after;    ///< a part of what the server has sent since the line before
        std::string request;  ///< without number; empty: the client goes away
    };
    explicit ScriptedChannel(std::vector<Line> lines) : lines_(std::move(lines)) {}

    void send(std::string_view bytes) override {
        const std::lock_guard lock(mutex_);
        sent += bytes;
        changed_.notify_all();
    }
    std::string receive() override {
        std::unique_lock lock(mutex_);
        if (next_ == lines_.size()) {
            changed_.wait(lock, [&] { return ended_; });
            return {};
        }
        const Line& line = lines_[next_++];
        const auto arrived = [&] { return ended_ || sent.find(line.after, seen_) != std::string::npos; };
        if (!changed_.wait_for(lock, std::chrono::seconds(60), arrived)) {
            ADD_FAILURE() << "the server has not sent " << line.after << " but " << sent;
            return {};
        }
        if (ended_ || line.request.empty()) return {};
        seen_ = sent.find(line.after, seen_) + line.after.size();
        return framed(R"({"type": "request", "seq": )" + std::to_string(next_) + ", " + line.request + "}");
    }
    void end() override {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        changed_.notify_all();
    }

    std::string sent;

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Line> lines_;
    std::size_t next_ = 0, seen_ = 0;
    bool ended_ = false;
};

using Line = ScriptedChannel::Line;
const Line initialize{"", R"("command": "initialize", "arguments": {"adapterID": "test"})"};
const Line attach{"initialized", R"("command": "attach", "arguments": {})"};
const Line configured{R"("command":"attach")", R"("command": "configurationDone")"};
const Line go_on{R"("stopped")", R"("command": "continue", "arguments": {"threadId": 1})"};

class CoreServerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string made = (fs::temp_directory_path() / "cudasim_server_XXXXXX").string();
        ASSERT_NE(mkdtemp(made.data()), nullptr);
        file = fs::path(made) / "run.cudasim";
    }
    void TearDown() override { fs::remove_all(file.parent_path()); }

    /// A file with these launches, by what they are: whether each fails.
    void write(const std::vector<bool>& launches) const {
        driver::RecordWriter writer(file);
        for (std::size_t i = 0; i < launches.size(); ++i) {
            LaunchRecord record = Recording(8, launches[i]).record();
            record.number = i + 1;
            writer.add(record);
        }
        writer.close();
    }
    [[nodiscard]] std::string refusal(std::optional<std::uint64_t> launch = {}) const {
        try {
            const CoreServer server(file, launch);
            return "served: " + server.headline();
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }

    fs::path file;
};

TEST_F(CoreServerTest, TheFirstLaunchThatFailedIsTakenOrTheOneThatIsNamed) {
    write({false, true, true});
    EXPECT_EQ(refusal(), "served: #2 k<<<(1, 1, 1), (8, 1, 1)>>>");
    EXPECT_EQ(refusal(3), "served: #3 k<<<(1, 1, 1), (8, 1, 1)>>>");
    EXPECT_EQ(refusal(4), "there is no launch 4 in it; it has 1, 2, 3");
    write({false, false});
    EXPECT_EQ(refusal(), "served: #1 k<<<(1, 1, 1), (8, 1, 1)>>>");
    write({});
    EXPECT_EQ(refusal(), "there is no launch in it");
}

TEST_F(CoreServerTest, WhatARecordSaysOfFindingsIsNotBelieved) {
    for (const std::string findings : {"", "{", "[]", "{\"findings\": [3]}", "{\"findings\": 3}"}) {
        LaunchRecord record = Recording().record();
        record.outcome.findings = findings;
        driver::RecordWriter writer(file);
        writer.add(record);
        writer.close();
        EXPECT_EQ(refusal(), "what the record says of findings is malformed") << findings;
    }
    LaunchRecord record = Recording().record();
    record.image = driver::Content("no image");
    driver::RecordWriter writer(file);
    writer.add(record);
    writer.close();
    EXPECT_NE(refusal().find("image"), std::string::npos) << refusal();
}

TEST_F(CoreServerTest, AFailureStopsAndTheEndIsCompared) {
    write({true});
    CoreServer server(file, {});
    ScriptedChannel channel({initialize, attach, configured, go_on});
    EXPECT_EQ(server.serve(channel), 0) << channel.sent;
    EXPECT_NE(channel.sent.find(R"("reason":"exception")"), std::string::npos) << channel.sent;
    EXPECT_NE(channel.sent.find("as it was recorded, to the bit"), std::string::npos) << channel.sent;
    EXPECT_NE(channel.sent.find(R"("terminated")"), std::string::npos);
    // For the next client it runs again.
    ScriptedChannel next({initialize, attach, configured, go_on});
    EXPECT_EQ(server.serve(next), 0) << next.sent;
}

TEST_F(CoreServerTest, PrintedTextIsShownAndAnotherEndIsSaid) {
    LaunchRecord record = Recording().record();
    record.outcome.printed = "something else\n";
    for (auto& range : record.memory)
        if (range.label == "out") range.after_hash = driver::Hash{1, 2};
    driver::RecordWriter writer(file);
    writer.add(record);
    writer.close();
    CoreServer server(file, {});
    // This kernel has no lines, so that it does not stop at its entry.
    ScriptedChannel channel({initialize, attach, configured});
    EXPECT_EQ(server.serve(channel), 1) << channel.sent;
    EXPECT_NE(channel.sent.find(R"("category":"stdout","output":"sum 100)"), std::string::npos)
        << channel.sent;
    EXPECT_NE(channel.sent.find("ended otherwise than it was recorded"), std::string::npos) << channel.sent;
    EXPECT_NE(channel.sent.find("memory differs after the launch: 'out'"), std::string::npos);
    EXPECT_NE(channel.sent.find("what the kernel printed differs"), std::string::npos);
}

TEST_F(CoreServerTest, NothingRunsBeforeTheClientHasGivenTheToken) {
    write({true});
    CoreServer server(file, {});
    const Line early{"initialized", R"("command": "configurationDone")"};
    const Line wrong{"attach first", R"("command": "attach", "arguments": {"token": "0123x"})"};
    const Line part{"needs", R"("command": "launch", "arguments": {"token": "01230123"})"};
    ScriptedChannel refused({initialize, early, wrong, part, {"needs", ""}});
    EXPECT_EQ(server.serve(refused, "0123"), std::nullopt) << refused.sent;
    EXPECT_EQ(refused.sent.find("stopped"), std::string::npos) << refused.sent;
    const Line right{"initialized", R"("command": "launch", "arguments": {"token": "0123"})"};
    const Line then{R"("command":"launch")", R"("command": "configurationDone")"};
    ScriptedChannel channel({initialize, right, then, go_on});
    EXPECT_EQ(server.serve(channel, "0123"), 0) << channel.sent;
}

TEST_F(CoreServerTest, AClientThatGoesAwayEndsTheLaunch) {
    write({true});
    CoreServer server(file, {});
    ScriptedChannel before({initialize, {"initialized", ""}});
    EXPECT_EQ(server.serve(before), 1);
    ScriptedChannel stopped({initialize, attach, configured, {R"("stopped")", ""}});
    EXPECT_EQ(server.serve(stopped), 1);
    ScriptedChannel terminated(
        {initialize, attach, configured, {R"("stopped")", R"("command": "terminate", "arguments": {})"}});
    EXPECT_EQ(server.serve(terminated), 1);
    EXPECT_NE(terminated.sent.find(R"("terminated")"), std::string::npos) << terminated.sent;
}

TEST(PipeChannelTest, SendsReceivesAndNoticesTheEnd) {
    int to[2], from[2];
    ASSERT_EQ(pipe(to), 0);
    ASSERT_EQ(pipe(from), 0);
    PipeChannel channel(to[0], from[1]);
    ASSERT_EQ(write(to[1], "abc", 3), 3);
    EXPECT_EQ(channel.receive(), "abc");
    channel.send("four");
    char buffer[8] = {};
    EXPECT_EQ(read(from[0], buffer, sizeof buffer), 4);
    close(to[1]);
    EXPECT_EQ(channel.receive(), "");
    channel.end();
    channel.send("nobody reads this");
    EXPECT_EQ(channel.receive(), "");
    for (const int each : {to[0], from[0], from[1]}) close(each);
}

}  // namespace
}  // namespace cudasim::debugger

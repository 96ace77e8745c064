// The fuzzer of messages (message_fuzzer.cpp) for a short while in every run of the tests: its seeds, and
// random changes of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::string> seeds() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(CUDASIM_SEEDS)) {
        std::ifstream file(entry.path(), std::ios::binary);
        found.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return found;
}

void run(const std::string& input) {
    EXPECT_EQ(LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()), 0);
}

TEST(Messages, of_the_seeds_are_taken) {
    ASSERT_GE(seeds().size(), 6U);
    for (const std::string& seed : seeds()) run(seed);
}

TEST(Messages, that_are_changed_at_random_do_no_harm) {
    std::mt19937 random(1);
    const auto below = [&](std::size_t end) {
        return std::uniform_int_distribution<std::size_t>(0, end)(random);
    };
    const std::vector<std::string> all = seeds();
    for (int round = 0; round < 20'000; ++round) {
        std::string input = all[below(all.size() - 1)];
        for (std::size_t changes = below(6); changes > 0; --changes) {
            const std::size_t at = below(input.size());
            switch (below(4)) {
                case 0:
                    input.insert(at, 1, static_cast<char>(below(255)));
                    break;
                case 1:
                    input.erase(at, below(8));
                    break;
                case 2:
                    if (at < input.size()) input[at] = static_cast<char>(below(255));
                    break;
                case 3:
                    input.insert(at, std::string(below(80), "[{\"0-9"[below(5)]));
                    break;
                default:
                    input.insert(at, all[below(all.size() - 1)].substr(0, below(200)));
            }
        }
        run(input);
    }
}

}  // namespace

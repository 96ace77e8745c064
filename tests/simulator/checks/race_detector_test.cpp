// The detector, told what threads do, against a slow one that is plainly right (race_oracle.h).
#include "simulator/checks/race_detector.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>

#include "tests/simulator/checks/race_oracle.h"

namespace cudasim::checks {
namespace {

using jit::MemoryOrder;

struct Shape {
    std::uint32_t blocks, threads;
    RaceModel model;
    bool barriers_only;
    bool narrow;  ///< accesses to single bytes, too
};

/// Random events of the threads of a launch, told to both. Reads, writes and atomic operations go to a few
/// words, so that they meet.
class RandomLaunch {
  public:
    RandomLaunch(std::uint64_t seed, const Shape& shape)
        : random_(seed),
          shape_(shape),
          shadow_(reinterpret_cast<std::uint64_t>(memory_.data()) & ~std::uint64_t{4095}, 8192),
          detector_(shadow_),
          oracle_(shape.blocks, shape.threads, shape.model) {
        detector_.launch_begins(shape.model);
        for (std::uint32_t block = 0; block < shape.blocks; ++block)
            blocks_.push_back(&detector_.block_begins(block, shape.threads));
    }

    void run(int events) {
        for (int event = 0; event < events && !::testing::Test::HasFailure(); ++event) step();
    }
    [[nodiscard]] std::uint64_t racy_accesses() const { return racy_; }
    [[nodiscard]] std::uint64_t clean_accesses() const { return clean_; }

  private:
    std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

    void step() {
        const std::uint32_t block = pick(shape_.blocks), thread = pick(shape_.threads);
        const std::uint32_t kind = pick(shape_.barriers_only ? 70 : 100);
        if (kind < 50)
            plain(block, thread);
        else if (kind < 60)
            atomic(block, thread);
        else if (kind < 67)
            barrier(block);
        else if (kind < 68)
            grid_barrier();
        else if (kind < 70)
            plain(block, thread);
        else if (kind < 80)
            fence(block, thread);
        else if (kind < 90)
            atomic(block, thread);
        else if (kind < 97)
            warp_barrier(block, thread);
        else
            named_barrier(block);
    }

    std::uint64_t address(std::uint32_t words) {
        return reinterpret_cast<std::uint64_t>(memory_.data()) + word_bytes * pick(words);
    }

    /// Whether what both say of an access is the same, as long as its words have had no race.
    void expect_same(std::uint64_t address, std::uint64_t bytes, const std::vector<RaceOracle::Past>& racing,
                     std::uint64_t pairs_before) {
        const bool found = detector_.pairs() != pairs_before;
        bool tainted = false;
        const std::uint64_t first = address / word_bytes, last = (address + bytes - 1) / word_bytes;
        for (std::uint64_t word = first; word <= last; ++word) tainted = tainted || tainted_.contains(word);
        if (!tainted) {
            EXPECT_EQ(found, !racing.empty()) << history_.str();
            ++(racing.empty() ? clean_ : racy_);
        }
        if (found || !racing.empty())
            for (std::uint64_t word = first; word <= last; ++word) tainted_.insert(word);
    }

    void plain(std::uint32_t block, std::uint32_t thread) {
        PlainAccess access;
        access.address = address(12);
        access.bytes = word_bytes;
        if (shape_.narrow && pick(2) == 0) {
            access.address += pick(word_bytes);
            access.bytes = 1;
        } else if (pick(6) == 0) {
            access.bytes = 8;
        }
        access.writes = pick(3) == 0;
        access.barriers_only = shape_.barriers_only;
        access.is_decided = access.writes && !shape_.barriers_only && pick(2) == 0;
        history_ << (access.is_decided ? "decided " : "") << (access.writes ? "write " : "read ") << block
                 << "," << thread << " @" << access.address % 4096 << "+" << access.bytes << "\n";
        const std::uint64_t before = detector_.pairs();
        detector_.access(*blocks_[block], thread, access);
        expect_same(access.address, access.bytes, oracle_.plain(number(block, thread), access), before);
    }

    void atomic(std::uint32_t block, std::uint32_t thread) {
        AtomicAccess access;
        // Mostly words of their own: a race ends a word's part in the test.
        access.address = pick(4) == 0 ? address(12) : address(4) + 16 * word_bytes;
        access.bytes = word_bytes;
        access.kind = static_cast<AtomicKind>(pick(4));
        access.wrote = pick(2) == 0 || access.kind != AtomicKind::compare_and_swap;
        access.scope = pick(5) == 0 ? AtomicScope::block : AtomicScope::device;
        if (!shape_.barriers_only && pick(3) == 0) {
            constexpr std::array orders{MemoryOrder::acquire, MemoryOrder::release,
                                        MemoryOrder::acquire_release, MemoryOrder::sequential};
            access.order = orders[pick(orders.size())];
        }
        access.barriers_only = shape_.barriers_only;
        access.is_verified = access.kind == AtomicKind::load && pick(2) == 0;
        access.waits =
            access.kind == AtomicKind::load && !access.is_verified && !shape_.barriers_only && pick(3) != 0;
        history_ << (access.is_verified ? "verified " : "") << (access.waits ? "waiting " : "") << "atomic "
                 << static_cast<int>(access.kind) << " order " << static_cast<int>(access.order) << " scope "
                 << static_cast<int>(access.scope) << " wrote " << access.wrote << " " << block << ","
                 << thread << " @" << access.address % 4096 << "\n";
        const std::uint64_t before = detector_.pairs();
        detector_.atomic(*blocks_[block], thread, access);
        expect_same(access.address, access.bytes, oracle_.atomic(number(block, thread), access), before);
    }

    void fence(std::uint32_t block, std::uint32_t thread) {
        const bool device = pick(3) != 0;
        constexpr std::array orders{MemoryOrder::acquire, MemoryOrder::release, MemoryOrder::sequential,
                                    MemoryOrder::sequential};
        const MemoryOrder order = orders[pick(orders.size())];
        history_ << "fence " << device << " order " << static_cast<int>(order) << " " << block << ","
                 << thread << "\n";
        detector_.fence(*blocks_[block], thread, order, device ? image::Scope::device : image::Scope::block);
        oracle_.fence(number(block, thread), order, device);
    }

    void barrier(std::uint32_t block) {
        history_ << "barrier " << block << "\n";
        detector_.block_barrier(*blocks_[block]);
        oracle_.block_barrier(block);
    }
    void grid_barrier() {
        history_ << "grid barrier\n";
        for (auto* block : blocks_) detector_.grid_barrier(*block);
        oracle_.grid_barrier();
    }

    void warp_barrier(std::uint32_t block, std::uint32_t thread) {
        const std::uint32_t first = thread / 32 * 32, end = std::min(first + 32, shape_.threads);
        std::uint32_t mask = 0;
        std::vector<std::uint32_t> members;
        for (std::uint32_t each = first; each < end; ++each)
            if (each == thread || pick(2) == 0) mask |= 1U << (each - first);
        history_ << "warp barrier " << block << "," << first << " mask " << mask << "\n";
        for (std::uint32_t each = first; each < end; ++each) {
            if ((mask >> (each - first) & 1U) == 0) continue;
            detector_.warp_barrier(*blocks_[block], each, mask);
            members.push_back(number(block, each));
        }
        oracle_.meet(members, members);
    }

    void named_barrier(std::uint32_t block) {
        std::vector<std::uint32_t> came, waiting, all_came, all_waiting;
        history_ << "named barrier " << block << ":";
        for (std::uint32_t each = 0; each < shape_.threads; ++each) {
            const std::uint32_t part = pick(3);
            if (part == 0) continue;
            came.push_back(each);
            all_came.push_back(number(block, each));
            history_ << " " << each << (part == 1 ? "w" : "a");
            if (part == 1) waiting.push_back(each);
            if (part == 1) all_waiting.push_back(number(block, each));
        }
        history_ << "\n";
        detector_.named_barrier(*blocks_[block], came, waiting);
        oracle_.meet(all_came, all_waiting);
    }

    [[nodiscard]] std::uint32_t number(std::uint32_t block, std::uint32_t thread) const {
        return block * shape_.threads + thread;
    }

    std::mt19937_64 random_;
    Shape shape_;
    alignas(64) std::array<std::uint8_t, 4096> memory_{};
    RaceShadow shadow_;
    RaceDetector detector_;
    RaceOracle oracle_;
    std::vector<RaceDetector::Block*> blocks_;
    std::set<std::uint64_t> tainted_;
    std::uint64_t racy_ = 0, clean_ = 0;
    std::ostringstream history_;
};

/// `make fuzz-races` asks for more.
std::uint64_t launches() {
    const char* asked = std::getenv("CUDASIM_FUZZ_RACES");
    return asked != nullptr ? std::strtoull(asked, nullptr, 10) : 400;
}

class RandomRaces : public ::testing::TestWithParam<Shape> {};

TEST_P(RandomRaces, are_those_of_the_oracle) {
    std::uint64_t racy = 0, clean = 0;
    for (std::uint64_t seed = 0; seed < launches() && !HasFailure(); ++seed) {
        RandomLaunch launch(seed, GetParam());
        launch.run(120);
        racy += launch.racy_accesses();
        clean += launch.clean_accesses();
    }
    // Both verdicts are frequent, so that a detector with one of them fails.
    EXPECT_GT(racy, 400U);
    EXPECT_GT(clean, 2000U);
}

INSTANTIATE_TEST_SUITE_P(Shapes, RandomRaces,
                         ::testing::Values(Shape{1, 4, RaceModel::idiom, true, false},
                                           Shape{3, 2, RaceModel::idiom, true, true},
                                           Shape{4, 40, RaceModel::idiom, true, false},
                                           Shape{1, 4, RaceModel::idiom, false, false},
                                           Shape{3, 2, RaceModel::idiom, false, true},
                                           Shape{2, 34, RaceModel::idiom, false, false},
                                           Shape{3, 3, RaceModel::ptx, false, true}));

/// A launch of a few blocks that are told one thing after another.
class ToldLaunch : public ::testing::Test {
  protected:
    ToldLaunch()
        : shadow_(reinterpret_cast<std::uint64_t>(memory_.data()) & ~std::uint64_t{4095}, 8192),
          detector_(shadow_) {
        detector_.launch_begins(RaceModel::idiom);
        for (std::uint32_t block = 0; block < 3; ++block)
            blocks_.push_back(&detector_.block_begins(block, 2));
    }

    void plain(std::uint32_t block, std::uint32_t thread, bool writes, bool is_decided = false) {
        PlainAccess access;
        access.address = reinterpret_cast<std::uint64_t>(memory_.data());
        access.bytes = word_bytes;
        access.writes = writes;
        access.is_decided = is_decided;
        detector_.access(*blocks_[block], thread, access);
    }
    void wait(std::uint32_t block, std::uint32_t thread = 0) {
        AtomicAccess access;
        access.address = reinterpret_cast<std::uint64_t>(memory_.data());
        access.bytes = word_bytes;
        access.kind = AtomicKind::load;
        access.waits = true;
        detector_.atomic(*blocks_[block], thread, access);
    }
    void atomic(std::uint32_t block, AtomicKind kind, bool wrote = true, bool is_verified = false) {
        AtomicAccess access;
        access.address = reinterpret_cast<std::uint64_t>(memory_.data());
        access.bytes = word_bytes;
        access.kind = kind;
        access.wrote = wrote;
        access.is_verified = is_verified;
        access.site = is_verified ? 7 : 8;
        detector_.atomic(*blocks_[block], 0, access);
    }

    alignas(64) std::array<std::uint8_t, 4096> memory_{};
    RaceShadow shadow_;
    RaceDetector detector_;
    std::vector<RaceDetector::Block*> blocks_;
};

TEST_F(ToldLaunch, two_reads_never_race_whatever_they_are) {
    plain(0, 0, false);
    atomic(1, AtomicKind::load);
    atomic(2, AtomicKind::compare_and_swap, false);
    plain(0, 1, false);
    plain(1, 1, false);
    EXPECT_EQ(detector_.pairs(), 0U);
    atomic(2, AtomicKind::compare_and_swap, true);
    EXPECT_EQ(detector_.pairs(), 3U);  // with each plain read
}

TEST_F(ToldLaunch, an_atomic_load_does_not_hide_the_update_before_it) {
    atomic(0, AtomicKind::update);
    atomic(0, AtomicKind::load);
    plain(1, 0, false);
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, an_atomic_load_races_with_a_plain_write) {
    atomic(0, AtomicKind::load);
    plain(1, 0, true);
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, a_verified_read_is_told_as_a_plain_one_and_orders_nothing) {
    atomic(0, AtomicKind::update);
    atomic(1, AtomicKind::load, true, true);
    EXPECT_EQ(detector_.pairs(), 0U);
    plain(2, 0, true);
    const auto races = detector_.launch_ends();
    ASSERT_EQ(races.size(), 2U);
    EXPECT_EQ(races[0].first.kind, AccessClass::read);
    EXPECT_FALSE(races[0].first.is_volatile);
    EXPECT_EQ(races[1].first.kind, AccessClass::atomic);
}

TEST_F(ToldLaunch, the_last_update_decides_a_write_behind_all_of_them) {
    for (const std::uint32_t block : {0, 1, 2}) atomic(block, AtomicKind::update);
    plain(2, 0, true, true);
    EXPECT_EQ(detector_.pairs(), 0U);
}

TEST_F(ToldLaunch, so_it_does_for_threads_behind_a_barrier) {
    for (const std::uint32_t block : {0, 1, 2}) atomic(block, AtomicKind::update);
    detector_.block_barrier(*blocks_[2]);
    plain(2, 1, true, true);
    EXPECT_EQ(detector_.pairs(), 0U);
}

TEST_F(ToldLaunch, without_a_barrier_another_thread_knows_of_no_update) {
    for (const std::uint32_t block : {0, 1, 2}) atomic(block, AtomicKind::update);
    plain(2, 1, true, true);
    EXPECT_NE(detector_.pairs(), 0U);
}

TEST_F(ToldLaunch, an_update_that_is_not_the_last_decides_nothing) {
    for (const std::uint32_t block : {0, 1, 2}) atomic(block, AtomicKind::update);
    plain(1, 0, true, true);
    EXPECT_NE(detector_.pairs(), 0U);
}

TEST_F(ToldLaunch, updates_behind_a_decided_write_race_with_it) {
    for (const std::uint32_t block : {0, 1}) atomic(block, AtomicKind::update);
    plain(1, 0, true, true);
    EXPECT_EQ(detector_.pairs(), 0U);
    atomic(2, AtomicKind::update);
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, a_write_that_no_update_decides_races_with_all_of_other_threads) {
    for (const std::uint32_t block : {0, 1, 2}) atomic(block, AtomicKind::update);
    plain(2, 0, true, false);
    EXPECT_EQ(detector_.pairs(), 2U);
}

TEST_F(ToldLaunch, an_atomic_store_has_seen_no_update) {
    atomic(0, AtomicKind::update);
    atomic(1, AtomicKind::store);
    atomic(2, AtomicKind::update);
    plain(2, 0, true, true);
    EXPECT_EQ(detector_.pairs(), 2U);
}

TEST_F(ToldLaunch, who_has_waited_for_a_store_comes_behind_it) {
    atomic(0, AtomicKind::store);
    wait(1);
    plain(1, 0, false);
    EXPECT_EQ(detector_.pairs(), 0U);
    plain(1, 1, false);  // another thread has not
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, so_do_threads_behind_a_barrier) {
    atomic(0, AtomicKind::store);
    wait(1);
    detector_.block_barrier(*blocks_[1]);
    plain(1, 1, false);
    EXPECT_EQ(detector_.pairs(), 0U);
    plain(2, 0, false);
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, a_load_that_does_not_wait_orders_no_read_behind_a_store) {
    atomic(0, AtomicKind::store);
    atomic(1, AtomicKind::load);
    plain(1, 0, false);
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, a_store_behind_the_wait_is_another_one) {
    atomic(0, AtomicKind::store);
    wait(1);
    atomic(2, AtomicKind::store);
    plain(1, 0, false);
    EXPECT_NE(detector_.pairs(), 0U);
}

TEST_F(ToldLaunch, stores_of_threads_that_waited_for_those_before_are_a_chain) {
    atomic(0, AtomicKind::store);
    wait(1);
    atomic(1, AtomicKind::store);
    wait(2);
    plain(2, 0, false);
    plain(1, 0, false);
    EXPECT_EQ(detector_.pairs(), 0U);
}

TEST_F(ToldLaunch, stores_that_know_nothing_of_each_other_are_none) {
    atomic(0, AtomicKind::store);
    atomic(1, AtomicKind::store);
    wait(2);
    plain(2, 0, false);
    EXPECT_EQ(detector_.pairs(), 2U);
}

TEST_F(ToldLaunch, a_read_before_a_store_of_its_own_comes_before_who_waits_for_that) {
    plain(0, 0, false);
    atomic(0, AtomicKind::store);
    wait(1);
    atomic(1, AtomicKind::store);
    EXPECT_EQ(detector_.pairs(), 0U);
    atomic(2, AtomicKind::store);  // without a wait
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, a_read_behind_it_does_not) {
    atomic(0, AtomicKind::store);
    plain(0, 0, false);
    wait(1);
    atomic(1, AtomicKind::store);
    EXPECT_EQ(detector_.pairs(), 1U);
}

TEST_F(ToldLaunch, who_has_waited_for_an_update_comes_behind_all) {
    for (const std::uint32_t block : {0, 1}) atomic(block, AtomicKind::update);
    wait(2);
    plain(2, 0, false);
    EXPECT_EQ(detector_.pairs(), 0U);
    plain(1, 0, false);  // its own update has decided nothing
    EXPECT_EQ(detector_.pairs(), 1U);
}

}  // namespace
}  // namespace cudasim::checks

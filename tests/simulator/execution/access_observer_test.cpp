// What observers of accesses are told: what host kernels tell, in order, with the thread and its place.
#include "simulator/execution/access_observer.h"

#include <algorithm>
#include <mutex>

#include "tests/simulator/execution/engine_fixture.h"

namespace cudasim::execution {
namespace {

struct Seen {
    std::uint64_t block = 0;
    std::uint32_t thread = 0;
    std::string what;
    bool operator==(const Seen&) const = default;
};

class Notes final : public AccessObserver {
  public:
    explicit Notes(bool asks_for_places = false) : asks_for_places_(asks_for_places) {}
    void access(ThreadHandle& thread, const ObservedAccess& access) override {
        add(thread, std::to_string(static_cast<int>(access.kind)) + " at " + std::to_string(access.address) +
                        " of " + std::to_string(access.bytes));
    }
    void fence(ThreadHandle& thread, jit::MemoryOrder, image::Scope) override { add(thread, "fence"); }

    std::vector<Seen> seen;

  private:
    void add(ThreadHandle& thread, std::string what) {
        if (asks_for_places_)
            what += " in line " + std::to_string(thread.location(thread.site_here()).at(0).line);
        const auto place = thread.coordinate();
        const std::lock_guard lock(mutex_);
        seen.push_back({place.block, place.thread, std::move(what)});
    }
    std::mutex mutex_;
    bool asks_for_places_;
};

/// Each thread reads 4 bytes at its index and then, behind a fence, writes 8 there.
class TellsAccesses final : public HostKernel {
  public:
    void run(ThreadHandle& thread) override {
        const AccessObserverList* observers = thread.access_observers();
        if (observers == nullptr) {
            ++unobserved;
            return;
        }
        line_ = 10 + thread.thread();
        observers->access(thread, {thread.thread(), 4, AccessKind::read});
        observers->fence(thread, jit::MemoryOrder::sequential, image::Scope::device);
        observers->access(thread, {thread.thread(), 8, AccessKind::write});
    }
    [[nodiscard]] std::uint32_t site_here() override {
        ++times_asked;
        return line_;
    }
    [[nodiscard]] findings::CallChain location(std::uint32_t site) const override {
        return {{"kernel.py", "f", site, 0}};
    }

    int times_asked = 0, unobserved = 0;

  private:
    std::uint32_t line_ = 0;
};

class AccessObservers : public EngineTest {
  protected:
    void launch(HostKernel& kernel, std::uint32_t threads, std::initializer_list<AccessObserver*> observers) {
        LaunchOptions chosen = options();
        chosen.workers = 1;
        for (AccessObserver* each : observers) chosen.access_observers.add(*each);
        const auto result = device().launch(kernel, {{1}, {threads}, 0}, chosen);
        EXPECT_EQ(result.error(), nullptr) << messages(result);
    }
};
INSTANTIATE_TEST_SUITE_P(Modes, AccessObservers, all_modes, mode_name);

TEST_P(AccessObservers, are_told_in_the_order_of_the_threads) {
    Notes notes(true);
    TellsAccesses kernel;
    launch(kernel, 2, {&notes});
    const std::vector<Seen> expected = {{0, 0, "0 at 0 of 4 in line 10"}, {0, 0, "fence in line 10"},
                                        {0, 0, "1 at 0 of 8 in line 10"}, {0, 1, "0 at 1 of 4 in line 11"},
                                        {0, 1, "fence in line 11"},       {0, 1, "1 at 1 of 8 in line 11"}};
    std::vector<Seen> seen = notes.seen;
    std::ranges::stable_sort(seen, {}, &Seen::thread);  // whatever the policy
    EXPECT_EQ(seen, expected);
}

TEST_P(AccessObservers, of_one_launch_are_told_the_same) {
    Notes first, second;
    TellsAccesses kernel;
    launch(kernel, 3, {&first, &second});
    EXPECT_EQ(first.seen.size(), 9U);
    EXPECT_EQ(first.seen, second.seen);
}

TEST_P(AccessObservers, that_ask_for_no_places_cost_none) {
    Notes notes;
    TellsAccesses kernel;
    launch(kernel, 4, {&notes});
    EXPECT_EQ(notes.seen.size(), 12U);
    EXPECT_EQ(kernel.times_asked, 0);
}

TEST_P(AccessObservers, are_not_there_where_nobody_asked) {
    TellsAccesses kernel;
    launch(kernel, 4, {});
    EXPECT_EQ(kernel.unobserved, 4);
}

TEST(AccessObserverList, takes_each_observer_once) {
    Notes notes;
    AccessObserverList observers;
    EXPECT_TRUE(observers.empty());
    observers.add(notes);
    EXPECT_FALSE(observers.empty());
    EXPECT_THROW(observers.add(notes), std::invalid_argument);
}

}  // namespace
}  // namespace cudasim::execution

// A host program for tests of enqueued work: deferred or not, as the test says.
#pragma once

#include <atomic>
#include <memory>

#include "simulator/driver/stream_work.h"

namespace cudasim::driver {

class HostOfTest : public StreamHost {
  public:
    /// The host of this process from now on; one for all tests.
    static HostOfTest& in_force() {
        static const auto host = [] {
            auto made = std::make_shared<HostOfTest>();
            StreamWork::set_host(made);
            return made;
        }();
        return *host;
    }

    [[nodiscard]] bool deferred() const override { return is_deferred; }
    [[nodiscard]] streams::RunOptions run_options() const override { return {.poll = poll}; }

    std::atomic<bool> is_deferred{false};
    std::function<bool()> poll;
};

/// Calls are deferred as long as it lives; what is left of them is dropped.
class Deferred {
  public:
    Deferred() { HostOfTest::in_force().is_deferred = true; }
    ~Deferred() {
        HostOfTest::in_force().is_deferred = false;
        StreamWork::of_this_process().drop({});
    }
    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;
};

}  // namespace cudasim::driver

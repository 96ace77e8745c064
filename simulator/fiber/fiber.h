// A simulated thread's stack and the switch to and from it. The only user of Boost.Context.
//
// Raw fcontext instead of boost::context::fiber: a thread that faults is left where it stands (E10), and
// destroying a suspended boost::context::fiber would unwind through compiled frames that cannot be unwound.
// A Fiber owns nothing: its stack belongs to a StackSlab, abandoning it is forgetting it.
//
// No exception is in flight at a switch, and nothing on a fiber holds a lock across one.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define CUDASIM_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDASIM_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef CUDASIM_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cudasim::fiber {

class Fiber {
  public:
    using Entry = void (*)(void* argument);

    /// Forgets whatever the fiber was doing; the next resume() calls entry(argument) on [low, top).
    /// When entry returns the fiber suspends, and the resume() after that calls entry(argument) again.
    void prepare(std::byte* low, std::byte* top, Entry entry, void* argument);

    /// On the worker's stack: runs the fiber until it suspends.
    void resume() {
        before_switch_in();
        context_ = boost::context::detail::jump_fcontext(context_, this).fctx;
        after_switch_out();
    }

    /// On the fiber: back to the worker that resumed it. Returns at the next resume(), if there is one.
    void suspend() {
        before_switch_out();
        caller_ = boost::context::detail::jump_fcontext(caller_, nullptr).fctx;
        after_switch_in();
    }

    /// Of a suspended fiber: the top of its saved stack; [saved_position(), top) is all that its future depends on.
    [[nodiscard]] const void* saved_position() const { return context_; }

  private:
    static void run(boost::context::detail::transfer_t transfer);

#ifdef CUDASIM_ADDRESS_SANITIZER
    void before_switch_in() { __sanitizer_start_switch_fiber(&worker_fake_stack_, low_, top_ - low_); }
    void after_switch_out() { __sanitizer_finish_switch_fiber(worker_fake_stack_, nullptr, nullptr); }
    void before_switch_out() { __sanitizer_start_switch_fiber(&fiber_fake_stack_, worker_stack_, worker_bytes_); }
    void after_switch_in() { __sanitizer_finish_switch_fiber(fiber_fake_stack_, &worker_stack_, &worker_bytes_); }
    void* worker_fake_stack_ = nullptr;
    void* fiber_fake_stack_ = nullptr;
    const void* worker_stack_ = nullptr;
    std::size_t worker_bytes_ = 0;
#else
    void before_switch_in() {}
    void after_switch_out() {}
    void before_switch_out() {}
    void after_switch_in() {}
#endif
    boost::context::detail::fcontext_t context_ = nullptr;
    boost::context::detail::fcontext_t caller_ = nullptr;
    Entry entry_ = nullptr;
    void* argument_ = nullptr;
    std::byte* low_ = nullptr;
    std::byte* top_ = nullptr;
};

}  // namespace cudasim::fiber

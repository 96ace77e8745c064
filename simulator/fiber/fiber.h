// A simulated thread's stack and the switch to and from it: the one place that knows how.
//
// On x86-64 the switch is inline assembly: it saves three words, lets the compiler save what else is live,
// and keeps calls and returns paired, so that the processor's return predictor stays right across switches
// (with a called switch each barrier costs three mispredicted returns: 50 ns instead of 9). Elsewhere it is
// Boost.Context's fcontext. Not boost::context::fiber: a thread that faults is left where it stands (E10),
// and destroying a suspended boost::context::fiber would unwind through compiled frames that cannot be
// unwound.
//
// A Fiber owns nothing: its stack belongs to a StackSlab, abandoning it is forgetting it. No exception is in
// flight at a switch, and nothing on a fiber holds a lock across one.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && !defined(CUDASIM_PORTABLE_FIBERS)
#define CUDASIM_INLINE_SWITCH 1
#else
#include <boost/context/detail/fcontext.hpp>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define CUDASIM_ADDRESS_SANITIZER 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cudasim::fiber {

class Fiber {
  public:
    using Entry = void (*)(void* argument);
#ifdef CUDASIM_ADDRESS_SANITIZER
    static constexpr bool can_be_copied = false;
#else
    static constexpr bool can_be_copied = true;
#endif

    /// Forgets whatever the fiber was doing; the next resume() calls entry(argument) on [low, top).
    /// When entry returns the fiber suspends, and the resume() after that calls entry(argument) again.
    /// @param top multiple of 16
    void prepare(std::byte* low, std::byte* top, Entry entry, void* argument);

    /// Runs the fiber until it suspends. Called on the worker's stack.
    [[gnu::always_inline]] void resume() {
        before_switch_in();
        switch_in();
        after_switch_out();
    }

    /// Switches back to the worker that resumed the fiber. Called on the fiber; returns at the next resume(),
    /// if there is one.
    [[gnu::always_inline]] void suspend() {
        before_switch_out();
        switch_out();
        after_switch_in();
    }

    /// The lowest address that a suspended fiber uses; [saved_position(), top) is all that its future
    /// depends on. These bytes, and the Fiber, can be saved and put back later at the same addresses, where
    /// can_be_copied says so: address sanitizers keep notes on stacks elsewhere.
    [[nodiscard]] const void* saved_position() const { return context_; }

  private:
#ifdef CUDASIM_INLINE_SWITCH
    static void run(Fiber* self);
    void switch_in();
    void switch_out();
#else
    static void run(boost::context::detail::transfer_t transfer);
    void switch_in() { context_ = boost::context::detail::jump_fcontext(context_, this).fctx; }
    void switch_out() { caller_ = boost::context::detail::jump_fcontext(caller_, nullptr).fctx; }
#endif

    void* context_ = nullptr;  // these two first: all that a switch touches
    void* caller_ = nullptr;
    Entry entry_ = nullptr;
    void* argument_ = nullptr;

#ifdef CUDASIM_ADDRESS_SANITIZER
    void before_switch_in() {
        __sanitizer_start_switch_fiber(&worker_fake_stack_, low_, static_cast<std::size_t>(top_ - low_));
    }
    void after_switch_out() { __sanitizer_finish_switch_fiber(worker_fake_stack_, nullptr, nullptr); }
    void before_switch_out() {
        __sanitizer_start_switch_fiber(&fiber_fake_stack_, worker_stack_, worker_bytes_);
    }
    void after_switch_in() {
        __sanitizer_finish_switch_fiber(fiber_fake_stack_, &worker_stack_, &worker_bytes_);
    }
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
    std::byte* low_ = nullptr;
    std::byte* top_ = nullptr;
};

#ifdef CUDASIM_INLINE_SWITCH
// A suspended side's stack, from its saved stack pointer up: resume address, rbp. The Fiber travels in rdi;
// everything else the compiler is told is lost. The pushes need code without a red zone below the stack
// pointer, which the target cudasim_fiber asks of everybody who links it.
#ifndef CUDASIM_NO_RED_ZONE
#error "simulator/fiber/fiber.h needs -mno-red-zone: link the target cudasim_fiber"
#endif
#define CUDASIM_SWITCH(save, load)                                                                           \
    Fiber* self = this;                                                                                      \
    asm volatile(                                                                                            \
        "push %%rbp\n\t"                                                                                     \
        "lea 1f(%%rip), %%rax\n\t"                                                                           \
        "push %%rax\n\t"                                                                                     \
        "mov %%rsp, %c[to](%%rdi)\n\t"                                                                       \
        "mov %c[from](%%rdi), %%rsp\n\t"                                                                     \
        "pop %%rax\n\t"                                                                                      \
        "pop %%rbp\n\t"                                                                                      \
        "jmp *%%rax\n"                                                                                       \
        "1:"                                                                                                 \
        : "+D"(self)                                                                                         \
        : [to] "i"(save), [from] "i"(load)                                                                   \
        : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",   \
          "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", \
          "xmm13", "xmm14", "xmm15", "cc", "memory")

[[gnu::always_inline]] inline void Fiber::switch_in() {
    CUDASIM_SWITCH(8, 0);
}
[[gnu::always_inline]] inline void Fiber::switch_out() {
    CUDASIM_SWITCH(0, 8);
}
#undef CUDASIM_SWITCH
#endif

}  // namespace cudasim::fiber

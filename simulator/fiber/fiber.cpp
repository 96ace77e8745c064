// Preparing a fiber and its first activation; the switches themselves are inline in fiber.h.
#include "simulator/fiber/fiber.h"

#include <cstdint>

namespace cudasim::fiber {

namespace {

void forget_poison([[maybe_unused]] std::byte* low, [[maybe_unused]] std::byte* top) {
#ifdef CUDASIM_ADDRESS_SANITIZER
    // Frames that were abandoned on this stack left their redzones poisoned.
    __asan_unpoison_memory_region(low, static_cast<std::size_t>(top - low));
#endif
}

}  // namespace

#ifdef CUDASIM_INLINE_SWITCH

void Fiber::prepare(std::byte* low, std::byte* top, Entry entry, void* argument) {
    forget_poison(low, top);
    *this = Fiber{};
    low_ = low;
    top_ = top;
    entry_ = entry;
    argument_ = argument;
    // What switch_in() pops: resume address, rbp. run() never returns; it is entered by a jump, so the
    // word above its frame stands where a call would have put the return address (System V ABI: at a
    // function's entry rsp + 8 is a multiple of 16).
    auto* words = reinterpret_cast<std::uintptr_t*>(top - 8) - 2;
    words[0] = reinterpret_cast<std::uintptr_t>(&Fiber::run);
    words[1] = 0;
    *reinterpret_cast<std::uintptr_t*>(top - 8) = 0;
    context_ = words;
}

void Fiber::run(Fiber* self) {
    self->after_switch_in();
    for (;;) {
        self->entry_(self->argument_);
        self->suspend();
    }
}

#else

void Fiber::prepare(std::byte* low, std::byte* top, Entry entry, void* argument) {
    forget_poison(low, top);
    *this = Fiber{};
    low_ = low;
    top_ = top;
    entry_ = entry;
    argument_ = argument;
    context_ = boost::context::detail::make_fcontext(top, static_cast<std::size_t>(top - low), &Fiber::run);
}

void Fiber::run(boost::context::detail::transfer_t transfer) {
    auto* self = static_cast<Fiber*>(transfer.data);
    self->caller_ = transfer.fctx;
    self->after_switch_in();
    for (;;) {
        self->entry_(self->argument_);
        self->suspend();
    }
}

#endif

}  // namespace cudasim::fiber

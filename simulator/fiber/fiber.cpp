// Preparing a fiber and its first activation; the switches themselves are inline in fiber.h.
#include "simulator/fiber/fiber.h"

namespace cudasim::fiber {

using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

void Fiber::prepare(std::byte* low, std::byte* top, Entry entry, void* argument) {
#ifdef CUDASIM_ADDRESS_SANITIZER
    // Frames that were abandoned on this stack left their redzones poisoned.
    __asan_unpoison_memory_region(low, static_cast<std::size_t>(top - low));
    fiber_fake_stack_ = nullptr;
#endif
    low_ = low;
    top_ = top;
    entry_ = entry;
    argument_ = argument;
    caller_ = nullptr;
    context_ = make_fcontext(top, static_cast<std::size_t>(top - low), &Fiber::run);
}

void Fiber::run(transfer_t transfer) {
    auto* self = static_cast<Fiber*>(transfer.data);
    self->caller_ = transfer.fctx;
    self->after_switch_in();
    for (;;) {
        self->entry_(self->argument_);
        self->suspend();
    }
}

}  // namespace cudasim::fiber

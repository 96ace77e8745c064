// See skipped_operations.h.
#include "simulator/execution/skipped_operations.h"

#include <utility>

#include "simulator/execution/warp_exchange.h"

namespace cudasim::execution {

void SkippedOperations::start(const jit::CompiledKernel* kernel, std::uint32_t threads) {
    sites_ = {};
    if (kernel != nullptr) sites_ = kernel->skippable_sites;
    threads_ = threads;
    passes_.assign(sites_.size() * threads, 0);
    told_.assign(sites_.size(), false);
    found_.reset();
}

SkippedOperation SkippedOperations::take() {
    return *std::exchange(found_, std::nullopt);
}

bool SkippedOperations::find(std::uint32_t first, std::uint32_t mask, std::uint32_t lane, std::uint32_t over,
                             std::uint32_t site) {
    for (std::size_t operation = 0; operation < sites_.size(); ++operation) {
        if (sites_[operation] != site || told_[operation]) continue;
        const std::uint32_t* passes = &passes_[operation * threads_];
        const std::uint32_t skipped = lanes_where(over, [&](std::uint32_t other) {
            return first + other < threads_ && passes[first + other] > passes[first + lane];
        });
        if (skipped == 0) continue;
        told_[operation] = true;
        found_ = {first + lane, site, mask, skipped};
        return true;
    }
    return false;
}

}  // namespace cudasim::execution

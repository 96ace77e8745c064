// An instrumentation that notes what it is told of accesses, fences, barriers and warp operations.
#pragma once

#include <llvm/IR/InstIterator.h>

#include <string>
#include <vector>

#include "simulator/jit/compilation.h"
#include "simulator/jit/memory_accesses.h"
#include "simulator/jit/standard_instrumentations.h"
#include "simulator/jit/synchronisation.h"

namespace cudasim::jit::testing {

/// One line for each, in the order of the code: "read relaxed device", "write plain volatile",
/// "update acquire_release block", "compare release relaxed system", "fence sequential block", "barrier 3",
/// "grid barrier", "warp 0".
class CollectsOrders final : public Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "collects_orders"; }
    [[nodiscard]] std::uint32_t version() const override { return 1; }

    void late(Compilation& compilation) const override {
        for (llvm::Function& function : *compilation.module) {
            for (llvm::Instruction& each : llvm::instructions(function)) {
                if (!each.hasMetadata(marks::internal)) note(each, function.getDataLayout());
            }
        }
    }

    mutable std::vector<std::string> lines;

  private:
    static std::string name_of(MemoryOrder order) {
        const char* const names[] = {"plain",   "relaxed",         "acquire",
                                     "release", "acquire_release", "sequential"};
        return names[static_cast<std::size_t>(order)];
    }

    static std::string name_of(image::Scope scope) {
        const char* const names[] = {"thread", "block", "cluster", "device", "system"};
        return names[static_cast<std::size_t>(scope)];
    }

    void note(llvm::Instruction& instruction, const llvm::DataLayout& data_layout) const {
        for (const MemoryAccess& access : memory_accesses_of(instruction, data_layout)) {
            const bool compares = llvm::isa<llvm::AtomicCmpXchgInst>(instruction);
            std::string line = compares                                        ? "compare "
                               : llvm::isa<llvm::AtomicRMWInst>(instruction)   ? "update "
                               : (access.flags & access_write) == access_write ? "write "
                                                                               : "read ";
            line += name_of(access.order);
            if (compares) line += " " + name_of(access.order_on_failure);
            if (access.order != MemoryOrder::plain) line += " " + name_of(access.scope);
            if (access.is_volatile) line += " volatile";
            lines.push_back(line);
        }
        if (const auto fence = fence_at(instruction))
            lines.push_back("fence " + name_of(fence->order) + " " + name_of(fence->scope));
        if (const auto barrier = barrier_at(instruction)) {
            const auto shown = [](llvm::Value* value) {
                const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
                return known ? std::to_string(known->getZExtValue()) : std::string("?");
            };
            std::string line = barrier->kind == BarrierKind::grid     ? "grid barrier"
                               : barrier->kind == BarrierKind::arrive ? "arrival " + shown(barrier->number)
                                                                      : "barrier " + shown(barrier->number);
            if (barrier->threads) line += " of " + shown(barrier->threads);
            lines.push_back(line);
        }
        if (const auto warp = warp_operation_at(instruction))
            lines.push_back("warp " + std::to_string(static_cast<unsigned>(warp->kind)));
    }
};

/// What is seen in the kernel when the standard instrumentations work before and behind.
inline std::vector<std::string> orders_in(const image::KernelImage& image, const char* kernel) {
    const CollectsOrders collected;
    (void)instrumented_ir(image, kernel,
                          {.instrumentations = {&safepoint_polls(), &collected, &memory_checks()}});
    return collected.lines;
}

}  // namespace cudasim::jit::testing

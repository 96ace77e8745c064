// See captured_variables.h. Lowers calls of `cudasim.capture` to a table and stores on cold paths.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>

#include <map>

#include "simulator/jit/captured_variables.h"
#include "simulator/jit/cold_values.h"
#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// A constant's bits, as it lies in memory.
std::optional<std::uint64_t> bits_of(const Value& value) {
    if (const auto* number = dyn_cast<ConstantInt>(&value)) return number->getZExtValue();
    if (const auto* real = dyn_cast<ConstantFP>(&value))
        return real->getValueAPF().bitcastToAPInt().getZExtValue();
    if (isa<ConstantPointerNull>(value)) return 0;
    const auto* expression = dyn_cast<ConstantExpr>(&value);
    if (expression && expression->getOpcode() == Instruction::IntToPtr)
        return bits_of(*expression->getOperand(0));
    return std::nullopt;
}

class CaptureLowering {
  public:
    explicit CaptureLowering(Compilation& compilation) : compilation_(compilation) {}

    void run() {
        std::vector<CallInst*> calls;
        for (Function& function : *compilation_.module) {
            for (Instruction& instruction : instructions(function))
                if (is_capture(instruction)) calls.push_back(cast<CallInst>(&instruction));
        }
        for (CallInst* call : calls) lower(*call);
        for (Function& function : make_early_inc_range(*compilation_.module)) {
            if (function.isDeclaration() && function.use_empty() && function.getName() == capture_symbol)
                function.eraseFromParent();
        }
    }

  private:
    void lower(CallInst& call) {
        auto& places = compilation_.captures.places;
        IRBuilder<> builder(&call);
        // Loaded here and not at the function's head, where it would live through all of the function.
        Value* context = call.getFunction()->getArg(0);
        Value* block = load_field(builder, context, offsetof(ThreadContext, block));
        Value* buffer = load_field(builder, block, offsetof(BlockContext, captured));
        store(builder, builder.getInt64(places.size()), buffer, 0);

        slots_.clear();
        CapturePlace place{site_of(call), {}};
        const auto number = cast<ConstantInt>(call.getArgOperand(0))->getZExtValue();
        for (CapturedVariable variable : compilation_.capture_calls[number]) {
            for (CapturedPart& part : variable.parts) {
                if (part.source == PartSource::slot)
                    find(*call.getArgOperand(static_cast<unsigned>(part.value)), part);
            }
            place.variables.push_back(index_of(std::move(variable)));
        }
        for (const auto& [value, slot] : slots_) store(builder, const_cast<Value*>(value), buffer, slot);
        places.push_back(std::move(place));
        call.eraseFromParent();
    }

    /// The site of the hook that the capture belongs to.
    static std::uint32_t site_of(const CallInst& capture) {
        for (const Instruction* next = &capture; next; next = next->getNextNode()) {
            if (!hook_called_by(*next)) continue;
            const auto& hook = cast<CallInst>(*next);
            return static_cast<std::uint32_t>(
                cast<ConstantInt>(hook.getArgOperand(hook.arg_size() - 1))->getZExtValue());
        }
        return ~std::uint32_t{0};
    }

    static Value* load_field(IRBuilder<>& builder, Value* base, unsigned offset) {
        return builder.CreateLoad(builder.getPtrTy(),
                                  builder.CreateConstGEP1_32(builder.getInt8Ty(), base, offset));
    }

    static void store(IRBuilder<>& builder, Value* value, Value* buffer, std::uint64_t slot) {
        if (value->getType()->isIntegerTy(1)) value = builder.CreateZExt(value, builder.getInt8Ty());
        builder.CreateStore(value, builder.CreateConstGEP1_64(builder.getInt64Ty(), buffer, slot));
    }

    void find(const Value& value, CapturedPart& part) {
        part.value = 0;
        part.source = PartSource::unknown;
        if (isa<UndefValue>(value)) return;
        if (const auto bits = bits_of(value)) {
            part.source = PartSource::constant;
            part.value = *bits;
            return;
        }
        if (isa<Constant>(value)) return;
        if (!slots_.contains(&value) && slots_.size() + 1 >= captured_slots) return;
        part.source = PartSource::slot;
        part.value = slots_.try_emplace(&value, slots_.size() + 1).first->second;
    }

    std::uint32_t index_of(CapturedVariable variable) {
        auto& variables = compilation_.captures.variables;
        const auto next = static_cast<std::uint32_t>(variables.size());
        const auto [known, fresh] = variables_.try_emplace(std::move(variable), next);
        if (fresh) variables.push_back(known->first);
        return known->second;
    }

    Compilation& compilation_;
    std::map<const Value*, std::uint64_t> slots_;
    std::map<CapturedVariable, std::uint32_t> variables_;
};

}  // namespace

void lower_captures(Compilation& compilation) {
    sink_cold_values(compilation);
    CaptureLowering(compilation).run();
}

}  // namespace cudasim::jit

// See globals_layout.h.
#include "simulator/jit/globals_layout.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Operator.h>

#include "simulator/image/function_handles.h"
#include "simulator/image/globals_placement.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

jit::GlobalVariable describe(const llvm::GlobalVariable& variable, std::uint64_t offset) {
    jit::GlobalVariable result;
    result.name = result.symbol = variable.getName().str();
    SmallVector<DIGlobalVariableExpression*, 1> debug_info;
    variable.getDebugInfo(debug_info);
    if (!debug_info.empty() && !debug_info.front()->getVariable()->getName().empty()) {
        const auto* description = debug_info.front()->getVariable();
        result.name = description->getName().str();
        result.location = {path_of(description->getFile()), {}, description->getLine(), 0};
    }
    result.offset = offset;
    result.bytes = variable.getParent()->getDataLayout().getTypeAllocSize(variable.getValueType());
    result.constant = variable.isConstant() || variable.getAddressSpace() == constant;
    result.initialised = !isa<UndefValue>(variable.getInitializer());
    return result;
}

/// Writes initialisers into GlobalsLayout::initial.
class Serialiser {
  public:
    Serialiser(const Module& module, ImageLayout& layout)
        : data_layout_(module.getDataLayout()), layout_(layout) {
        for (std::size_t index = 0; index < layout.functions.size(); ++index) {
            handles_[layout.functions[index]] = image::function_handle(index);
        }
    }

    void write(const llvm::GlobalVariable& variable, std::uint64_t offset) {
        variable_ = &variable;
        write(*variable.getInitializer(), offset);
    }

  private:
    void write(const Constant& value, std::uint64_t offset) {
        if (isa<UndefValue>(value) || value.isNullValue()) return;
        Type* type = value.getType();
        if (const auto* number = dyn_cast<ConstantInt>(&value)) return write(number->getValue(), offset);
        if (const auto* number = dyn_cast<ConstantFP>(&value)) {
            return write(number->getValueAPF().bitcastToAPInt(), offset);
        }
        if (isa<ConstantAggregate, ConstantDataSequential>(value)) return write_elements(value, offset);
        if (type->isPointerTy() || isa<ConstantExpr>(value)) return write_address(value, offset);
        refuse_initialiser();
    }

    void write_elements(const Constant& value, std::uint64_t offset) {
        Type* type = value.getType();
        if (auto* structure = dyn_cast<StructType>(type)) {
            const StructLayout* elements = data_layout_.getStructLayout(structure);
            for (unsigned i = 0; i < structure->getNumElements(); ++i) {
                write(*value.getAggregateElement(i), offset + elements->getElementOffset(i));
            }
            return;
        }
        const bool vector = type->isVectorTy();
        Type* element = vector ? cast<VectorType>(type)->getElementType() : type->getArrayElementType();
        const std::uint64_t count =
            vector ? cast<FixedVectorType>(type)->getNumElements() : type->getArrayNumElements();
        const std::uint64_t stride =
            vector ? data_layout_.getTypeStoreSize(element) : data_layout_.getTypeAllocSize(element);
        for (std::uint64_t i = 0; i < count; ++i) {
            write(*value.getAggregateElement(static_cast<unsigned>(i)), offset + i * stride);
        }
    }

    void write(const APInt& bits, std::uint64_t offset) {
        const APInt padded = bits.zext(alignTo(bits.getBitWidth(), 8));
        for (unsigned byte = 0; byte < padded.getBitWidth() / 8; ++byte) {
            layout_.globals->initial[offset + byte] =
                static_cast<std::byte>(padded.extractBitsAsZExtValue(8, byte * 8));
        }
    }

    /// A pointer, or an integer made of one: base + constant.
    void write_address(const Constant& value, std::uint64_t offset) {
        const Constant* base = &value;
        std::int64_t displacement = 0;
        while (const auto* expression = dyn_cast<ConstantExpr>(base)) {
            if (const auto* element = dyn_cast<GEPOperator>(expression)) {
                APInt distance(64, 0);
                if (!element->accumulateConstantOffset(data_layout_, distance)) refuse_initialiser();
                displacement += distance.getSExtValue();
            } else if (!expression->isCast()) {
                refuse_initialiser();
            }
            base = expression->getOperand(0);
        }
        if (data_layout_.getTypeStoreSize(value.getType()) != 8) refuse_initialiser();
        if (const auto* number = dyn_cast<ConstantInt>(base)) {
            return write(APInt(64, number->getZExtValue() + static_cast<std::uint64_t>(displacement)),
                         offset);
        }
        if (base->isNullValue()) return write(APInt(64, static_cast<std::uint64_t>(displacement)), offset);
        if (const auto* function = dyn_cast<Function>(base); function && handles_.contains(function)) {
            return write(APInt(64, handles_.at(function)), offset);
        }
        const auto* target = dyn_cast<llvm::GlobalVariable>(base);
        if (!target || !layout_.offsets.contains(target)) refuse_initialiser();
        layout_.globals->relocations.push_back(
            {offset, layout_.offsets.at(target) + static_cast<std::uint64_t>(displacement)});
    }

    [[noreturn]] void refuse_initialiser() const {
        const auto description = describe(*variable_, 0);
        throw CompileError(
            "the initialiser of '" + description.name +
                "' holds something that has no value before the kernel runs (an address in shared "
                "memory, of an undefined symbol, or a difference of addresses); assign it in the kernel",
            {description.location});
    }

    const DataLayout& data_layout_;
    ImageLayout& layout_;
    std::map<const Function*, std::uint64_t> handles_;
    const llvm::GlobalVariable* variable_ = nullptr;
};

}  // namespace

void lay_out_globals(Module& module, ImageLayout& layout) {
    const image::GlobalsPlacement placement = image::place_globals(module);
    if (placement.bytes == 0) return;
    for (const auto& [variable, offset] : placement.offsets) {
        layout.offsets[variable] = offset;
        layout.globals->variables.push_back(describe(*variable, offset));
    }
    layout.globals->bytes = placement.bytes;
    layout.globals->initial.resize(layout.globals->bytes);
    Serialiser serialiser(module, layout);
    for (const auto& [variable, offset] : layout.offsets) {
        if (!isa<UndefValue>(variable->getInitializer())) serialiser.write(*variable, offset);
    }
    llvm::sort(layout.globals->relocations,
               [](const Relocation& a, const Relocation& b) { return a.offset < b.offset; });
}

}  // namespace cudasim::jit

// See managed_variables.h.
#include "frontend/cuda_cpp/images/managed_variables.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ReplaceConstant.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <algorithm>
#include <cstring>

#include "frontend/ptx/reader.h"

namespace cudasim::cuda_cpp {
namespace {

constexpr const char* metadata_name = "cudasim.managed";

/// The bytes of a constant, as they lie in memory.
class InitialValue {
  public:
    InitialValue(const llvm::GlobalVariable& variable, const llvm::DataLayout& layout)
        : layout_(layout), bytes_(layout.getTypeAllocSize(variable.getValueType()), '\0') {
        put(variable.getInitializer(), 0);
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

  private:
    void put(const llvm::Constant* value, std::uint64_t at) {
        if (value->isNullValue() || llvm::isa<llvm::UndefValue>(value)) return;
        if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(value))
            return put(integer->getValue(), at);
        if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(value))
            return put(real->getValueAPF().bitcastToAPInt(), at);
        if (const auto* structure = llvm::dyn_cast<llvm::ConstantStruct>(value)) {
            const auto* places = layout_.getStructLayout(structure->getType());
            for (unsigned i = 0; i < structure->getNumOperands(); ++i)
                put(structure->getOperand(i), at + places->getElementOffset(i));
            return;
        }
        if (llvm::isa<llvm::ConstantAggregate, llvm::ConstantDataSequential>(value)) {
            const std::uint64_t step = layout_.getTypeAllocSize(value->getAggregateElement(0U)->getType());
            for (unsigned i = 0; llvm::Constant* element = value->getAggregateElement(i); ++i)
                put(element, at + i * step);
            return;
        }
        throw image::ImageError(
            "the initial value of a __managed__ variable has to be a constant without addresses: assign it "
            "in "
            "main()");
    }
    void put(const llvm::APInt& value, std::uint64_t at) {
        std::memcpy(bytes_.data() + at, value.getRawData(), (value.getBitWidth() + 7) / 8);
    }

    const llvm::DataLayout& layout_;
    std::string bytes_;
};

void make_managed(llvm::GlobalVariable& variable) {
    llvm::Module& module = *variable.getParent();
    llvm::LLVMContext& context = module.getContext();
    auto* const type = variable.getType();  // a pointer to global memory
    auto* const pointer =
        new llvm::GlobalVariable(module, type, false, variable.getLinkage(),
                                 variable.isDeclaration() ? nullptr : llvm::ConstantPointerNull::get(type),
                                 managed_pointer_name(variable.getName().str()), nullptr,
                                 llvm::GlobalValue::NotThreadLocal, variable.getAddressSpace(), true);
    pointer->setDSOLocal(variable.isDSOLocal());
    if (!variable.isDeclaration()) {
        const InitialValue value(variable, module.getDataLayout());
        module.getOrInsertNamedMetadata(metadata_name)
            ->addOperand(llvm::MDNode::get(context, {llvm::MDString::get(context, variable.getName()),
                                                     llvm::MDString::get(context, value.bytes())}));
        llvm::appendToCompilerUsed(module, {pointer});
    }
    llvm::removeFromUsedLists(module, [&](llvm::Constant* each) { return each == &variable; });
    variable.removeDeadConstantUsers();
    llvm::convertUsersOfConstantsToInstructions({&variable});
    // A phi node needs one and the same value for each edge from a block.
    llvm::DenseMap<llvm::BasicBlock*, llvm::Value*> loaded_at_end;
    for (llvm::Use& use : llvm::make_early_inc_range(variable.uses())) {
        auto* const user = llvm::dyn_cast<llvm::Instruction>(use.getUser());
        if (user == nullptr)
            throw image::ImageError("the address of the __managed__ variable " + variable.getName().str() +
                                    " in the initial value of another variable: assign it in main()");
        auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
        llvm::IRBuilder<> at(phi ? phi->getIncomingBlock(use)->getTerminator() : user);
        llvm::Value*& at_end = loaded_at_end[phi ? at.GetInsertBlock() : nullptr];
        at.SetCurrentDebugLocation(user->getDebugLoc());
        if (phi == nullptr || at_end == nullptr)
            at_end = at.CreateLoad(type, pointer, variable.getName() + ".managed");
        use.set(at_end);
    }
    if (!variable.hasLocalLinkage()) return variable.eraseFromParent();
    // Host code that does not use a static variable has none: kernels have it for themselves.
    variable.setSection("");
    pointer->setInitializer(&variable);
}

}  // namespace

std::string managed_pointer_name(const std::string& variable) {
    return "__cudasim_managed_" + variable;
}

bool make_managed(llvm::Module& module) {
    llvm::SmallVector<llvm::GlobalVariable*> found;
    for (llvm::GlobalVariable& variable : module.globals())
        if (variable.getSection() == ptx::managed_section) found.push_back(&variable);
    for (llvm::GlobalVariable* variable : found) make_managed(*variable);
    return !found.empty();
}

image::KernelImage with_managed_variables(const image::KernelImage& image) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile({llvm::StringRef(image.bitcode()), "device code"}, context);
    if (!module) throw image::ImageError("device code: " + llvm::toString(module.takeError()));
    return make_managed(**module) ? image::KernelImage::from_module(**module, image.sources()) : image;
}

std::vector<ManagedVariable> managed_variables(const image::KernelImage& image) {
    // Most programs have none: no module is read for them.
    if (image.bitcode().find(managed_pointer_name("")) == std::string::npos) return {};
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile({llvm::StringRef(image.bitcode()), "device code"}, context);
    if (!module) throw image::ImageError("device code: " + llvm::toString(module.takeError()));
    std::vector<ManagedVariable> all;
    if (const auto* listed = (*module)->getNamedMetadata(metadata_name)) {
        for (const llvm::MDNode* node : listed->operands()) {
            const auto name = llvm::cast<llvm::MDString>(node->getOperand(0))->getString();
            const auto value = llvm::cast<llvm::MDString>(node->getOperand(1))->getString();
            const auto* const first = reinterpret_cast<const std::byte*>(value.data());
            all.push_back({name.str(), {first, first + value.size()}});
        }
    }
    return all;
}

}  // namespace cudasim::cuda_cpp

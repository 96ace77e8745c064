// See source_variables.h.
#include "simulator/jit/source_variables.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>

#include "simulator/jit/statement_stops.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Debug information of an array whose elements LLVM knows: numbers of a width, and structures of a name,
/// which the program's debug information may describe.
class DynamicArray {
  public:
    DynamicArray(Module& module, DICompileUnit& unit)
        : module_(module), unit_(unit), builder_(module, false, &unit) {}

    /// nullptr where it is no array without an end.
    const DIGlobalVariable* describe(const llvm::GlobalVariable& variable) {
        const auto* array = dyn_cast<ArrayType>(variable.getValueType());
        if (array == nullptr || array->getNumElements() != 0) return nullptr;
        const std::string name = demangle(variable.getName());
        const std::size_t scope = name.rfind("::");
        Metadata* range = builder_.getOrCreateSubrange(0, -1);
        DIType* type = builder_.createArrayType(0, 0, element(*array->getElementType()),
                                                builder_.getOrCreateArray({range}));
        return DIGlobalVariable::get(
            module_.getContext(), &unit_, scope == std::string::npos ? name : name.substr(scope + 2),
            variable.getName(), unit_.getFile(), 0, type, false, false, nullptr, nullptr, 0, nullptr);
    }

  private:
    DIType* element(Type& type) {
        const std::uint64_t bits = module_.getDataLayout().getTypeAllocSizeInBits(&type);
        if (type.isFloatTy()) return builder_.createBasicType("float", bits, dwarf::DW_ATE_float);
        if (type.isDoubleTy()) return builder_.createBasicType("double", bits, dwarf::DW_ATE_float);
        if (type.isIntegerTy(16)) return builder_.createBasicType("short", bits, dwarf::DW_ATE_signed);
        if (type.isIntegerTy(32)) return builder_.createBasicType("int", bits, dwarf::DW_ATE_signed);
        if (type.isIntegerTy(64)) return builder_.createBasicType("long", bits, dwarf::DW_ATE_signed);
        if (auto* row = dyn_cast<ArrayType>(&type)) {
            Metadata* range =
                builder_.getOrCreateSubrange(0, static_cast<std::int64_t>(row->getNumElements()));
            return builder_.createArrayType(bits, 0, element(*row->getElementType()),
                                            builder_.getOrCreateArray({range}));
        }
        if (DIType* known = structure(type, bits)) return known;
        return builder_.createBasicType("unsigned char", 8, dwarf::DW_ATE_unsigned_char);
    }

    /// "struct.name::Of" of the program; the last part is what debug information calls it.
    DIType* structure(Type& type, std::uint64_t bits) {
        const auto* known = dyn_cast<StructType>(&type);
        if (known == nullptr || !known->hasName()) return nullptr;
        StringRef name = known->getName();
        name = name.substr(name.find('.') + 1);
        if (const std::size_t scope = name.rfind("::"); scope != StringRef::npos)
            name = name.substr(scope + 2);
        DebugInfoFinder finder;
        finder.processModule(module_);
        for (DIType* each : finder.types())
            if (isa<DICompositeType>(each) && each->getName() == name && each->getSizeInBits() == bits)
                return each;
        return nullptr;
    }

    Module& module_;
    DICompileUnit& unit_;
    DIBuilder builder_;
};

}  // namespace

void note_source_variables(Compilation& compilation) {
    const DISubprogram* kernel = compilation.kernel->getSubprogram();
    const DICompileUnit* unit = kernel != nullptr ? kernel->getUnit() : nullptr;
    if (unit == nullptr || !dwarf::isCPlusPlus(static_cast<dwarf::SourceLanguage>(unit->getSourceLanguage())))
        return;
    const bool stops = compilation.options.instrumentations.contains(statement_stops());
    for (const llvm::GlobalVariable& variable : compilation.module->globals()) {
        const bool is_shared = variable.getAddressSpace() == shared;
        const auto& offsets = is_shared ? compilation.shared.offsets : compilation.layout.offsets;
        const auto found = offsets.find(&variable);
        if (found == offsets.end()) continue;
        SmallVector<DIGlobalVariableExpression*, 1> descriptions;
        variable.getDebugInfo(descriptions);
        for (const DIGlobalVariableExpression* each : descriptions)
            compilation.source_variables.push_back(
                {each->getVariable(), is_shared ? PartSource::shared : PartSource::globals, found->second});
        // Clang describes no variable that is declared only, as arrays that are `extern __shared__`.
        if (stops && descriptions.empty() && is_shared && variable.isDeclaration())
            if (const DIGlobalVariable* made =
                    DynamicArray(*compilation.module, *kernel->getUnit()).describe(variable))
                compilation.source_variables.push_back({made, PartSource::shared, found->second});
    }
}

}  // namespace cudasim::jit

// See linking.h.
#include "simulator/image/linking.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <set>

#include "simulator/image/recording_handler.h"
#include "simulator/image/source_names.h"

namespace cudasim::image {
namespace {

using namespace llvm;

/// What the simulator, the CUDA toolkit or LLVM itself brings.
bool comes_with_the_system(StringRef name) {
    return name.starts_with("llvm.") || name.starts_with("__nv_") || name.starts_with("__cudasim_") ||
           name.starts_with("cudaCG") || name == "vprintf" || name == "__assertfail" || name == "malloc" ||
           name == "free" || name == "__cxa_pure_virtual" || name == "__cxa_deleted_virtual";
}

std::string shown(Type* type) {
    std::string text;
    raw_string_ostream(text) << *type;
    return text;
}

/// `value` as `type`, which has the same bits, or more (zeros) or fewer where both are integers; null when it
/// cannot be.
Value* adapted(IRBuilder<>& builder, Value* value, Type* type) {
    Type* from = value->getType();
    if (from == type) return value;
    if (from->isPointerTy() && type->isIntegerTy(64)) return builder.CreatePtrToInt(value, type);
    if (from->isIntegerTy(64) && type->isPointerTy()) return builder.CreateIntToPtr(value, type);
    if (from->isIntegerTy() && type->isIntegerTy()) return builder.CreateZExtOrTrunc(value, type);
    const bool plain =
        !from->isAggregateType() && !type->isAggregateType() && !from->isVoidTy() && !type->isVoidTy();
    if (plain && from->getPrimitiveSizeInBits() == type->getPrimitiveSizeInBits() &&
        from->getPrimitiveSizeInBits() != 0)
        return builder.CreateBitCast(value, type);
    return nullptr;
}

/// The first call of a function, null where it is not called by name.
const CallBase* call_of(const Function& function) {
    for (const User* user : function.users())
        if (const auto* call = dyn_cast<CallBase>(user)) return call;
    return nullptr;
}

/// Where a function is called, and from where that is called: lines as in Python's tracebacks, of calls that
/// have a place in a source. Empty where none has.
std::string places_of_calls(const Function& called) {
    static constexpr std::size_t most = 16;
    std::string lines;
    std::set<const Function*> seen{&called};
    const CallBase* call = call_of(called);
    while (call != nullptr && seen.size() < most && seen.insert(call->getFunction()).second) {
        if (const DILocation* place = call->getDebugLoc()) {
            lines += (lines.empty() ? "\n\n  File \"" : "\n  called from File \"") +
                     path_of(place->getFile()) + "\", line " + std::to_string(place->getLine()) + ", in " +
                     name_of(place->getScope()->getSubprogram());
        }
        call = call_of(*call->getFunction());
    }
    return lines;
}

[[noreturn]] void refuse_type(const Function& declared, const Function& defined) {
    throw LinkError("'" + defined.getName().str() + "' is declared as " + shown(declared.getFunctionType()) +
                    ", but the linked code has it as " + shown(defined.getFunctionType()) +
                    places_of_calls(declared));
}

/// The caller's declaration becomes a function that calls the library's with its own types.
void bridge(Function& declared, const Function& defined) {
    const std::string name = declared.getName().str();
    FunctionType* type =
        FunctionType::get(defined.getReturnType(), defined.getFunctionType()->params(), false);
    if (declared.arg_size() != defined.arg_size()) refuse_type(declared, defined);
    declared.setName(name + "$declared");
    Function* target = Function::Create(type, GlobalValue::ExternalLinkage, name, *declared.getParent());
    IRBuilder<> builder(BasicBlock::Create(declared.getContext(), "", &declared));
    SmallVector<Value*> arguments;
    for (Argument& argument : declared.args()) {
        Value* value = adapted(builder, &argument, type->getParamType(argument.getArgNo()));
        if (!value) refuse_type(declared, defined);
        arguments.push_back(value);
    }
    Value* result = builder.CreateCall(target, arguments);
    if (declared.getReturnType()->isVoidTy()) {
        builder.CreateRetVoid();
    } else {
        Value* value = adapted(builder, result, declared.getReturnType());
        if (!value) refuse_type(declared, defined);
        builder.CreateRet(value);
    }
    declared.setLinkage(GlobalValue::InternalLinkage);
    declared.addFnAttr(Attribute::AlwaysInline);
}

void bridge_declarations(Module& module, const Module& library) {
    SmallVector<Function*> declarations;
    for (Function& function : module)
        if (function.isDeclaration() && !function.isIntrinsic()) declarations.push_back(&function);
    for (Function* declared : declarations) {
        const Function* defined = library.getFunction(declared->getName());
        if (defined && !defined->isDeclaration() && defined->getFunctionType() != declared->getFunctionType())
            bridge(*declared, *defined);
    }
}

std::unique_ptr<Module> parsed(const KernelImage& library, LLVMContext& context) {
    Expected<std::unique_ptr<Module>> module =
        parseBitcodeFile(MemoryBufferRef(library.bitcode(), "library"), context);
    if (!module) throw LinkError(toString(module.takeError()));
    return std::move(*module);
}

/// The linker puts the library's list behind the module's: the entries get other numbers.
void renumber_exceptions(const Module& module, Module& library) {
    const NamedMDNode* list = module.getNamedMetadata("cudasim.exceptions");
    Function* raise = library.getFunction("__cudasim_raise");
    if (list == nullptr || raise == nullptr) return;
    for (User* user : raise->users())
        if (auto* call = dyn_cast<CallBase>(user))
            if (const auto* entry = dyn_cast<ConstantInt>(call->getArgOperand(0)))
                call->setArgOperand(
                    0, ConstantInt::get(entry->getType(), entry->getZExtValue() + list->getNumOperands()));
}

/// Calls in the module may have been made for a declaration that a library has with other types, and in
/// libraries for one in another library: both sides are bridged.
void add(Module& module, std::unique_ptr<Module> library, const std::string& problem) {
    bridge_declarations(module, *library);
    bridge_declarations(*library, module);
    const std::string name = library->getSourceFileName();
    for (const Function& function : *library) {
        const Function* known = module.getFunction(function.getName());
        if (known && !known->isDeclaration() && !function.isDeclaration() && !function.hasLocalLinkage() &&
            !function.isWeakForLinker() && !known->isWeakForLinker())
            throw LinkError("'" + function.getName().str() + "' of " + name +
                            " is defined in other linked code too");
    }
    renumber_exceptions(module, *library);
    if (Linker::linkModules(module, std::move(library)))
        throw LinkError(name + " cannot be linked: " + problem);
}

/// A list of the unit with the other's behind it. Null where both have none: an empty list is emitted as one.
template <typename Node>
MDTuple* joined(LLVMContext& context, MDTupleTypedArrayWrapper<Node> ours,
                MDTupleTypedArrayWrapper<Node> theirs) {
    SmallVector<Metadata*> all(ours.begin(), ours.end());
    all.append(theirs.begin(), theirs.end());
    return all.empty() ? nullptr : MDTuple::get(context, all);
}

void take_lists(DICompileUnit& unit, const DICompileUnit& other) {
    LLVMContext& context = unit.getContext();
    unit.replaceEnumTypes(joined(context, unit.getEnumTypes(), other.getEnumTypes()));
    unit.replaceRetainedTypes(joined(context, unit.getRetainedTypes(), other.getRetainedTypes()));
    unit.replaceGlobalVariables(joined(context, unit.getGlobalVariables(), other.getGlobalVariables()));
    unit.replaceImportedEntities(joined(context, unit.getImportedEntities(), other.getImportedEntities()));
    unit.replaceMacros(joined(context, unit.getMacros(), other.getMacros()));
}

/// ptxas refuses debug information of several compile units ("overlapping non-identical data"): all becomes
/// the first one's.
void join_compile_units(Module& module) {
    NamedMDNode* units = module.getNamedMetadata("llvm.dbg.cu");
    if (!units || units->getNumOperands() < 2) return;
    DebugInfoFinder finder;
    finder.processModule(module);
    SmallVector<MDNode*> nodes;
    nodes.append(finder.subprograms().begin(), finder.subprograms().end());
    nodes.append(finder.types().begin(), finder.types().end());
    nodes.append(finder.scopes().begin(), finder.scopes().end());
    for (DIGlobalVariableExpression* global : finder.global_variables())
        nodes.push_back(global->getVariable());
    auto& unit = *cast<DICompileUnit>(units->getOperand(0));
    for (DICompileUnit* other : finder.compile_units()) {
        if (other == &unit) continue;
        // Using-declarations at file scope; the finder does not list them.
        for (DIImportedEntity* imported : other->getImportedEntities()) nodes.push_back(imported);
        take_lists(unit, *other);
        for (MDNode* node : nodes)
            for (unsigned i = 0; i < node->getNumOperands(); ++i)
                if (node->getOperand(i) == other) node->replaceOperandWith(i, &unit);
    }
    units->clearOperands();
    units->addOperand(&unit);
}

void add_all(Module& module, std::span<const KernelImage> libraries) {
    LLVMContext& context = module.getContext();
    std::string problem;
    std::unique_ptr<DiagnosticHandler> previous = context.getDiagnosticHandler();
    context.setDiagnosticHandler(std::make_unique<RecordingHandler>(problem));
    for (const KernelImage& library : libraries) add(module, parsed(library, context), problem);
    context.setDiagnosticHandler(std::move(previous));
    join_compile_units(module);
    for (const Function& function : module.functions()) {
        const bool missing =
            function.isDeclaration() && !function.use_empty() && !comes_with_the_system(function.getName());
        if (missing)
            throw LinkError("Undefined reference to '" + function.getName().str() + "'" +
                            places_of_calls(function));
    }
}

}  // namespace

void link(Module& module, std::span<const KernelImage> libraries) {
    std::set<const GlobalValue*> own;
    for (const GlobalValue& value : module.global_values())
        if (!value.isDeclaration()) own.insert(&value);
    add_all(module, libraries);
    for (GlobalValue& value : module.global_values())
        if (!value.isDeclaration() && !own.contains(&value)) value.setLinkage(GlobalValue::InternalLinkage);
}

KernelImage linked(std::span<const KernelImage> parts) {
    LLVMContext context;
    Module module("linked", context);
    module.setTargetTriple(std::string(target_triple));
    module.setDataLayout(data_layout);
    add_all(module, parts);
    std::vector<SourceFile> sources;
    for (const KernelImage& part : parts)
        sources.insert(sources.end(), part.sources().begin(), part.sources().end());
    return KernelImage::from_module(module, std::move(sources));
}

}  // namespace cudasim::image

// Module-level parts: variables with their initial values, functions, debug info, the image; and the front door.
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Local.h>

#include <filesystem>

#include "frontend/ptx/reader.h"
#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

/// Address spaces of NVVM IR (NVVM IR Specification, "Address Spaces"). Local variables are allocas.
unsigned address_space(Space space) {
    if (space == Space::global) return 1;
    if (space == Space::shared) return 3;
    if (space == Space::constant) return 4;
    return 0;
}

llvm::GlobalValue::LinkageTypes linkage_of(Linkage linkage) {
    return linkage == Linkage::internal ? llvm::GlobalValue::InternalLinkage
           : linkage == Linkage::weak   ? llvm::GlobalValue::WeakAnyLinkage
                                        : llvm::GlobalValue::ExternalLinkage;
}

llvm::Align alignment_of(const Variable& variable) {
    return llvm::Align(variable.alignment ? variable.alignment : std::max(1U, variable.type.width / 8));
}

}  // namespace

ModuleTranslation::ModuleTranslation(const Module& source, const std::string& file_path, Entries entries)
    : module(file_path, context), debug(module), source_(source), path_(file_path), entries_(entries) {
    module.setTargetTriple(std::string(image::target_triple));
    module.setDataLayout(image::data_layout);
    module.setSourceFileName(file_path);
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
    debug.createCompileUnit(llvm::dwarf::DW_LANG_Assembly, file(0), "cudasim", false, "", 0);
}

llvm::Type* ModuleTranslation::type(Type type) {
    switch (type.kind) {
        case Type::predicate:
            return llvm::Type::getInt1Ty(context);
        case Type::half_pair:
            return llvm::FixedVectorType::get(llvm::Type::getHalfTy(context), 2);
        case Type::real:
            return type.width == 16   ? llvm::Type::getHalfTy(context)
                   : type.width == 32 ? llvm::Type::getFloatTy(context)
                                      : llvm::Type::getDoubleTy(context);
        default:
            return llvm::Type::getIntNTy(context, type.width);
    }
}

llvm::Type* ModuleTranslation::storage(const Variable& variable) {
    if (!variable.is_array) return type(variable.type);
    return llvm::ArrayType::get(llvm::Type::getInt8Ty(context), variable.count * variable.type.width / 8);
}

llvm::DIFile* ModuleTranslation::file(unsigned number) {
    const bool known = number > 0 && number < source_.files.size() && !source_.files[number].empty();
    const std::filesystem::path path = known ? source_.files[number] : path_;
    return debug.createFile(path.string(), "");
}

const Function* ModuleTranslation::find_function(const std::string& name) const {
    for (const Function& function : source_.functions)
        if (function.name == name) return &function;
    return nullptr;
}

bool ModuleTranslation::translates(const Function& function) const {
    return function.has_body && (!function.is_entry || entries_ == Entries::kernels);
}

llvm::Function* ModuleTranslation::declare(const Function& function) {
    if (llvm::Function* known = module.getFunction(function.name)) return known;
    llvm::SmallVector<llvm::Type*> parameters;
    const auto by_value = [&](const Variable& parameter) { return function.is_entry && parameter.is_array; };
    for (const Variable& parameter : function.parameters)
        parameters.push_back(by_value(parameter) ? llvm::PointerType::get(context, 0) : storage(parameter));
    if (function.results.size() > 1) throw PtxError("'" + function.name + "' has more than one result", function.place.line);
    llvm::Type* result = function.results.empty() ? llvm::Type::getVoidTy(context) : storage(function.results[0]);
    const bool is_external = !function.has_body || function.is_entry;  // the driver finds entries, .visible or not
    llvm::Function* made = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                                  is_external ? llvm::GlobalValue::ExternalLinkage : linkage_of(function.linkage),
                                                  function.name, module);
    if (function.is_entry) made->setCallingConv(llvm::CallingConv::PTX_Kernel);
    for (unsigned i = 0; i < function.parameters.size(); ++i) {
        const Variable& parameter = function.parameters[i];
        made->getArg(i)->setName(parameter.name);
        if (!by_value(parameter)) continue;
        made->addParamAttr(i, llvm::Attribute::getWithByValType(context, storage(parameter)));
        made->addParamAttr(i, llvm::Attribute::getWithAlignment(context, alignment_of(parameter)));
    }
    return made;
}

llvm::GlobalVariable* ModuleTranslation::variable(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : found->second;
}

/// Numbers only, laid out as the elements' bytes; one address may stand for a whole 64-bit variable.
llvm::Constant* ModuleTranslation::initial_value(const Variable& variable) {
    llvm::Type* element = type(variable.type);
    const auto number = [&](const Operand& operand) -> llvm::APInt {
        if (operand.kind == Operand::real && operand.width != variable.type.width)
            throw PtxError("'" + variable.name + "' has an initial value of another width", variable.place.line);
        if (operand.kind != Operand::integer && operand.kind != Operand::real)
            throw PtxError("'" + variable.name + "' holds addresses from the start, which is not supported",
                           variable.place.line);
        return llvm::APInt(64, operand.value).zextOrTrunc(variable.type.width);
    };
    if (!variable.is_array) {
        const llvm::APInt bits = variable.initialiser.empty() ? llvm::APInt(variable.type.width, 0) : number(variable.initialiser[0]);
        llvm::Constant* integer = llvm::ConstantInt::get(context, bits);
        return element->isIntegerTy() ? integer : llvm::ConstantExpr::getBitCast(integer, element);
    }
    const unsigned width = variable.type.width / 8;
    if (variable.initialiser.size() > variable.count)
        throw PtxError("'" + variable.name + "' has more initial values than elements", variable.place.line);
    std::string bytes(variable.count * width, '\0');
    for (std::size_t i = 0; i < variable.initialiser.size(); ++i) {
        const std::uint64_t bits = number(variable.initialiser[i]).getZExtValue();
        for (unsigned byte = 0; byte < width; ++byte) bytes[i * width + byte] = static_cast<char>(bits >> (8 * byte));
    }
    return llvm::ConstantDataArray::getString(context, bytes, /*AddNull=*/false);
}

llvm::GlobalVariable* ModuleTranslation::add_variable(const Variable& variable, const std::string& name) {
    llvm::GlobalVariable*& known = variables_[name];
    if (known) return known;
    llvm::Type* type = storage(variable);
    const bool is_extern = variable.linkage == Linkage::external;
    llvm::Constant* initial = is_extern                         ? nullptr
                              : variable.space == Space::shared ? llvm::PoisonValue::get(type)
                                                                : initial_value(variable);
    known = new llvm::GlobalVariable(module, type, variable.space == Space::constant, linkage_of(variable.linkage), initial, name,
                                     nullptr, llvm::GlobalValue::NotThreadLocal, address_space(variable.space));
    known->setAlignment(alignment_of(variable));
    if (variable.space == Space::shared) shared_ = known;
    return known;
}

/// Shared variables that the compiler moved into the function that uses them.
void ModuleTranslation::add_shared_of_functions() {
    for (const Function& function : source_.functions) {
        if (!translates(function)) continue;
        for (const Variable& variable : function.variables)
            if (variable.space == Space::shared || variable.space == Space::global || variable.space == Space::constant)
                add_variable(variable, function.name + "$" + variable.name);
    }
}

image::KernelImage ModuleTranslation::run(const std::string& text) {
    for (const Variable& variable : source_.variables) add_variable(variable, variable.name);
    add_shared_of_functions();
    for (const Function& function : source_.functions) {
        if (translates(function)) FunctionTranslation(*this, function, declare(function)).run();
    }
    debug.finalize();
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module, &stream)) throw std::logic_error("cudasim made invalid IR of '" + path_ + "': " + problem);
    return image::KernelImage::from_module(module, {{path_, text}});
}

image::KernelImage read(const std::string& text, const std::string& file, Entries entries) {
    const Module parsed = parse(text);
    return ModuleTranslation(parsed, file, entries).run(text);
}

}  // namespace cudasim::ptx

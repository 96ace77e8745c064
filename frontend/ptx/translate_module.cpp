// Module-level parts: variables with their initial values, functions, debug info, the image; and the front
// door.
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Local.h>

#include <algorithm>
#include <filesystem>

#include "frontend/ptx/reader.h"
#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

/// Most words of a variable that holds addresses. No table of functions is larger.
constexpr std::uint64_t most_words = 1 << 20;

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
        case Type::brain:  // computed as what it is the upper half of
            return llvm::Type::getFloatTy(context);
        case Type::brain_pair:
            return llvm::FixedVectorType::get(llvm::Type::getFloatTy(context), 2);
        case Type::unsigned_pair:
        case Type::signed_pair:
            return llvm::FixedVectorType::get(llvm::Type::getInt16Ty(context), 2);
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

llvm::FunctionType* ModuleTranslation::function_type(const std::vector<Variable>& results,
                                                     const std::vector<Variable>& parameters, int line) {
    llvm::SmallVector<llvm::Type*> types;
    for (const Variable& parameter : parameters) types.push_back(storage(parameter));
    if (results.size() > 1) throw PtxError("a function has one result at most", line);
    return llvm::FunctionType::get(results.empty() ? llvm::Type::getVoidTy(context) : storage(results[0]),
                                   types, false);
}

llvm::Function* ModuleTranslation::declare_entry(const Function& entry) {
    llvm::SmallVector<llvm::Type*> types;
    for (const Variable& parameter : entry.parameters)
        types.push_back(parameter.is_array ? llvm::PointerType::get(context, 0) : storage(parameter));
    // The driver finds entries, .visible or not.
    llvm::Function* made =
        llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), types, false),
                               llvm::GlobalValue::ExternalLinkage, entry.name, module);
    made->setCallingConv(llvm::CallingConv::PTX_Kernel);
    for (unsigned i = 0; i < entry.parameters.size(); ++i) {
        const Variable& parameter = entry.parameters[i];
        made->getArg(i)->setName(parameter.name);
        if (!parameter.is_array) continue;
        made->addParamAttr(i, llvm::Attribute::getWithByValType(context, storage(parameter)));
        made->addParamAttr(i, llvm::Attribute::getWithAlignment(context, alignment_of(parameter)));
    }
    return made;
}

llvm::Function* ModuleTranslation::declare(const Function& function) {
    if (llvm::Function* known = module.getFunction(function.name)) return known;
    if (function.is_entry) return declare_entry(function);
    llvm::Function* made = llvm::Function::Create(
        function_type(function.results, function.parameters, function.place.line),
        function.has_body ? linkage_of(function.linkage) : llvm::GlobalValue::ExternalLinkage, function.name,
        module);
    for (unsigned i = 0; i < function.parameters.size(); ++i)
        made->getArg(i)->setName(function.parameters[i].name);
    return made;
}

llvm::GlobalVariable* ModuleTranslation::variable(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : found->second;
}

namespace {

/// generic(x) names an address in generic space (read_initial_value of parser.cpp).
bool is_generic(const Operand& value) {
    return !value.elements.empty();
}

llvm::APInt number(const Variable& variable, const Operand& value) {
    const bool real = variable.type.kind == Type::real;
    if (value.kind == Operand::real && real)
        return converted_bits(value, variable.type.width == 16   ? llvm::APFloat::IEEEhalf()
                                     : variable.type.width == 32 ? llvm::APFloat::IEEEsingle()
                                                                 : llvm::APFloat::IEEEdouble());
    if (value.kind == Operand::real && value.width != variable.type.width)
        throw PtxError("'" + variable.name + "' has an initial value of another width", variable.place.line);
    if (value.kind != Operand::integer && value.kind != Operand::real)
        throw PtxError("'" + variable.name + "' has an initial value that is neither a number nor an address",
                       variable.place.line);
    return llvm::APInt(64, value.value).zextOrTrunc(variable.type.width);
}

bool holds_addresses(const Variable& variable) {
    return std::any_of(variable.initialiser.begin(), variable.initialiser.end(),
                       [](const Operand& value) { return value.kind == Operand::name; });
}

}  // namespace

/// The address of a variable or function, in its own space or as a generic one, as a number.
llvm::Constant* ModuleTranslation::address_of(const Variable& holder, const Operand& value) {
    llvm::Constant* place = variable(value.text);
    const Function* function = place ? nullptr : find_function(value.text);
    if (function && !function->is_entry) place = declare(*function);
    if (!place) throw PtxError("'" + value.text + "' is not declared", holder.place.line);
    if (holder.type.width != 64)
        throw PtxError("'" + holder.name + "' holds addresses in fewer than 64 bits", holder.place.line);
    if (is_generic(value))
        place =
            llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(place, llvm::PointerType::get(context, 0));
    llvm::Type* word = llvm::Type::getInt64Ty(context);
    place = llvm::ConstantExpr::getGetElementPtr(llvm::Type::getInt8Ty(context), place,
                                                 llvm::ConstantInt::get(word, value.offset, true));
    return llvm::ConstantExpr::getPtrToInt(place, word);
}

/// Arrays of numbers are laid out as the elements' bytes, those with addresses among them as words.
llvm::Constant* ModuleTranslation::initial_value(const Variable& variable) {
    if (variable.initialiser.size() > variable.count)
        throw PtxError("'" + variable.name + "' has more initial values than elements", variable.place.line);
    if (!variable.is_array) {
        if (holds_addresses(variable)) return address_of(variable, variable.initialiser[0]);
        const llvm::APInt bits = variable.initialiser.empty() ? llvm::APInt(variable.type.width, 0)
                                                              : number(variable, variable.initialiser[0]);
        llvm::Constant* integer = llvm::ConstantInt::get(context, bits);
        llvm::Type* element = type(variable.type);
        return element->isIntegerTy() ? integer : llvm::ConstantExpr::getBitCast(integer, element);
    }
    if (holds_addresses(variable)) return initial_words(variable);
    const unsigned width = variable.type.width / 8;
    std::string bytes(variable.count * width, '\0');
    for (std::size_t i = 0; i < variable.initialiser.size(); ++i) {
        const std::uint64_t bits = number(variable, variable.initialiser[i]).getZExtValue();
        for (unsigned byte = 0; byte < width; ++byte)
            bytes[i * width + byte] = static_cast<char>(bits >> (8 * byte));
    }
    return llvm::ConstantDataArray::getString(context, bytes, /*AddNull=*/false);
}

llvm::Constant* ModuleTranslation::initial_words(const Variable& variable) {
    auto* type = llvm::ArrayType::get(llvm::Type::getInt64Ty(context), variable.count);
    if (variable.count > most_words)
        throw PtxError("'" + variable.name + "' holds too many addresses", variable.place.line);
    std::vector<llvm::Constant*> words(variable.count, llvm::ConstantInt::get(type->getElementType(), 0));
    for (std::size_t i = 0; i < variable.initialiser.size(); ++i) {
        const Operand& value = variable.initialiser[i];
        words[i] = value.kind == Operand::name
                       ? address_of(variable, value)
                       : llvm::ConstantInt::get(context, number(variable, value).zext(64));
    }
    return llvm::ConstantArray::get(type, words);
}

llvm::GlobalVariable* ModuleTranslation::add_variable(const Variable& variable, const std::string& name) {
    llvm::GlobalVariable*& known = variables_[name];
    if (known) return known;
    const bool words = variable.is_array && holds_addresses(variable);
    llvm::Type* type =
        words ? llvm::ArrayType::get(llvm::Type::getInt64Ty(context), variable.count) : storage(variable);
    llvm::Constant* initial = variable.linkage == Linkage::external ? nullptr : llvm::PoisonValue::get(type);
    known = new llvm::GlobalVariable(module, type, variable.space == Space::constant,
                                     linkage_of(variable.linkage), initial, name, nullptr,
                                     llvm::GlobalValue::NotThreadLocal, address_space(variable.space));
    known->setAlignment(alignment_of(variable));
    if (variable.managed) known->setSection(managed_section);
    if (variable.space == Space::shared)
        shared_ = known;
    else if (initial)
        initialised_.emplace_back(known, &variable);
    return known;
}

llvm::GlobalVariable* ModuleTranslation::grid_workspace() {
    constexpr const char* name = "cudasim$grid_workspace";
    if (auto* known = module.getGlobalVariable(name, true)) return known;
    auto* type = llvm::ArrayType::get(llvm::Type::getInt32Ty(context), 2);
    auto* made = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                          llvm::Constant::getNullValue(type), name, nullptr,
                                          llvm::GlobalValue::NotThreadLocal, address_space(Space::global));
    made->setAlignment(llvm::Align(8));
    return made;
}

/// Variables in shared, global and constant memory that the compiler moved into the function that uses them.
void ModuleTranslation::add_variables_of_functions() {
    for (const Function& function : source_.functions) {
        if (!translates(function)) continue;
        for (const Variable& variable : function.variables)
            if (variable.space == Space::shared || variable.space == Space::global ||
                variable.space == Space::constant)
                add_variable(variable, function.name + "$" + variable.name);
    }
}

image::KernelImage ModuleTranslation::run(const std::string& text) {
    for (const Variable& variable : source_.variables) add_variable(variable, variable.name);
    add_variables_of_functions();
    // All variables exist by now, because initial values may hold their addresses.
    for (const auto& [known, variable] : initialised_) known->setInitializer(initial_value(*variable));
    for (const Function& function : source_.functions) {
        if (translates(function)) FunctionTranslation(*this, function, declare(function)).run();
    }
    debug.finalize();
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    if (llvm::verifyModule(module, &stream))
        throw std::logic_error("cudasim made invalid IR of '" + path_ + "': " + problem);
    return image::KernelImage::from_module(module, {{path_, text}});
}

image::KernelImage read(const std::string& text, const std::string& file, Entries entries) {
    const Module parsed = parse(text);
    return ModuleTranslation(parsed, file, entries).run(text);
}

}  // namespace cudasim::ptx

// Module-level parts: types, declarations, constants, shared arrays, exceptions, the image.
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "frontend/pykernel/emit/emission.h"
#include "simulator/image/kernel_image.h"
#include "simulator/image/linking.h"

namespace cudasim::pykernel {

ModuleEmitter::ModuleEmitter(const Program& program)
    : program(program), module(program.request.functions[0].syntax.name, context), debug(module) {
    module.setTargetTriple(std::string(image::target_triple));
    module.setDataLayout(image::data_layout);
    module.setSourceFileName(program.request.functions[0].file);
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
    unit_ = debug.createCompileUnit(llvm::dwarf::DW_LANG_Python, file(program.request.functions[0].file),
                                    "cudasim",
                                    /*isOptimized=*/false, /*Flags=*/"", /*RV=*/0);
}

llvm::DIFile* ModuleEmitter::file(const std::string& path) {
    return debug.createFile(path, "");
}

image::KernelImage ModuleEmitter::run(const Specialisation& root) {
    const bool is_kernel = program.request.entry == Entry::kernel;
    if (is_kernel) kernel_ = &root;
    llvm::Function* root_function = function(root);
    if (is_kernel) declare_kernel(root_function);
    while (!pending_.empty()) {
        auto [specialisation, target] = pending_.front();
        pending_.pop_front();
        FunctionEmitter emitter(*this, *specialisation, target, specialisation == kernel_);
        emitter.run();
    }
    if (!is_kernel) make_device_entry(root);
    image::link(module, program.request.libraries);
    debug.finalize();
    std::string problem;
    llvm::raw_string_ostream problem_stream(problem);
    if (llvm::verifyModule(module, &problem_stream)) {
        throw std::logic_error("cudasim emitted invalid IR for '" + root.symbol +
                               "': " + problem_stream.str());
    }
    return image::KernelImage::from_module(module, program.request.sources);
}

void ModuleEmitter::declare_kernel(llvm::Function* function) {
    llvm::Metadata* entry[] = {
        llvm::ValueAsMetadata::get(function), llvm::MDString::get(context, "kernel"),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1))};
    module.getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, entry));
}

llvm::Type* ModuleEmitter::value_type(TypeRef scalar) {
    switch (scalar->kind) {
        case TypeKind::record:
            return llvm::PointerType::get(context, scalar->pointer_space());
        case TypeKind::boolean:
            return llvm::Type::getInt1Ty(context);
        case TypeKind::integer:
        case TypeKind::bfloat:
        case TypeKind::datetime64:
        case TypeKind::timedelta64:
            return llvm::Type::getIntNTy(context, scalar->bits);
        case TypeKind::complex: {
            llvm::Type* component = value_type(program.types.component(scalar));
            return llvm::StructType::get(component, component);
        }
        default:
            if (scalar->bits == 16) return llvm::Type::getHalfTy(context);
            return scalar->bits == 32 ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
    }
}

llvm::Type* ModuleEmitter::memory_type(TypeRef scalar) {
    if (scalar->is(TypeKind::record) || scalar->is(TypeKind::characters) || scalar->is(TypeKind::added))
        return llvm::ArrayType::get(llvm::Type::getInt8Ty(context), scalar->bytes());
    return scalar->is(TypeKind::boolean) ? llvm::Type::getInt8Ty(context) : value_type(scalar);
}

void ModuleEmitter::part_types(TypeRef type, bool in_memory, llvm::SmallVectorImpl<llvm::Type*>& types) {
    llvm::Type* int64 = llvm::Type::getInt64Ty(context);
    if (type->is(TypeKind::record)) types.push_back(value_type(type));
    if (type->is(TypeKind::characters)) types.append((type->bits + 63) / 64, int64);
    if (type->is(TypeKind::complex)) types.append(2, value_type(program.types.component(type)));
    if (type->is_real() || type->is_date()) types.push_back(in_memory ? memory_type(type) : value_type(type));
    if (type->is(TypeKind::pointer)) types.push_back(llvm::PointerType::get(context, generic_space));
    if (type->is(TypeKind::member)) part_types(type->element(), in_memory, types);
    if (type->is(TypeKind::array)) {
        types.push_back(llvm::PointerType::get(context, type->pointer_space()));
        types.append(2 * type->dimensions, int64);
    }
    if (type->is(TypeKind::range)) types.append(3, value_type(type->element()));
    if (type->is(TypeKind::added)) {
        for (const RecordField& field : type->fields) part_types(field.type, in_memory, types);
    }
    if (type->is(TypeKind::slice)) types.append(3, int64);
    if (type->is(TypeKind::flat) || type->is(TypeKind::method) || type->is(TypeKind::index_grid) ||
        type->is(TypeKind::index_items)) {
        part_types(type->element(), in_memory, types);
    }
    if (type->is(TypeKind::optional)) part_types(program.types.boolean, in_memory, types);
    if (type->is(TypeKind::tuple) || type->is(TypeKind::vector) || type->is(TypeKind::optional)) {
        for (TypeRef element : type->elements) part_types(element, in_memory, types);
    }
}

llvm::Type* ModuleEmitter::storage_type(TypeRef type) {
    llvm::SmallVector<llvm::Type*> parts;
    part_types(type, true, parts);
    if (parts.empty()) return nullptr;
    return parts.size() == 1 ? parts[0] : llvm::StructType::get(context, parts);
}

llvm::FunctionCallee ModuleEmitter::declare(const std::string& name, llvm::Type* result,
                                            llvm::ArrayRef<llvm::Type*> parameters) {
    return module.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
}

llvm::Function* ModuleEmitter::function(const Specialisation& specialisation) {
    llvm::Function*& target = functions_[&specialisation];
    if (target) return target;
    const bool is_kernel = &specialisation == kernel_;
    llvm::SmallVector<llvm::Type*> parameters, results;
    for (TypeRef argument : specialisation.arguments) part_types(argument, is_kernel, parameters);
    part_types(specialisation.result, false, results);
    llvm::Type* result = results.empty()       ? llvm::Type::getVoidTy(context)
                         : results.size() == 1 ? results[0]
                                               : llvm::StructType::get(context, results);
    const auto linkage = is_kernel ? llvm::Function::ExternalLinkage : llvm::Function::InternalLinkage;
    target = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false), linkage,
                                    specialisation.symbol, module);
    target->setSubprogram(subprogram(specialisation));
    pending_.emplace_back(&specialisation, target);
    return target;
}

std::uint32_t ModuleEmitter::exception_index(const std::string& type, const std::string& message) {
    const auto [entry, is_new] =
        exceptions_.try_emplace({type, message}, static_cast<std::uint32_t>(exceptions_.size()));
    if (is_new) {
        llvm::Metadata* texts[] = {llvm::MDString::get(context, type), llvm::MDString::get(context, message)};
        module.getOrInsertNamedMetadata("cudasim.exceptions")->addOperand(llvm::MDNode::get(context, texts));
    }
    return entry->second;
}

llvm::Constant* ModuleEmitter::text_constant(const std::string& text) {
    llvm::Constant*& known = texts_[text];
    if (known) return known;
    llvm::Constant* data = llvm::ConstantDataArray::getString(context, text);
    auto* variable = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                              llvm::GlobalValue::InternalLinkage, data, "text", nullptr,
                                              llvm::GlobalValue::NotThreadLocal, constant_space);
    variable->setAlignment(llvm::Align(1));
    known = llvm::ConstantExpr::getAddrSpaceCast(variable, llvm::PointerType::get(context, generic_space));
    return known;
}

llvm::GlobalVariable* ModuleEmitter::constant_array(const GlobalValue& array, TypeRef element) {
    llvm::GlobalVariable*& variable = constants_[&array];
    if (variable) return variable;
    const TypeRef plain = element->is(TypeKind::complex) ? program.types.component(element) : element;
    const bool as_bytes = element->is(TypeKind::record) || element->is(TypeKind::characters);
    llvm::Type* type = as_bytes ? llvm::Type::getInt8Ty(context) : memory_type(plain);
    const std::uint64_t count = array.bytes.size() / module.getDataLayout().getTypeAllocSize(type);
    llvm::Constant* data = count ? llvm::ConstantDataArray::getRaw(array.bytes, count, type)
                                 : llvm::ConstantAggregateZero::get(llvm::ArrayType::get(type, 0));
    variable = new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                        llvm::GlobalValue::InternalLinkage, data,
                                        mangle(array.text.empty() ? "constant" : array.text, {}), nullptr,
                                        llvm::GlobalValue::NotThreadLocal, constant_space);
    variable->setAlignment(llvm::Align(16));
    return variable;
}

llvm::GlobalVariable* ModuleEmitter::shared_array(const std::string& name, TypeRef element,
                                                  std::uint64_t count, llvm::ArrayRef<std::int64_t> extents,
                                                  llvm::DISubprogram* scope, Location place) {
    if (count == 0) {
        const char* symbol = "cudasim_dynamic_shared";
        if (auto* existing = module.getNamedGlobal(symbol)) return existing;
        llvm::Type* bytes = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 0);
        auto* variable =
            new llvm::GlobalVariable(module, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                     symbol, nullptr, llvm::GlobalValue::NotThreadLocal, shared_space);
        variable->setAlignment(llvm::Align(16));
        return variable;
    }
    llvm::Type* type = llvm::ArrayType::get(memory_type(element), count);
    const std::string shown = name.empty() ? "shared_array" : name;
    auto* variable = new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage,
                                              llvm::PoisonValue::get(type), mangle(shown, {}) + "$shared",
                                              nullptr, llvm::GlobalValue::NotThreadLocal, shared_space);
    variable->setAlignment(llvm::Align(16));
    const std::uint64_t bits = count * element->bits;
    llvm::SmallVector<llvm::Metadata*> ranges;
    for (const std::int64_t extent : extents) ranges.push_back(debug.getOrCreateSubrange(0, extent));
    auto* debug_array =
        debug.createArrayType(bits, 128, debug_type_in_memory(element), debug.getOrCreateArray(ranges));
    variable->addDebugInfo(
        debug.createGlobalVariableExpression(scope, shown, variable->getName(), scope->getFile(),
                                             static_cast<unsigned>(place.line), debug_array, true));
    return variable;
}

}  // namespace cudasim::pykernel

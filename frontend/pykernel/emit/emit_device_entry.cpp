// A device function as code outside of the module calls it: numba.cuda.compile with device=True.
//
// Numba's documentation, "Compiling Python functions for use with other languages": with the C ABI a number
// is passed and returned as C does; an array is passed as seven and more parameters, of which the first four
// (two pointers of Numba's memory management, the number of elements, the size of one) are not read here.
// Numba's own ABI, "not considered stable", returns a status and stores the result through the first
// parameter.
#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {
namespace {

constexpr unsigned array_header_parameters = 4;

}  // namespace

void ModuleEmitter::make_device_entry(const Specialisation& root) {
    const bool c_abi = program.request.entry == Entry::c_function;
    llvm::Function* target = function(root);
    target->setName(root.symbol + "$body");  // a function without parameters has its own name otherwise
    llvm::Type* pointer = llvm::PointerType::get(context, generic_space);
    llvm::Type* int64 = llvm::Type::getInt64Ty(context);
    llvm::SmallVector<llvm::Type*> parameters;
    if (!c_abi) parameters.push_back(pointer);
    for (TypeRef argument : root.arguments) {
        if (argument->is(TypeKind::array)) parameters.append({pointer, pointer, int64, int64});
        const std::size_t data = parameters.size();
        part_types(argument, true, parameters);
        if (argument->is(TypeKind::array)) parameters[data] = pointer;
    }
    llvm::Type* result = target->getReturnType();
    llvm::Type* returned = c_abi ? result : llvm::Type::getInt32Ty(context);
    auto* entry = llvm::Function::Create(llvm::FunctionType::get(returned, parameters, false),
                                         llvm::Function::ExternalLinkage, program.request.entry_name, module);
    if (entry->getName() != program.request.entry_name)
        throw std::logic_error("two functions are called " + program.request.entry_name);
    entry->setSubprogram(subprogram(root));
    entry->addFnAttrs(llvm::AttrBuilder(context, target->getAttributes().getFnAttrs()));
    target->addFnAttr(llvm::Attribute::AlwaysInline);

    Builder builder(llvm::BasicBlock::Create(context, "entry", entry));
    builder.SetCurrentDebugLocation(llvm::DILocation::get(
        context, static_cast<unsigned>(program.request.functions[0].syntax.location.line), 0,
        entry->getSubprogram()));
    llvm::SmallVector<llvm::Value*> arguments;
    unsigned next = c_abi ? 0 : 1;
    for (TypeRef argument : root.arguments) {
        if (argument->is(TypeKind::array)) next += array_header_parameters;
        llvm::SmallVector<llvm::Type*> parts;
        part_types(argument, false, parts);
        for (llvm::Type* part : parts) {
            llvm::Value* value = entry->getArg(next++);
            if (part->isIntegerTy(1))
                value = builder.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
            if (part->isPointerTy() && part != value->getType())
                value = builder.CreateAddrSpaceCast(value, part);
            arguments.push_back(value);
        }
    }
    llvm::Value* value = builder.CreateCall(target, arguments);
    if (c_abi) {
        if (result->isVoidTy())
            builder.CreateRetVoid();
        else
            builder.CreateRet(value);
        if (result->isIntegerTy(1)) entry->addRetAttr(llvm::Attribute::ZExt);
        return;
    }
    if (!result->isVoidTy()) {
        if (result->isIntegerTy(1)) value = builder.CreateZExt(value, builder.getInt8Ty());
        builder.CreateStore(value, entry->getArg(0));
    }
    builder.CreateRet(builder.getInt32(0));
}

}  // namespace cudasim::pykernel

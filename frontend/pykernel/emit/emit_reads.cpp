// Reads of variables by which a debugger can set them (E13): the value that was stored, and a load
// beside it, of which each back end takes one (simulator/image/variable_reads.h). Scalars of the user's
// own functions are read so, and tuples of them; arrays are not, because passes that run before the optimiser
// have to see what they are made of.
#include <algorithm>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {
namespace {

std::string word_for(const llvm::Type* type) {
    if (type->isIntegerTy()) return "i" + std::to_string(type->getIntegerBitWidth());
    if (type->isHalfTy()) return "half";
    return type->isFloatTy() ? "float" : "double";
}

/// Numbers and dates, members of enumerations, and tuples and vectors of these.
bool consists_of_scalars(TypeRef type) {
    if (type->is(TypeKind::member)) return consists_of_scalars(type->element());
    if (type->is(TypeKind::tuple) || type->is(TypeKind::vector))
        return std::ranges::all_of(type->elements, consists_of_scalars);
    return type->is_scalar();
}

}  // namespace

Emitted FunctionEmitter::read(VariableId id, const Emitted& stored) {
    const bool settable = module.program.request.variable_reads && consists_of_scalars(stored.type) &&
                          !graph_.variables[id].compiler_made && graph_.source->library_name.empty();
    if (!settable) return stored;
    const Parts loaded = load_parts(id, stored.type, "");
    Emitted result{stored.type, {}};
    for (std::size_t i = 0; i < loaded.size(); ++i) result.parts.push_back(read(stored.parts[i], loaded[i]));
    return result;
}

llvm::Value* FunctionEmitter::read(llvm::Value* stored, llvm::Value* loaded) {
    if (stored == loaded) return stored;
    llvm::Type* type = stored->getType();
    llvm::FunctionCallee function =
        module.declare(std::string(image::variable_read_prefix) + word_for(type), type, {type, type});
    auto* declaration = llvm::cast<llvm::Function>(function.getCallee());
    declaration->setDoesNotAccessMemory();
    declaration->setDoesNotThrow();
    declaration->setWillReturn();
    return builder.CreateCall(function, {stored, loaded});
}

}  // namespace cudasim::pykernel

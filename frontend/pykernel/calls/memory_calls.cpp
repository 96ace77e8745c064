// cuda.shared.array, cuda.local.array, cuda.const.array_like. One allocation per source place (V4).
#include <llvm/IR/Constants.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

/// What Numba finds wrong only when it makes code: a ValueError there.
[[noreturn]] void refuse_value(const CallTyping& call, const std::string& reason) {
    throw SourceError(ErrorClass::value, std::string(call.callable.name) + ": " + reason, call.call.location);
}

/// Extents of a constant shape: an integer or a tuple of integers. @throws SourceError for any other
std::vector<std::int64_t> constant_shape(const CallTyping& call, TypeRef shape) {
    std::vector<std::int64_t> extents;
    const std::vector<TypeRef> axes =
        shape->is(TypeKind::tuple) ? shape->elements : std::vector<TypeRef>{shape};
    for (TypeRef axis : axes) {
        if (!axis->is(TypeKind::integer)) call.no_match();
        if (!axis->literal) {
            call.refuse(
                "the shape must be a constant: a number, a global, or a tuple of them; this one is "
                "only known when the kernel runs",
                Standing::never);
        }
        extents.push_back(*axis->literal);
    }
    return extents;
}

}  // namespace

TypeRef data_type(const CallTyping& call, TypeRef argument) {
    TypeRef type = nullptr;
    if (argument->is(TypeKind::data_type)) type = argument->element();
    if (argument->is(TypeKind::text)) {
        const std::string text = argument->text;
        std::string_view name = text;
        // NumPy's names, in this machine's byte order.
        if (name.size() > 1 && std::string_view("<=|").find(name[0]) != std::string_view::npos)
            name.remove_prefix(1);
        if (name != "boolean" && name != "none") type = call.types().scalar_named(name);
    }
    if (type && type->is(TypeKind::bfloat))
        throw SourceError(
            ErrorClass::type,
            "unsupported type: " + type->name + ": keep bits, of type int16, with bf16.bfloat16_as_short()",
            call.call.location);
    if (!type || !type->lies_in_memory() || type->is_date())
        call.refuse("the dtype must be a type of numbers or of records that kernels know");
    return type;
}

namespace {

/// Bytes; 16 unless the call asks for more. @throws SourceError unless a constant power of two
std::uint64_t alignment_of(TypeRef alignment) {
    const bool given = alignment && !alignment->is(TypeKind::none);
    return given ? std::max<std::uint64_t>(16, static_cast<std::uint64_t>(*alignment->literal)) : 16;
}

void check_alignment(const CallTyping& call, TypeRef alignment) {
    if (!alignment || alignment->is(TypeKind::none)) return;
    if (!alignment->is(TypeKind::integer) || !alignment->literal)
        call.no_match("RequireLiteralValue: alignment must be a constant integer");
    const std::int64_t bytes = *alignment->literal;
    if (bytes <= 0) refuse_value(call, "Alignment must be positive");
    if ((bytes & (bytes - 1)) != 0) refuse_value(call, "Alignment must be a power of 2");
    if (bytes % 8 != 0) refuse_value(call, "Alignment must be a multiple of 8");
    if (bytes > 1024) refuse_value(call, "Alignment must be at most 1024 here");
}

TypeRef type_array(const CallTyping& call) {
    check_alignment(call, call[2]);
    const auto extents = constant_shape(call, call[0]);
    const TypeRef element = data_type(call, call[1]);
    const bool shared = call.callable.name == "cuda.shared.array";
    // One axis of size 0 is the dynamic shared memory of the launch.
    const bool dynamic = shared && extents.size() == 1 && extents[0] == 0;
    for (std::int64_t extent : extents) {
        if (extent <= 0 && !dynamic) refuse_value(call, "array length <= 0");
    }
    return call.types().array(element, static_cast<unsigned>(extents.size()), 'C',
                              shared ? shared_space : local_space);
}

/// More than fit into any memory, and few enough that their bytes can be counted: such arrays are refused
/// when the kernel is loaded, with their size.
constexpr std::uint64_t most_elements = std::uint64_t{1} << 48;

std::vector<llvm::Value*> shape_values(CallEmission& call, std::uint64_t& count) {
    std::vector<llvm::Value*> shape;
    const Emitted& argument = call[0];
    const std::vector<TypeRef> axes =
        argument.type->is(TypeKind::tuple) ? argument.type->elements : std::vector<TypeRef>{argument.type};
    count = 1;
    for (TypeRef axis : axes) {
        count = std::min(llvm::SaturatingMultiply(count, static_cast<std::uint64_t>(*axis->literal)),
                         most_elements);
        shape.push_back(call.emitter.int64(*axis->literal));
    }
    return shape;
}

/// Size 0 stands for the dynamic shared memory of the launch; all such arrays begin at its start.
Emitted emit_shared_array(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    std::uint64_t count = 0;
    std::vector<llvm::Value*> shape = shape_values(call, count);
    llvm::SmallVector<std::int64_t> extents;
    for (const llvm::Value* extent : shape)
        extents.push_back(llvm::cast<llvm::ConstantInt>(extent)->getSExtValue());
    llvm::GlobalVariable* data =
        e.module.shared_array(call.call.text, type->element(), count, extents, e.scope(), call.call.location);
    data->setAlignment(std::max(llvm::Align(alignment_of(call[2].type)), data->getAlign().valueOrOne()));
    if (count == 0 && shape.size() == 1) {
        llvm::Value* bytes = e.builder.CreateZExt(
            e.call("__cudasim_dynamic_shared_bytes", e.builder.getInt32Ty(), {}), e.builder.getInt64Ty());
        shape[0] = e.builder.CreateUDiv(bytes, e.int64(type->element()->bits / 8));
    }
    return e.make_array(type, data, shape);
}

Emitted emit_local_array(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    std::uint64_t count = 0;
    const std::vector<llvm::Value*> shape = shape_values(call, count);
    llvm::Type* storage = llvm::ArrayType::get(e.module.memory_type(type->element()), count);
    llvm::AllocaInst* data =
        e.entry_alloca(storage, call.call.text.empty() ? "local_array" : call.call.text + ".data");
    data->setAlignment(llvm::Align(alignment_of(call[2].type)));
    data->setDebugLoc(e.builder.getCurrentDebugLocation());
    return e.make_array(type, data, shape);
}

TypeRef type_array_like(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array) || call[0]->address_space != constant_space) {
        call.refuse(
            "the argument must be a NumPy array from outside the kernel (a global or closure variable)");
    }
    return call[0];
}

Emitted emit_array_like(CallEmission& call) {
    return call[0];
}

constexpr Callable rows[] = {
    {"cuda.shared.array", "shape dtype alignment=", type_array, emit_shared_array},
    {"cuda.local.array", "shape dtype alignment=", type_array, emit_local_array},
    {"cuda.const.array_like", "ary", type_array_like, emit_array_like},
};

}  // namespace

std::span<const Callable> memory_callables() {
    return rows;
}

}  // namespace cudasim::pykernel

// cuda.atomic.*: on global and shared arrays, returning the old value. Element types as Numba's CUDA
// target has them. Relaxed and of the device's scope, as PTX's atom without qualifiers.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/infer/subscripts.h"
#include "simulator/image/sync_scopes.h"

namespace cudasim::pykernel {
namespace {

using Operation = llvm::AtomicRMWInst::BinOp;
constexpr auto relaxed = llvm::AtomicOrdering::Monotonic;

llvm::SyncScope::ID device_scope(FunctionEmitter& e) {
    return image::sync_scope(e.module.context, image::Scope::device);
}

std::string_view operation_name(std::string_view callable) {
    return callable.substr(sizeof("cuda.atomic.") - 1);
}

/// Which element types an operation has: Numba's CUDA documentation, "Supported Atomic Operations".
bool has_element(std::string_view operation, TypeRef element) {
    const bool wide = element->bits >= 32;
    if (element->is(TypeKind::boolean) || !wide) return false;
    if (operation == "inc" || operation == "dec")
        return element->is(TypeKind::integer) && !element->is_signed;
    const bool any_number =
        operation == "add" || operation == "sub" || operation.ends_with("max") || operation.ends_with("min");
    return any_number || element->is(TypeKind::integer);
}

/// Numba's CUDA target casts what is not an integer (a bool, a float) to one.
TypeRef as_index(TypeTable& types, TypeRef index) {
    if (index->is_number()) return index->is(TypeKind::integer) ? index : types.int64;
    if (!index->is(TypeKind::tuple)) return index;
    std::vector<TypeRef> elements;
    for (TypeRef element : index->elements) elements.push_back(as_index(types, element));
    return types.tuple(std::move(elements));
}

/// The type of what the index names; where that is an element, its place becomes the operation's first.
TypeRef indexed_element(const CallTyping& call, TypeRef array, TypeRef index) {
    Resolution item = resolve_get_item(call.program, call.call, array, index);
    call.resolution.parameters = {index};
    call.resolution.inner = std::move(item.inner);
    return item.result;
}

TypeRef check_target(const CallTyping& call, TypeRef array, TypeRef index) {
    if (!array->is(TypeKind::array)) call.no_match();
    if (array->read_only) call.refuse("the array is constant");
    if (array->address_space == local_space) {
        call.refuse(
            "a local array belongs to one thread: atomic operations work on global and shared memory");
    }
    if (index && array->dimensions == 1 && index->is(TypeKind::tuple))
        call.refuse("the index of an array with one axis is a number, not " + index->name);
    const TypeRef element =
        index ? indexed_element(call, array, as_index(call.types(), index)) : array->element();
    if (element->is(TypeKind::array)) call.refuse("the index must name one element of " + array->name);
    if (element->is(TypeKind::complex)) call.no_match();  // no GPU has them
    if (!element->is_real())
        call.refuse("there is no such atomic operation on elements of type " + element->name);
    if (!element->is_number() || !has_element(operation_name(call.callable.name), element)) {
        call.refuse("there is no such atomic operation on elements of type " + element->name);
    }
    return element;
}

TypeRef type_update(const CallTyping& call) {
    const TypeRef element = check_target(call, call[0], call[1]);
    if (!call[2]->is_number()) call.no_match();
    return element;
}

TypeRef type_swap(const CallTyping& call) {
    const TypeRef element = check_target(call, call[0], call[1]);
    if (!call[2]->is_number() || !call[3]->is_number()) call.no_match();
    return element;
}

TypeRef type_compare_and_swap(const CallTyping& call) {
    const TypeRef element = check_target(call, call[0], nullptr);
    if (call[0]->dimensions > 1 || !call[1]->is_number() || !call[2]->is_number()) call.no_match();
    const TypeRef zero = call.types().literal(call.types().int64, 0);
    (void)indexed_element(call, call[0], call[0]->dimensions ? zero : call.types().tuple({}));
    return element;
}

Operation operation(std::string_view name, TypeRef element) {
    const bool real = element->is(TypeKind::floating);
    const bool is_signed = element->is_signed;
    if (name == "add") return real ? Operation::FAdd : Operation::Add;
    if (name == "sub") return real ? Operation::FSub : Operation::Sub;
    if (name.ends_with("max")) return is_signed ? Operation::Max : Operation::UMax;
    if (name.ends_with("min")) return is_signed ? Operation::Min : Operation::UMin;
    if (name == "and_") return Operation::And;
    if (name == "or_") return Operation::Or;
    if (name == "xor") return Operation::Xor;
    if (name == "inc") return Operation::UIncWrap;
    if (name == "dec") return Operation::UDecWrap;
    return Operation::Xchg;
}

/// Whether the float at `old` is to be replaced by `value`. A NaN never is written, as on Numba's CUDA
/// target; an element that is NaN stays with max and min, and gives way with nanmax and nanmin.
llvm::Value* must_replace(FunctionEmitter& e, std::string_view name, llvm::Value* old, llvm::Value* value) {
    Builder& b = e.builder;
    const bool want_max = name.ends_with("max");
    llvm::Value* beaten = want_max ? b.CreateFCmpOLT(old, value) : b.CreateFCmpOGT(old, value);
    if (!name.starts_with("nan")) return beaten;
    llvm::Value* missing = b.CreateAnd(b.CreateFCmpUNO(old, old), b.CreateFCmpORD(value, value));
    return b.CreateOr(beaten, missing);
}

/// load; while (must replace) compare-and-exchange.
llvm::Value* float_extremum(FunctionEmitter& e, std::string_view name, llvm::Value* place, llvm::Value* value,
                            unsigned bits, TypeRef array) {
    Builder& b = e.builder;
    llvm::Type* real = value->getType();
    llvm::Type* integer = b.getIntNTy(bits);
    llvm::AllocaInst* seen = e.entry_alloca(integer, "atomic.seen");
    auto* first = b.CreateAlignedLoad(integer, place, llvm::Align(bits / 8));
    first->setAtomic(relaxed, device_scope(e));
    e.checked(first, array);
    b.CreateStore(first, seen);
    llvm::BasicBlock* head = e.new_block("atomic.head");
    llvm::BasicBlock* attempt = e.new_block("atomic.attempt");
    llvm::BasicBlock* done = e.new_block("atomic.done");
    b.CreateBr(head);
    b.SetInsertPoint(head);
    llvm::Value* expected = b.CreateLoad(integer, seen);
    llvm::Value* old = b.CreateBitCast(expected, real);
    b.CreateCondBr(must_replace(e, name, old, value), attempt, done);
    b.SetInsertPoint(attempt);
    auto* exchange = b.CreateAtomicCmpXchg(place, expected, b.CreateBitCast(value, integer),
                                           llvm::MaybeAlign(bits / 8), relaxed, relaxed, device_scope(e));
    e.checked(exchange, array);
    b.CreateStore(b.CreateExtractValue(exchange, 0), seen);
    b.CreateCondBr(b.CreateExtractValue(exchange, 1), done, head);
    b.SetInsertPoint(done);
    return old;
}

llvm::Value* place_of(CallEmission& call) {
    const Emitted index = call.emitter.convert(call[1], call.resolution.parameters[0]);
    return call.apply(0, {call[0], index}).value();
}

Emitted emit_update(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef element = call.call.type;
    const std::string_view name = operation_name(call.callable.name);
    llvm::Value* value = e.convert(call[2], element).value();
    llvm::Value* place = place_of(call);
    const bool real = element->is(TypeKind::floating);
    if (real && (name.ends_with("max") || name.ends_with("min"))) {
        return e.number(float_extremum(e, name, place, value, element->bits, call[0].type), element);
    }
    auto* update = e.builder.CreateAtomicRMW(operation(name, element), place, value,
                                             llvm::MaybeAlign(element->bits / 8), relaxed, device_scope(e));
    e.checked(update, call[0].type);
    return e.number(update, element);
}

Emitted swap(FunctionEmitter& e, llvm::Value* place, TypeRef array, const Emitted& expected,
             const Emitted& desired, TypeRef element) {
    auto* exchange = e.builder.CreateAtomicCmpXchg(
        place, e.convert(expected, element).value(), e.convert(desired, element).value(),
        llvm::MaybeAlign(element->bits / 8), relaxed, relaxed, device_scope(e));
    e.checked(exchange, array);
    return e.number(e.builder.CreateExtractValue(exchange, 0), element);
}

Emitted emit_swap(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    return swap(e, place_of(call), call[0].type, call[2], call[3], call.call.type);
}

/// compare_and_swap works on the first element.
Emitted emit_compare_and_swap(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const Emitted index{call.resolution.parameters[0], Parts(call[0].type->dimensions, e.int64(0))};
    return swap(e, call.apply(0, {call[0], index}).value(), call[0].type, call[1], call[2], call.call.type);
}

constexpr Callable rows[] = {
    {"cuda.atomic.add", "ary idx val", type_update, emit_update},
    {"cuda.atomic.sub", "ary idx val", type_update, emit_update},
    {"cuda.atomic.max", "ary idx val", type_update, emit_update},
    {"cuda.atomic.min", "ary idx val", type_update, emit_update},
    {"cuda.atomic.nanmax", "ary idx val", type_update, emit_update},
    {"cuda.atomic.nanmin", "ary idx val", type_update, emit_update},
    {"cuda.atomic.and_", "ary idx val", type_update, emit_update},
    {"cuda.atomic.or_", "ary idx val", type_update, emit_update},
    {"cuda.atomic.xor", "ary idx val", type_update, emit_update},
    {"cuda.atomic.inc", "ary idx val", type_update, emit_update},
    {"cuda.atomic.dec", "ary idx val", type_update, emit_update},
    {"cuda.atomic.exch", "ary idx val", type_update, emit_update},
    {"cuda.atomic.cas", "ary idx old val", type_swap, emit_swap},
    {"cuda.atomic.compare_and_swap", "ary old val", type_compare_and_swap, emit_compare_and_swap},
};

}  // namespace

std::span<const Callable> atomic_callables() {
    return rows;
}

}  // namespace cudasim::pykernel

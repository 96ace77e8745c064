// Attributes: rules by their names, each with its typing beside its code. A name with `*` stands for any.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/infer/subscripts.h"
#include "frontend/pykernel/operations/rules.h"
#include "frontend/pykernel/types/grid_group.h"
#include "frontend/pykernel/types/number_limits.h"

namespace cudasim::pykernel {
namespace {

const std::string& name_of(const CallTyping& attribute) {
    return attribute.call.text;
}

Emitted emit_same(CallEmission& attribute) {
    return {attribute.resolution.result, attribute[0].parts};
}

/// One of the object's parts.
Emitted emit_part(CallEmission& attribute) {
    return attribute.emitter.number(attribute[0].parts[attribute.resolution.positions[0]],
                                    attribute.resolution.result);
}

/// An attribute whose place among the names says which part it is.
bool is_part(const CallTyping& attribute, std::initializer_list<std::string_view> names) {
    const auto found = std::ranges::find(names, name_of(attribute));
    if (found == names.end()) return false;
    attribute.resolution.positions = {static_cast<std::uint32_t>(found - names.begin())};
    return true;
}

/// threadIdx.x.
TypeRef type_axis(const CallTyping& attribute) {
    const bool defined = attribute[0]->is(TypeKind::dim3) && is_part(attribute, {"x", "y", "z"});
    return defined ? attribute.types().int32 : nullptr;
}

Emitted emit_axis(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    return e.number(e.dim3_element(attribute[0], "xyz"[attribute.resolution.positions[0]]),
                    attribute.resolution.result);
}

TypeRef type_component(const CallTyping& attribute) {
    const TypeRef vector = attribute[0];
    const bool defined = vector->is(TypeKind::vector) && is_part(attribute, {"x", "y", "z", "w"}) &&
                         attribute.resolution.positions[0] < vector->elements.size();
    return defined ? vector->element() : nullptr;
}

TypeRef type_extents(const CallTyping& attribute) {
    if (!attribute[0]->is(TypeKind::array)) return nullptr;
    return attribute.types().tuple(std::vector<TypeRef>(attribute[0]->dimensions, attribute.types().int64));
}

Emitted emit_shape(CallEmission& attribute) {
    const Emitted& array = attribute[0];
    const auto extents = array.parts.begin() + 1;
    return {attribute.resolution.result, Parts(extents, extents + array.type->dimensions)};
}

Emitted emit_strides(CallEmission& attribute) {
    const Emitted& array = attribute[0];
    return {attribute.resolution.result,
            Parts(array.parts.begin() + 1 + array.type->dimensions, array.parts.end())};
}

TypeRef type_count(const CallTyping& attribute) {
    return attribute[0]->is(TypeKind::array) ? attribute.types().int64 : nullptr;
}

Emitted emit_size(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    return e.number(e.array_size(attribute[0]), attribute.resolution.result);
}

llvm::Value* item_bytes(CallEmission& attribute) {
    return attribute.emitter.int64(attribute[0].type->element()->bits / 8);
}

Emitted emit_item_size(CallEmission& attribute) {
    return attribute.emitter.number(item_bytes(attribute), attribute.resolution.result);
}

Emitted emit_bytes(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    llvm::Value* size = e.array_size(attribute[0]);
    return e.number(e.builder.CreateMul(size, item_bytes(attribute)), attribute.resolution.result);
}

TypeRef type_dimensions(const CallTyping& attribute) {
    if (!attribute[0]->is(TypeKind::array)) return nullptr;
    return attribute.types().literal(attribute.types().int64, attribute[0]->dimensions);
}

Emitted emit_dimensions(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    return e.number(e.int64(attribute[0].type->dimensions), attribute.resolution.result);
}

/// The real or imaginary parts of an array of complex numbers: a view.
TypeRef type_components(const CallTyping& attribute) {
    const TypeRef array = attribute[0];
    if (!array->is(TypeKind::array) || !array->element()->is(TypeKind::complex)) return nullptr;
    TypeTable& types = attribute.types();
    return types.array_like(array, types.component(array->element()), array->dimensions, 'A');
}

Emitted emit_imaginary_components(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    Emitted components = emit_same(attribute);
    llvm::Value*& data = components.parts[0];
    data = e.builder.CreateConstInBoundsGEP1_64(e.module.value_type(components.type->element()), data, 1);
    return components;
}

TypeRef type_real_array(const CallTyping& attribute) {
    const TypeRef array = attribute[0];
    return array->is(TypeKind::array) && !array->element()->is(TypeKind::boolean) ? array : nullptr;
}

TypeRef type_flat(const CallTyping& attribute) {
    if (!attribute[0]->is(TypeKind::array)) return nullptr;
    return attribute.types().wrapped(TypeKind::flat, attribute[0]);
}

TypeRef type_data_type(const CallTyping& attribute) {
    if (!attribute[0]->is(TypeKind::array)) return nullptr;
    return attribute.types().data_type(attribute[0]->element());
}

TypeRef type_transposed(const CallTyping& attribute) {
    const TypeRef array = attribute[0];
    if (!array->is(TypeKind::array)) return nullptr;
    const char layout = array->dimensions < 2  ? array->layout
                        : array->layout == 'C' ? 'F'
                        : array->layout == 'F' ? 'C'
                                               : 'A';
    return attribute.types().array_like(array, array->element(), array->dimensions, layout);
}

Emitted emit_transposed(CallEmission& attribute) {
    const Emitted& array = attribute[0];
    const unsigned n = array.type->dimensions;
    Emitted result{attribute.resolution.result, {array.parts[0]}};
    for (unsigned i = 0; i < n; ++i) result.parts.push_back(array.parts[n - i]);
    for (unsigned i = 0; i < n; ++i) result.parts.push_back(array.parts[2 * n - i]);
    return result;
}

/// a.ctypes has one attribute, a.ctypes.data.
TypeRef type_ctypes(const CallTyping& attribute) {
    if (!attribute[0]->is(TypeKind::array)) return nullptr;
    return attribute.types().method(attribute[0], "array.ctypes");
}

TypeRef type_address(const CallTyping& attribute) {
    const bool defined = attribute[0]->is(TypeKind::method) && attribute[0]->row == "array.ctypes";
    return defined ? attribute.types().uint64 : nullptr;
}

Emitted emit_address(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    return e.number(e.builder.CreatePtrToInt(attribute[0].parts[0], e.builder.getInt64Ty()),
                    attribute.resolution.result);
}

TypeRef type_member_value(const CallTyping& attribute) {
    return attribute[0]->is(TypeKind::member) ? attribute[0]->element() : nullptr;
}

TypeRef type_named_element(const CallTyping& attribute) {
    const std::vector<std::string>& names = attribute[0]->names;
    const auto found = std::ranges::find(names, name_of(attribute));
    if (found == names.end()) return nullptr;
    attribute.resolution.positions = {static_cast<std::uint32_t>(found - names.begin())};
    return attribute[0]->elements[attribute.resolution.positions[0]];
}

Emitted emit_named_element(CallEmission& attribute) {
    return attribute.emitter.element_of(attribute[0], attribute.resolution.positions[0]);
}

TypeRef type_field(const CallTyping& attribute) {
    const Location place = attribute.call.location;
    const RecordField* field = named_field(attribute[0], name_of(attribute), place);
    attribute.resolution.field = field;
    return field ? field_value(attribute.types(), attribute[0], *field, place) : nullptr;
}

Emitted emit_field(CallEmission& attribute) {
    return attribute.emitter.get_field(attribute[0], *attribute.resolution.field,
                                       attribute.resolution.result);
}

bool is_plain_number(TypeRef type) {
    return type->is(TypeKind::integer) || type->is(TypeKind::floating);
}

TypeRef type_method(const CallTyping& attribute) {
    const TypeRef object = attribute[0];
    const char* owner = object->is(TypeKind::array)     ? "array."
                        : object->is(TypeKind::tuple)   ? "tuple."
                        : is_plain_number(object)       ? "number."
                        : object->is(TypeKind::complex) ? "complex."
                        : is_grid_group(object)         ? "GridGroup."
                                                        : nullptr;
    if (!owner) return nullptr;
    const std::string row = owner + name_of(attribute);
    return find_callable(row) ? attribute.types().method(object, row) : nullptr;
}

TypeRef type_type(const CallTyping& attribute) {
    return attribute[0]->is(TypeKind::data_type) ? attribute[0] : nullptr;
}

TypeRef type_limit(const CallTyping& attribute) {
    if (!attribute[0]->is(TypeKind::limits)) return nullptr;
    return limit_type(attribute.types(), attribute[0], name_of(attribute));
}

Emitted emit_limit(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    const TypeRef result = attribute.resolution.result, number = attribute[0].type->element();
    const std::string& name = attribute.call.text;
    if (!result->is(TypeKind::floating)) return e.number(e.int64(*integer_limit(number, name)), result);
    return e.number(llvm::ConstantFP::get(e.module.value_type(result), *real_limit(number, name)), result);
}

/// Of a slice or a range.
TypeRef type_bound(const CallTyping& attribute) {
    const TypeRef object = attribute[0];
    const bool has_bounds = object->is(TypeKind::slice) || object->is(TypeKind::range);
    if (!has_bounds || !is_part(attribute, {"start", "stop", "step"})) return nullptr;
    return object->is(TypeKind::slice) ? attribute.types().int64 : object->element();
}

TypeRef type_complex_component(const CallTyping& attribute) {
    const bool defined = attribute[0]->is(TypeKind::complex) && is_part(attribute, {"real", "imag"});
    return defined ? attribute.types().component(attribute[0]) : nullptr;
}

TypeRef type_number_component(const CallTyping& attribute) {
    return is_plain_number(attribute[0]) ? attribute.types().without_literal(attribute[0]) : nullptr;
}

Emitted emit_real(CallEmission& attribute) {
    return attribute.emitter.convert(attribute[0], attribute.resolution.result);
}

Emitted emit_imaginary(CallEmission& attribute) {
    FunctionEmitter& e = attribute.emitter;
    const TypeRef result = attribute.resolution.result;
    return e.number(llvm::Constant::getNullValue(e.module.value_type(result)), result);
}

TypeRef type_member_of_module(const CallTyping& attribute) {
    const TypeRef object = attribute[0];
    if (!object->is(TypeKind::object) || object->global->kind != GlobalKind::module) return nullptr;
    attribute.resolution.global = &attribute.program.member(object->global->text, name_of(attribute));
    return attribute.program.type_of(*attribute.resolution.global, attribute.call.location);
}

Emitted emit_member_of_module(CallEmission& attribute) {
    return attribute.emitter.constant(*attribute.resolution.global, attribute.resolution.result);
}

constexpr Rule rows[] = {
    {"dim3.*", "object", type_axis, emit_axis},
    {"vector.*", "object", type_component, emit_part},
    {"array.shape", "object", type_extents, emit_shape},
    {"array.strides", "object", type_extents, emit_strides},
    {"array.size", "object", type_count, emit_size},
    {"array.itemsize", "object", type_count, emit_item_size},
    {"array.nbytes", "object", type_count, emit_bytes},
    {"array.ndim", "object", type_dimensions, emit_dimensions},
    {"array.real", "object", type_components, emit_same},
    {"array.imag", "object", type_components, emit_imaginary_components},
    {"array.real", "object", type_real_array, emit_same},
    {"array.flat", "object", type_flat, emit_same},
    {"array.dtype", "object", type_data_type, emit_known},
    {"array.T", "object", type_transposed, emit_transposed},
    {"array.ctypes", "object", type_ctypes, emit_same},
    {"ctypes.data", "object", type_address, emit_address},
    {"member.value", "object", type_member_value, emit_same, true},
    {"named tuple.*", "object", type_named_element, emit_named_element},
    {"record.*", "object", type_field, emit_field},
    {"method.*", "object", type_method, emit_same},
    {"class.type", "object", type_type, emit_same},
    {"module.*", "object", type_member_of_module, emit_member_of_module},
    {"limits.*", "object", type_limit, emit_limit},
    {"bound.*", "object", type_bound, emit_part},
    {"complex.*", "object", type_complex_component, emit_part},
    {"number.real", "object", type_number_component, emit_real},
    {"number.imag", "object", type_number_component, emit_imaginary},
};

}  // namespace

std::span<const Rule> attributes() {
    return rows;
}

const Rule& method_rule() {
    return *std::ranges::find(rows, "method.*", &Rule::name);
}

}  // namespace cudasim::pykernel

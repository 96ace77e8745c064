// See unwritten_value.h: the objects, and the states of memory that they come from and go to.
#include "frontend/pyfiber/unwritten_value.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_complex.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"

namespace cudasim::pyfiber {

PyTypeObject* unwritten_value_type = nullptr;

namespace {

struct UnwrittenValue {
    PyObject_HEAD PyObject* plain;
    Element type;
    BitStates states;
    ValueOrigin origin;
    bool is_part;   ///< has some of its bits only: a masked, shifted or widened one
    bool was_told;  ///< its first use, where that is all
};

UnwrittenValue* as_unwritten(PyObject* object) {
    return reinterpret_cast<UnwrittenValue*>(object);
}

bool any(const BitStates& states) {
    return states != all_written;
}

PyObject* make(Element type, PyObject* plain, const BitStates& states, const ValueOrigin& origin,
               bool is_part) {
    if (plain == nullptr || !any(states)) return plain;
    PyObject* object = unwritten_value_type->tp_alloc(unwritten_value_type, 0);
    if (object == nullptr) {
        Py_DECREF(plain);
        return nullptr;
    }
    UnwrittenValue* made = as_unwritten(object);
    made->plain = plain;
    made->type = type;
    made->states = states;
    made->origin = origin;
    made->is_part = is_part;
    made->was_told = false;
    return object;
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    Py_DECREF(as_unwritten(self)->plain);
    type->tp_free(self);
    Py_DECREF(type);
}

// -- states ------------------------------------------------------------------------------------------------

std::uint64_t low_mask(Element type) {
    return width(type) >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * width(type)) - 1;
}

/// Those of a bool or an integer as one of 64 bits.
std::uint64_t extended(Element type, std::uint64_t states) {
    if (type == Element::boolean) return states & 1;
    return static_cast<std::uint64_t>(wrapped(type, static_cast<std::int64_t>(states)));
}

/// Those of such a value of 64 bits in a type.
BitStates cut(Element type, std::uint64_t states) {
    return {type == Element::boolean ? std::uint64_t{(states & 1) != 0} : states & low_mask(type), 0};
}

/// Compiled code extends such integers to 64 bits for each use, and tells of each, because it checks what it
/// has extended.
bool is_extended_by_uses(Element type) {
    return is_integer(type) && width(type) < 8;
}

bool widens(Element type) {
    return type == Element::boolean || (is_unsigned(type) && width(type) < 8);
}

}  // namespace

namespace {

std::uint32_t shuffle_line_of(PyObject* object) {
    return is_unwritten(object) ? as_unwritten(object)->origin.shuffle_line : 0;
}

}  // namespace

PyObject* plain_value(PyObject* object) {
    return is_unwritten(object) ? as_unwritten(object)->plain : object;
}

void tell_use(ValueUse use, const ValueOrigin& origin) {
    if (follows_values()) observed_thread->values->used(*observed_thread->handle, use, origin);
}

PyObject* told_value(PyObject* object, ValueUse use) {
    if (!is_unwritten(object)) return object;
    UnwrittenValue* value = as_unwritten(object);
    if (!value->was_told) tell_use(use, value->origin);
    value->was_told = !is_extended_by_uses(value->type);
    return value->plain;
}

ValueUse use_of_conversion(Element element) {
    return element == Element::boolean ? ValueUse::comparison : ValueUse::operand;
}

std::optional<BitStates> states_as(Element element, PyObject* object) {
    if (!is_unwritten(object)) return all_written;
    const UnwrittenValue* value = as_unwritten(object);
    const Element own = value->type;
    if (own == element) return value->states;
    const bool becomes_real_part = (own == Element::float32 && element == Element::complex64) ||
                                   (own == Element::float64 && element == Element::complex128);
    if (becomes_real_part) return value->states;
    if (!is_whole(own) || !is_whole(element)) return std::nullopt;
    if (element != Element::boolean) return cut(element, extended(own, value->states[0]));
    if (width(own) > 1) return std::nullopt;
    return BitStates{1, 0};
}

PyObject* converted_unwritten(Element element, PyObject* object) {
    const std::optional<BitStates> states = states_as(element, object);
    PyObject* plain = states ? plain_value(object) : told_value(object, use_of_conversion(element));
    if (element == Element::complex64 || element == Element::complex128) {
        const ComplexNumber number = read_complex(plain);
        Reference made(make_complex(element, number.real, number.imaginary));
        return states
                   ? with_states(element, made.release(), *states, {.shuffle_line = shuffle_line_of(object)})
                   : made.release();
    }
    const Number number = read_number(plain);
    if (number.type == Element::other) {
        PyErr_Format(PyExc_TypeError, "a number is needed, not %.100s", Py_TYPE(plain)->tp_name);
        return nullptr;
    }
    PyObject* made = make_number(element, number);
    if (!states || !is_unwritten(object)) return made;
    const UnwrittenValue* value = as_unwritten(object);
    return make(element, made, *states, value->origin, value->is_part || widens(value->type));
}

PyObject* with_states(Element element, PyObject* plain, const BitStates& states, const ValueOrigin& origin) {
    return make(element, plain, states, origin, false);
}

StoredValue stored_value(Element element, PyObject* object) {
    if (const auto states = states_as(element, object)) return {plain_value(object), *states};
    return {told_value(object, use_of_conversion(element)), all_written};
}

bool follows_values() {
    return observed_thread != nullptr && observed_thread->values != nullptr;
}

bool load_states(Address place, std::size_t bytes, std::byte* unwritten) {
    return follows_values() && observed_thread->values->load_states(place.number(), {unwritten, bytes});
}

void store_states(Address place, std::size_t bytes, const std::byte* unwritten) {
    if (follows_values()) observed_thread->values->store_states(place.number(), {unwritten, bytes});
}

void store_states(Element element, Address place, const BitStates& states) {
    if (!any(states)) return;
    const auto bytes = std::as_bytes(std::span(states));
    store_states(place, static_cast<std::size_t>(width(element)), bytes.data());
}

PyObject* loaded_value(Element element, Address place, std::size_t bytes, PyObject* plain) {
    BitStates states = all_written;
    if (plain == nullptr || bytes > sizeof states ||
        !load_states(place, bytes, std::as_writable_bytes(std::span(states)).data()))
        return plain;
    if (element == Element::boolean) states[0] = 1;
    return make(element, plain, states, {place.number(), bytes}, false);
}

namespace {

// -- operations -------------------------------------------------------------------------------------------

template <PyObject* (*operation)(PyObject*, PyObject*)>
PyObject* binary(PyObject* left, PyObject* right) {
    PyObject* first = told_value(left, ValueUse::operand);
    return operation(first, told_value(right, ValueUse::operand));
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
    PyObject* base = told_value(left, ValueUse::operand);
    return PyNumber_Power(base, told_value(right, ValueUse::operand), told_value(modulus, ValueUse::operand));
}

template <PyObject* (*operation)(PyObject*)>
PyObject* unary(PyObject* self) {
    return operation(told_value(self, ValueUse::operand));
}

/// A constant of the source: what a kernel computes has a type of its own.
bool is_constant(PyObject* object) {
    return PyLong_CheckExact(object);
}

/// Whether an operand of `|` has only some of the word's bits (value_states.cpp).
bool is_part(PyObject* object) {
    return is_unwritten(object) ? as_unwritten(object)->is_part || widens(as_unwritten(object)->type)
                                : widens(read_number(object).type);
}

/// The states of an operand that is a bool or an integer, as one of 64 bits.
std::optional<std::uint64_t> word_of(PyObject* object) {
    if (is_unwritten(object)) {
        const UnwrittenValue* value = as_unwritten(object);
        return is_whole(value->type) ? std::optional(extended(value->type, value->states[0])) : std::nullopt;
    }
    return is_whole(read_number(object).type) ? std::optional(std::uint64_t{0}) : std::nullopt;
}

/// @param result of plain values; stolen
PyObject* part_of_word(PyObject* result, std::uint64_t states, const ValueOrigin& origin, bool part) {
    if (result == nullptr || result == Py_NotImplemented) return result;
    const Element type = read_number(result).type;
    return make(type, result, cut(type, states), origin, part);
}

PyObject* bit_and(PyObject* left, PyObject* right) {
    PyObject* value = is_constant(right) ? left : right;
    PyObject* constant = value == left ? right : left;
    const auto states = is_constant(constant) ? word_of(value) : std::nullopt;
    if (!states) return binary<&PyNumber_And>(left, right);
    PyObject* result = PyNumber_And(plain_value(left), plain_value(right));
    const auto mask = static_cast<std::uint64_t>(low_bits(constant));
    return part_of_word(result, *states & mask, as_unwritten(value)->origin, true);
}

PyObject* bit_or(PyObject* left, PyObject* right) {
    const bool carries = is_constant(left) || is_constant(right) || is_part(left) || is_part(right);
    const auto first = word_of(left), second = word_of(right);
    if (!carries || !first || !second) return binary<&PyNumber_Or>(left, right);
    PyObject* result = PyNumber_Or(plain_value(left), plain_value(right));
    const std::uint32_t line = shuffle_line_of(is_unwritten(left) ? left : right);
    const bool is_shuffled = !is_unwritten(left) || !is_unwritten(right) || shuffle_line_of(right) != 0;
    return part_of_word(result, *first | *second, {.shuffle_line = is_shuffled ? line : 0},
                        is_part(left) && is_part(right));
}

template <bool left_shift>
PyObject* shift(PyObject* left, PyObject* right) {
    constexpr auto operation = left_shift ? &PyNumber_Lshift : &PyNumber_Rshift;
    const std::int64_t amount = is_constant(right) ? low_bits(right) : -1;
    const auto states = amount >= 0 && amount < 64 ? word_of(left) : std::nullopt;
    if (!states) return binary<operation>(left, right);
    PyObject* result = operation(plain_value(left), right);
    if (result == nullptr) return nullptr;
    std::uint64_t moved = *states << amount;
    if (!left_shift)
        moved = read_number(result).type == Element::uint64
                    ? *states >> amount
                    : static_cast<std::uint64_t>(static_cast<std::int64_t>(*states) >> amount);
    return part_of_word(result, moved, as_unwritten(left)->origin, true);
}

/// +x: of an integer a wider one.
PyObject* positive(PyObject* self) {
    Reference result(PyNumber_Positive(plain_value(self)));
    const Element type = result ? read_number(result.get()).type : Element::other;
    if (!result || type == Element::other) return result.release();
    return converted_unwritten(type, self);
}

PyObject* compare(PyObject* left, PyObject* right, int operation) {
    PyObject* first = told_value(left, ValueUse::comparison);
    return PyObject_RichCompare(first, told_value(right, ValueUse::comparison), operation);
}

int truth(PyObject* self) {
    const bool is_bool = as_unwritten(self)->type == Element::boolean;
    return PyObject_IsTrue(told_value(self, is_bool ? ValueUse::branch : ValueUse::comparison));
}

PyObject* index(PyObject* self) {
    return PyNumber_Index(told_value(self, ValueUse::address));
}
Py_hash_t hash(PyObject* self) {
    return PyObject_Hash(told_value(self, ValueUse::operand));
}
PyObject* text(PyObject* self) {
    return PyObject_Str(told_value(self, ValueUse::printing));
}
PyObject* representation(PyObject* self) {
    return PyObject_Repr(told_value(self, ValueUse::printing));
}
PyObject* format(PyObject* self, PyObject* specification) {
    return PyObject_Format(told_value(self, ValueUse::printing), specification);
}

// -- what numbers can be asked ----------------------------------------------------------------------------

PyObject* itself(PyObject* self, PyObject*) {
    return Py_NewRef(self);
}

PyObject* conjugate(PyObject* self, PyObject*) {
    if (!is_complex(plain_value(self))) return Py_NewRef(self);
    return PyObject_CallMethod(told_value(self, ValueUse::operand), "conjugate", nullptr);
}

/// The same bits as another type of the same width.
PyObject* view(PyObject* self, PyObject* dtype) {
    const UnwrittenValue* value = as_unwritten(self);
    PyObject* result = PyObject_CallMethod(value->plain, "view", "O", dtype);
    const Element type = result == nullptr ? Element::other : read_number(result).type;
    if (type == Element::other || width(type) != width(value->type)) return result;
    return make(type, result, value->states, value->origin, value->is_part);
}

template <bool imaginary>
PyObject* component(PyObject* self, void*) {
    const UnwrittenValue* value = as_unwritten(self);
    if (!is_complex(value->plain) && !imaginary) return Py_NewRef(self);
    PyObject* part = PyObject_GetAttrString(value->plain, imaginary ? "imag" : "real");
    if (part == nullptr || !is_complex(value->plain)) return part;
    if (value->type == Element::complex128)
        return make(Element::float64, part, {value->states[imaginary], 0}, value->origin, false);
    const std::uint64_t states = value->states[0] >> (imaginary ? 32 : 0) & 0xFFFFFFFF;
    return make(Element::float32, part, {states, 0}, value->origin, false);
}

PyObject* dtype(PyObject* self, void*) {
    PyObject* plain = plain_value(self);
    if (!PyBool_Check(plain)) return PyObject_GetAttrString(plain, "dtype");
    Reference numpy(PyImport_ImportModule("numpy"));
    return numpy ? PyObject_CallMethod(numpy.get(), "dtype", "s", "bool") : nullptr;
}

PyObject* class_of(PyObject* self, void*) {
    return Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(plain_value(self))));
}

/// Anything else that the plain value has is a use of it.
PyObject* attribute(PyObject* self, PyObject* name) {
    PyObject* own = PyObject_GenericGetAttr(self, name);
    if (own != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
    PyErr_Clear();
    PyObject* found = PyObject_GetAttr(plain_value(self), name);
    const char* characters = PyUnicode_AsUTF8(name);
    if (found != nullptr && characters != nullptr && !std::string_view(characters).starts_with("__"))
        (void)told_value(self, ValueUse::operand);
    return found;
}

/// NumPy's protocol for ufuncs on foreign objects: (ufunc, method, *inputs, **keywords).
PyObject* array_ufunc(PyObject*, PyObject* arguments, PyObject* keywords) {
    const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
    if (count < 2) Py_RETURN_NOTIMPLEMENTED;
    Reference method(PyObject_GetAttr(PyTuple_GET_ITEM(arguments, 0), PyTuple_GET_ITEM(arguments, 1)));
    Reference inputs(PyTuple_New(count - 2));
    if (!method || !inputs) return nullptr;
    for (Py_ssize_t i = 2; i < count; ++i)
        PyTuple_SET_ITEM(inputs.get(), i - 2,
                         Py_NewRef(told_value(PyTuple_GET_ITEM(arguments, i), ValueUse::operand)));
    return PyObject_Call(method.get(), inputs.get(), keywords);
}

PyObject* as_numpy(PyObject* self, PyObject*, PyObject*) {
    Reference numpy(PyImport_ImportModule("numpy"));
    if (!numpy) return nullptr;
    return PyObject_CallMethod(numpy.get(), "asarray", "O", told_value(self, ValueUse::operand));
}

PyMethodDef methods[] = {
    {"item", &itself, METH_NOARGS, "The value."},
    {"view", &view, METH_O, "The same bits as another type."},
    {"conjugate", &conjugate, METH_NOARGS, "With the other imaginary part."},
    {"__format__", &format, METH_O, nullptr},
    {"__array__", with_keywords(&as_numpy), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__array_ufunc__", with_keywords(&array_ufunc), METH_VARARGS | METH_KEYWORDS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef members[] = {
    {"real", &component<false>, nullptr, "The real part.", nullptr},
    {"imag", &component<true>, nullptr, "The imaginary part.", nullptr},
    {"dtype", &dtype, nullptr, "The value's type.", nullptr},
    {"__class__", &class_of, nullptr, "The class of the value that this stands for.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <typename Function>
void* slot(Function* function) {
    return reinterpret_cast<void*>(function);
}

}  // namespace

bool initialise_unwritten_values(PyObject* module) {
    PyType_Slot slots[] = {
        {Py_tp_doc, const_cast<char*>("A value with bits that nobody has written, in Python mode.")},
        {Py_tp_dealloc, slot(&deallocate)},
        {Py_tp_richcompare, slot(&compare)},
        {Py_tp_hash, slot(&hash)},
        {Py_tp_str, slot(&text)},
        {Py_tp_repr, slot(&representation)},
        {Py_tp_getattro, slot(&attribute)},
        {Py_tp_methods, methods},
        {Py_tp_getset, members},
        {Py_nb_add, slot(&binary<&PyNumber_Add>)},
        {Py_nb_subtract, slot(&binary<&PyNumber_Subtract>)},
        {Py_nb_multiply, slot(&binary<&PyNumber_Multiply>)},
        {Py_nb_true_divide, slot(&binary<&PyNumber_TrueDivide>)},
        {Py_nb_floor_divide, slot(&binary<&PyNumber_FloorDivide>)},
        {Py_nb_remainder, slot(&binary<&PyNumber_Remainder>)},
        {Py_nb_divmod, slot(&binary<&PyNumber_Divmod>)},
        {Py_nb_power, slot(&power)},
        {Py_nb_lshift, slot(&shift<true>)},
        {Py_nb_rshift, slot(&shift<false>)},
        {Py_nb_and, slot(&bit_and)},
        {Py_nb_or, slot(&bit_or)},
        {Py_nb_xor, slot(&binary<&PyNumber_Xor>)},
        {Py_nb_matrix_multiply, slot(&binary<&PyNumber_MatrixMultiply>)},
        {Py_nb_negative, slot(&unary<&PyNumber_Negative>)},
        {Py_nb_positive, slot(&positive)},
        {Py_nb_absolute, slot(&unary<&PyNumber_Absolute>)},
        {Py_nb_invert, slot(&unary<&PyNumber_Invert>)},
        {Py_nb_bool, slot(&truth)},
        {Py_nb_int, slot(&unary<&PyNumber_Long>)},
        {Py_nb_float, slot(&unary<&PyNumber_Float>)},
        {Py_nb_index, slot(&index)},
        {0, nullptr}};
    PyType_Spec specification = {"cudasim.UnwrittenValue", sizeof(UnwrittenValue), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    unwritten_value_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&specification));
    return unwritten_value_type != nullptr && PyModule_AddType(module, unwritten_value_type) == 0;
}

}  // namespace cudasim::pyfiber

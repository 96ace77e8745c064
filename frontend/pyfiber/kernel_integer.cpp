// int8 to uint64 as kernels have them: subclasses of int whose arithmetic has the compiler's types, wraps,
// and divides as PTX does. They print, index, compare and hash as ints.
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <vector>

#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_half.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "frontend/pyfiber/unwritten_value.h"
#include "simulator/libdevice/half_functions.h"

namespace cudasim::pyfiber {
namespace {

constexpr const char* type_names[] = {"cudasim.int8",  "cudasim.int16",  "cudasim.int32",  "cudasim.int64",
                                      "cudasim.uint8", "cudasim.uint16", "cudasim.uint32", "cudasim.uint64"};
constexpr int first_integer = static_cast<int>(Element::int8), integer_count = 8;
PyTypeObject* integer_types[integer_count] = {};
PyTypeObject* numpy_types[integer_count + 1] = {};  ///< of the same order; then bool_
std::vector<PyObject*> spare_integers;
constexpr std::size_t most_spare = 512;

/// Element::other when it is none of ours.
Element element_of(PyTypeObject* type) {
    if (type == integer_types[3]) [[likely]]
        return Element::int64;
    for (int i = 0; i < integer_count; ++i)
        if (type == integer_types[i]) return static_cast<Element>(first_integer + i);
    return Element::other;
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    if (spare_integers.size() < most_spare && element_of(type) != Element::other)
        spare_integers.push_back(self);
    else
        type->tp_free(self);
    Py_DECREF(type);
}

PyObject* by_zero() {
    PyErr_SetString(PyExc_ZeroDivisionError, "integer division or modulo by zero");
    return nullptr;
}

std::int64_t floor_quotient(std::int64_t left, std::int64_t right, bool rest) {
    if (right == -1) return rest ? 0 : static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(left));
    const std::int64_t quotient = left / right, remainder = left % right;
    const bool fix = remainder != 0 && (remainder ^ right) < 0;
    return rest ? remainder + (fix ? right : 0) : quotient - (fix ? 1 : 0);
}

PyObject* divide(Operation operation, const Number& a, const Number& b) {
    const Element type = floored_type(a.type, b.type);
    if (b.whole == 0) return by_zero();
    const bool rest = operation == Operation::remainder;
    if (type == Element::int64) return make_integer(type, floor_quotient(a.whole, b.whole, rest));
    const auto left = static_cast<std::uint64_t>(a.whole), right = static_cast<std::uint64_t>(b.whole);
    return make_integer(type, static_cast<std::int64_t>(rest ? left % right : left / right));
}

PyObject* shift(bool left_shift, const Number& a, const Number& b) {
    const Element type = shift_type(a.type, b.type);
    const auto amount = static_cast<std::uint64_t>(b.whole);
    const auto bits = static_cast<std::uint64_t>(a.whole);
    if (left_shift) return make_integer(type, amount < 64 ? static_cast<std::int64_t>(bits << amount) : 0);
    if (type == Element::uint64)
        return make_integer(type, amount < 64 ? static_cast<std::int64_t>(bits >> amount) : 0);
    return make_integer(type, a.whole >> (amount < 64 ? amount : 63));
}

PyObject* whole_power(const Number& a, const Number& b) {
    const Element type = power_type(a.type, b.type);
    auto base = static_cast<std::uint64_t>(a.whole), exponent = static_cast<std::uint64_t>(b.whole);
    if (!is_unsigned(b.type) && b.whole < 0) {
        if (a.whole == 0) return by_zero();
        base = a.whole == 1 ? 1 : a.whole == -1 ? ~std::uint64_t{0} : 0;
        exponent = 0 - exponent;
    }
    std::uint64_t product = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
        if (exponent & 1) product *= base;
    return make_integer(type, static_cast<std::int64_t>(product));
}

PyObject* whole_operation(Operation operation, const Number& a, const Number& b) {
    const auto left = static_cast<std::uint64_t>(a.whole), right = static_cast<std::uint64_t>(b.whole);
    auto result = [&](std::uint64_t bits) {
        return make_integer(arithmetic_type(a.type, b.type), static_cast<std::int64_t>(bits));
    };
    switch (operation) {
        case Operation::add:
            return result(left + right);
        case Operation::subtract:
            return result(left - right);
        case Operation::multiply:
            return result(left * right);
        case Operation::bit_and:
            return result(left & right);
        case Operation::bit_or:
            return result(left | right);
        case Operation::bit_xor:
            return result(left ^ right);
        case Operation::left_shift:
        case Operation::right_shift:
            return shift(operation == Operation::left_shift, a, b);
        case Operation::power:
            return whole_power(a, b);
        case Operation::floor_divide:
        case Operation::remainder:
            return divide(operation, a, b);
        case Operation::true_divide:
            break;
    }
    const double divisor = b.as_double();
    if (divisor == 0 && !note_float_division()) return nullptr;
    return make_float64(a.as_double() / divisor);
}

template <Operation operation>
PyObject* binary(PyObject* left, PyObject* right) {
    if constexpr (operation == Operation::bit_or)
        if (is_unwritten(right)) Py_RETURN_NOTIMPLEMENTED;  // unwritten_value.cpp knows parts of words
    const Number a = read_number(left), b = read_number(right);
    if (a.type == Element::other || b.type == Element::other) Py_RETURN_NOTIMPLEMENTED;
    if (is_float(a.type) || is_float(b.type)) return float_operation(operation, left, a, right, b);
    return whole_operation(operation, a, b);
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
    if (modulus != Py_None) return PyLong_Type.tp_as_number->nb_power(left, right, modulus);
    return binary<Operation::power>(left, right);
}

/// int64 for signed and uint64 for unsigned operands; one uint64 with a signed operand: float64.
PyObject* divide_both(PyObject* left, PyObject* right) {
    Number a = read_number(left), b = read_number(right);
    if (a.type == Element::other || b.type == Element::other) Py_RETURN_NOTIMPLEMENTED;
    const bool mixed = is_whole(a.type) && is_whole(b.type) && is_unsigned(a.type) != is_unsigned(b.type) &&
                       (a.type == Element::uint64 || b.type == Element::uint64);
    Reference x = Reference::borrowed(left);
    if (mixed) {
        x = Reference(make_float64(a.as_double()));
        if (!x) return nullptr;
    }
    Reference quotient(PyNumber_FloorDivide(x.get(), right));
    Reference rest(quotient ? PyNumber_Remainder(x.get(), right) : nullptr);
    return rest ? PyTuple_Pack(2, quotient.get(), rest.get()) : nullptr;
}

Element widest(Element type) {
    return is_unsigned(type) ? Element::uint64 : Element::int64;
}

PyObject* negative(PyObject* self) {
    const Element type = element_of(Py_TYPE(self));
    const auto bits = static_cast<std::uint64_t>(low_bits(self));
    return make_integer(widest(type), wrapped(type, static_cast<std::int64_t>(0 - bits)));
}
PyObject* positive(PyObject* self) {
    return make_integer(widest(element_of(Py_TYPE(self))), low_bits(self));
}
PyObject* inverted(PyObject* self) {
    const Element type = element_of(Py_TYPE(self));
    return make_integer(widest(type), wrapped(type, ~low_bits(self)));
}
PyObject* absolute(PyObject* self) {
    const Element type = element_of(Py_TYPE(self));
    const std::int64_t value = low_bits(self);
    if (is_unsigned(type) || value >= 0) return Py_NewRef(self);
    return make_integer(type,
                        wrapped(type, static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(value))));
}

PyObject* compare(PyObject* left, PyObject* right, int operation) {
    right = told_value(right, ValueUse::comparison);
    const Number a = read_number(left), b = read_number(right);
    if (a.type == Element::other || b.type == Element::other)
        return PyLong_Type.tp_richcompare(left, right, operation);
    const Element type = comparison_type(a.type, b.type);
    if (is_float(type)) {
        const double x = a.as_double(), y = b.as_double();
        Py_RETURN_RICHCOMPARE(x, y, operation);
    }
    if (type == Element::uint64) {
        const auto x = static_cast<std::uint64_t>(a.whole), y = static_cast<std::uint64_t>(b.whole);
        Py_RETURN_RICHCOMPARE(x, y, operation);
    }
    Py_RETURN_RICHCOMPARE(a.whole, b.whole, operation);
}

int truth(PyObject* self) {
    return cpython::sign(self) != 0;
}

PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
    const Element element = element_of(type);
    PyObject* value = nullptr;
    if (keywords == nullptr && PyTuple_GET_SIZE(arguments) == 1) value = PyTuple_GET_ITEM(arguments, 0);
    if (value != nullptr && is_unwritten(value)) return converted_unwritten(element, value);
    Number number{Element::int64};
    if (value != nullptr) number = read_number(value);
    if (PyTuple_GET_SIZE(arguments) != 0 && number.type == Element::other) {
        Reference plain(PyObject_Call(reinterpret_cast<PyObject*>(&PyLong_Type), arguments, keywords));
        return plain ? make_integer(element, low_bits(plain.get())) : nullptr;
    }
    return make_number(element, number);
}

// -- what Numba's integers can be asked
// -----------------------------------------------------------------------

PyObject* itself(PyObject* self, PyObject*) {
    return Py_NewRef(self);
}
/// The same bits as another type of the same width: NumPy's view.
PyObject* view(PyObject* self, PyObject* dtype) {
    PyTypeObject* type = numpy_types[static_cast<int>(element_of(Py_TYPE(self))) - first_integer];
    Reference scalar(PyObject_CallOneArg(reinterpret_cast<PyObject*>(type), self));
    Reference seen(scalar ? PyObject_CallMethod(scalar.get(), "view", "O", dtype) : nullptr);
    if (!seen) return nullptr;
    const Number number = read_number(seen.get());
    return number.type == Element::other ? seen.release() : make_number(number.type, number);
}
PyMethodDef methods[] = {{"item", &itself, METH_NOARGS, "The number."},
                         {"view", &view, METH_O, "The same bits as another type."},
                         {"conjugate", &itself, METH_NOARGS, "The number."},
                         {nullptr, nullptr, 0, nullptr}};

PyTypeObject* make_type(int index) {
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
        {Py_tp_new, reinterpret_cast<void*>(&create)},
        {Py_tp_richcompare, reinterpret_cast<void*>(&compare)},
        {Py_tp_hash, reinterpret_cast<void*>(PyLong_Type.tp_hash)},
        {Py_tp_methods, methods},
        {Py_nb_add, reinterpret_cast<void*>(&binary<Operation::add>)},
        {Py_nb_subtract, reinterpret_cast<void*>(&binary<Operation::subtract>)},
        {Py_nb_multiply, reinterpret_cast<void*>(&binary<Operation::multiply>)},
        {Py_nb_true_divide, reinterpret_cast<void*>(&binary<Operation::true_divide>)},
        {Py_nb_floor_divide, reinterpret_cast<void*>(&binary<Operation::floor_divide>)},
        {Py_nb_remainder, reinterpret_cast<void*>(&binary<Operation::remainder>)},
        {Py_nb_divmod, reinterpret_cast<void*>(&divide_both)},
        {Py_nb_power, reinterpret_cast<void*>(&power)},
        {Py_nb_lshift, reinterpret_cast<void*>(&binary<Operation::left_shift>)},
        {Py_nb_rshift, reinterpret_cast<void*>(&binary<Operation::right_shift>)},
        {Py_nb_and, reinterpret_cast<void*>(&binary<Operation::bit_and>)},
        {Py_nb_or, reinterpret_cast<void*>(&binary<Operation::bit_or>)},
        {Py_nb_xor, reinterpret_cast<void*>(&binary<Operation::bit_xor>)},
        {Py_nb_negative, reinterpret_cast<void*>(&negative)},
        {Py_nb_positive, reinterpret_cast<void*>(&positive)},
        {Py_nb_invert, reinterpret_cast<void*>(&inverted)},
        {Py_nb_absolute, reinterpret_cast<void*>(&absolute)},
        {Py_nb_bool, reinterpret_cast<void*>(&truth)},
        {0, nullptr}};
    PyType_Spec specification = {type_names[index], 0, 0, Py_TPFLAGS_DEFAULT, slots};
    Reference bases(PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyLong_Type)));
    return bases ? reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&specification, bases.get()))
                 : nullptr;
}

/// NumPy's scalars of ints, which its functions give.
Number read_numpy(PyObject* object) {
    if (is_unwritten(object)) return read_number(told_value(object, ValueUse::operand));
    PyTypeObject* type = Py_TYPE(object);
    Number number;
    for (int i = 0; i <= integer_count; ++i) {
        if (type != numpy_types[i]) continue;
        Reference whole(i == integer_count ? PyLong_FromLong(PyObject_IsTrue(object))
                                           : PyNumber_Index(object));
        if (!whole) break;
        number.type = i == integer_count ? Element::boolean : static_cast<Element>(first_integer + i);
        number.whole = low_bits(whole.get());
        return number;
    }
    PyErr_Clear();
    if (is_float16(object)) return {Element::float16, 0, value_of_float16(object)};
    if (is_bfloat16(object)) return {Element::bfloat16, 0, value_of_bfloat16(object)};
    double real = 0;
    const NumberKind kind = number_of(object, real);
    if (kind == NumberKind::float32 || kind == NumberKind::float64)
        return {kind == NumberKind::float32 ? Element::float32 : Element::float64, 0, real};
    return number;
}

}  // namespace

double double_for_rounding(const Number& value) {
    if (is_float(value.type)) return value.real;
    return value.type == Element::uint64 ? libdevice::sticky_double(static_cast<std::uint64_t>(value.whole))
                                         : libdevice::sticky_double(value.whole);
}

Number read_number(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (type == &PyLong_Type) {
        int overflow = 0;
        const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow == 0) return {Element::int64, value};
        const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
        if (overflow > 0 && PyErr_Occurred() == nullptr)
            return {Element::uint64, static_cast<std::int64_t>(large)};
        PyErr_Clear();
        return {};
    }
    if (PyLong_Check(object)) {
        if (type == &PyBool_Type) return {Element::boolean, object == Py_True};
        const Element element = element_of(type);
        return {element == Element::other ? Element::int64 : element, low_bits(object)};
    }
    double real = 0;
    if (type == &PyFloat_Type) return {Element::float64, 0, PyFloat_AS_DOUBLE(object)};
    if (PyFloat_Check(object)) {
        (void)number_of(object, real);
        return {Element::float64, 0, real};
    }
    return read_numpy(object);
}

std::int64_t wrapped(Element type, std::int64_t bits) {
    switch (type) {
        case Element::boolean:
            return bits != 0;
        case Element::int8:
            return static_cast<std::int8_t>(bits);
        case Element::int16:
            return static_cast<std::int16_t>(bits);
        case Element::int32:
            return static_cast<std::int32_t>(bits);
        case Element::uint8:
            return static_cast<std::uint8_t>(bits);
        case Element::uint16:
            return static_cast<std::uint16_t>(bits);
        case Element::uint32:
            return static_cast<std::uint32_t>(bits);
        default:
            return bits;
    }
}

PyObject* make_integer(Element type, std::int64_t bits) {
    PyTypeObject* made_type = integer_types[static_cast<int>(type) - first_integer];
    PyObject* object = nullptr;
    if (!spare_integers.empty()) {
        object = spare_integers.back();
        spare_integers.pop_back();
        PyObject_Init(object, made_type);
    } else {
        object = made_type->tp_alloc(made_type, cpython::most_digits);
        if (object == nullptr) return nullptr;
    }
    const bool is_negative = bits < 0 && type != Element::uint64;
    auto rest = static_cast<std::uint64_t>(bits);
    if (is_negative) rest = 0 - rest;
    cpython::set_value(object, is_negative, rest);
    return object;
}

PyObject* make_number(Element type, const Number& value) {
    if (type == Element::float32) {
        if (is_float(value.type)) return make_float32(static_cast<float>(value.real));
        return make_float32(value.type == Element::uint64
                                ? static_cast<float>(static_cast<std::uint64_t>(value.whole))
                                : static_cast<float>(value.whole));
    }
    if (type == Element::float16) return make_float16(value.as_double());
    if (type == Element::bfloat16) return make_bfloat16(double_for_rounding(value));
    if (type == Element::float64) return make_float64(value.as_double());
    if (type == Element::boolean)
        return PyBool_FromLong(is_float(value.type) ? value.real != 0 : value.whole != 0);
    if (is_float(value.type))
        return make_integer(type, saturated(type, value.real, value.type != Element::float64));
    return make_integer(type, wrapped(type, value.whole));
}

PyTypeObject* integer_type(Element type) {
    return integer_types[static_cast<int>(type) - first_integer];
}

bool initialise_kernel_integers(PyObject* module) {
    Reference numpy(PyImport_ImportModule("numpy"));
    for (int i = 0; numpy && i <= integer_count; ++i) {
        const char* name = i == integer_count ? "bool_" : type_names[i] + sizeof "cudasim." - 1;
        numpy_types[i] = reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(numpy.get(), name));
        if (numpy_types[i] == nullptr) return false;
        if (i == integer_count) break;
        integer_types[i] = make_type(i);
        // numpy.dtype() asks a type for this.
        Reference dtype(PyObject_CallMethod(numpy.get(), "dtype", "s", name));
        if (integer_types[i] == nullptr || !dtype || PyModule_AddType(module, integer_types[i]) != 0)
            return false;
        if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(integer_types[i]), "dtype", dtype.get()) != 0)
            return false;
    }
    return static_cast<bool>(numpy);
}

}  // namespace cudasim::pyfiber

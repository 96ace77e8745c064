// The two types, one template: what differs is the format.
#include "frontend/pyfiber/kernel_half.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "frontend/pyfiber/kernel_complex.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "frontend/pyfiber/unwritten_value.h"
#include "simulator/libdevice/half_functions.h"

namespace cudasim::pyfiber {
namespace {

/// NumPy's scalar object (numpy/arrayscalars.h: PyHalfScalarObject); bfloat16's looks like it.
struct Half {
    PyObject_HEAD std::uint16_t bits;
};

PyTypeObject *half_type = nullptr, *numpy_half = nullptr, *bfloat_type = nullptr;

PyObject* make(PyTypeObject* type, std::uint16_t bits) {
    auto* object = reinterpret_cast<Half*>(type->tp_alloc(type, 0));
    if (object != nullptr) object->bits = bits;
    return reinterpret_cast<PyObject*>(object);
}

template <Element element>
double value_of(PyObject* object) {
    const std::uint16_t bits = short_float_bits(object);
    return element == Element::float16 ? from_half_bits(bits) : from_bfloat_bits(bits);
}

template <Operation operation>
PyObject* binary(PyObject* left, PyObject* right) {
    const Number a = read_number(left), b = read_number(right);
    if (is_complex(left) || is_complex(right) || a.type == Element::other || b.type == Element::other)
        Py_RETURN_NOTIMPLEMENTED;
    return float_operation(operation, left, a, right, b);
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary<Operation::power>(left, right);
}

PyObject* compare(PyObject* left, PyObject* right, int operation) {
    right = told_value(right, ValueUse::comparison);
    const Number a = read_number(left), b = read_number(right);
    if (a.type == Element::other || b.type == Element::other) Py_RETURN_NOTIMPLEMENTED;
    const double x = a.as_double(), y = b.as_double();
    Py_RETURN_RICHCOMPARE(x, y, operation);
}

template <Element element>
PyObject* negative(PyObject* self) {
    return make_short_float(element, short_float_bits(self) ^ 0x8000);
}
PyObject* positive(PyObject* self) {
    return Py_NewRef(self);
}
/// abs(). That of a bfloat16 is a float32, as in Numba.
template <Element element>
PyObject* absolute(PyObject* self) {
    const double size = std::fabs(value_of<element>(self));
    return element == Element::float16 ? make_float16(size) : make_float32(static_cast<float>(size));
}
template <Element element>
PyObject* to_int(PyObject* self) {
    return PyLong_FromLongLong(to_int64(value_of<element>(self)));
}
template <Element element>
PyObject* to_float(PyObject* self) {
    return PyFloat_FromDouble(value_of<element>(self));
}
template <Element element>
int truth(PyObject* self) {
    return value_of<element>(self) != 0;
}
template <Element element>
Py_hash_t hash(PyObject* self) {
    return _Py_HashDouble(self, value_of<element>(self));
}
/// repr() of a bfloat16. A float16 inherits that of numpy.float16.
PyObject* text(PyObject* self) {
    Reference value(to_float<Element::bfloat16>(self));
    return value ? PyObject_Repr(value.get()) : nullptr;
}

template <Element element>
PyObject* create(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
    const bool one = PyTuple_GET_SIZE(arguments) == 1 && keywords == nullptr;
    if (one && is_unwritten(PyTuple_GET_ITEM(arguments, 0)))
        return converted_unwritten(element, PyTuple_GET_ITEM(arguments, 0));
    const Number number = one ? read_number(PyTuple_GET_ITEM(arguments, 0)) : Number{};
    if (number.type != Element::other) return make_number(element, number);
    PyErr_Format(PyExc_TypeError, "%s() converts one number",
                 element == Element::float16 ? "float16" : "bfloat16");
    return nullptr;
}

void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

}  // namespace

std::uint16_t to_half_bits(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
    const double size = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00;  // halfway between the largest, 65504, and 2**16
    const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
    const double steps = std::nearbyint(std::ldexp(size, 10 - exponent));  // 1024 to 2048; below: subnormal
    const auto whole = static_cast<std::uint32_t>(steps);
    return static_cast<std::uint16_t>(sign + static_cast<std::uint32_t>(exponent + 14) * 1024 + whole);
}

double from_half_bits(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) size = fraction == 0 ? HUGE_VAL : NAN;
    return bits & 0x8000 ? -size : size;
}

std::uint16_t to_bfloat_bits(double value) {
    if (std::isnan(value)) return 0x7fff;
    const auto rounded =
        static_cast<float>(libdevice::rounded_to(libdevice::bfloat_format, value, libdevice::nearest));
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(rounded) >> 16);
}

double from_bfloat_bits(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

namespace {

template <Element element>
PyTypeObject* make_type(const char* name, PyObject* base) {
    static std::vector<PyType_Slot> slots = {
        {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
        {Py_tp_new, reinterpret_cast<void*>(&create<element>)},
        {Py_tp_hash, reinterpret_cast<void*>(&hash<element>)},
        {Py_tp_richcompare, reinterpret_cast<void*>(&compare)},
        {Py_nb_add, reinterpret_cast<void*>(&binary<Operation::add>)},
        {Py_nb_subtract, reinterpret_cast<void*>(&binary<Operation::subtract>)},
        {Py_nb_multiply, reinterpret_cast<void*>(&binary<Operation::multiply>)},
        {Py_nb_true_divide, reinterpret_cast<void*>(&binary<Operation::true_divide>)},
        {Py_nb_floor_divide, reinterpret_cast<void*>(&binary<Operation::floor_divide>)},
        {Py_nb_remainder, reinterpret_cast<void*>(&binary<Operation::remainder>)},
        {Py_nb_power, reinterpret_cast<void*>(&power)},
        {Py_nb_negative, reinterpret_cast<void*>(&negative<element>)},
        {Py_nb_positive, reinterpret_cast<void*>(&positive)},
        {Py_nb_absolute, reinterpret_cast<void*>(&absolute<element>)},
        {Py_nb_int, reinterpret_cast<void*>(&to_int<element>)},
        {Py_nb_float, reinterpret_cast<void*>(&to_float<element>)},
        {Py_nb_bool, reinterpret_cast<void*>(&truth<element>)}};
    if (element == Element::bfloat16) slots.push_back({Py_tp_repr, reinterpret_cast<void*>(&text)});
    slots.push_back({0, nullptr});
    PyType_Spec specification = {name, sizeof(Half), 0, Py_TPFLAGS_DEFAULT, slots.data()};
    Reference bases(base == nullptr ? PyTuple_New(0) : PyTuple_Pack(1, base));
    PyObject* parents = base == nullptr ? nullptr : bases.get();
    return bases ? reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&specification, parents))
                 : nullptr;
}

}  // namespace

bool initialise_kernel_halves(PyObject* module, PyObject* numpy_float16) {
    numpy_half = reinterpret_cast<PyTypeObject*>(numpy_float16);
    half_type = make_type<Element::float16>("cudasim.float16", numpy_float16);
    bfloat_type = make_type<Element::bfloat16>("cudasim.bfloat16", nullptr);
    return half_type != nullptr && bfloat_type != nullptr && PyModule_AddType(module, half_type) == 0 &&
           PyModule_AddType(module, bfloat_type) == 0;
}

PyObject* make_float16(double value) {
    return make(half_type, to_half_bits(value));
}

PyObject* make_bfloat16(double value) {
    return make(bfloat_type, to_bfloat_bits(value));
}

PyObject* make_short_float(Element element, std::uint16_t bits) {
    return make(element == Element::float16 ? half_type : bfloat_type, bits);
}

std::uint16_t short_float_bits(PyObject* object) {
    return reinterpret_cast<Half*>(object)->bits;
}

bool is_float16(PyObject* object) {
    return Py_TYPE(object) == half_type || Py_TYPE(object) == numpy_half;
}

bool is_bfloat16(PyObject* object) {
    return Py_TYPE(object) == bfloat_type;
}

double value_of_float16(PyObject* object) {
    return value_of<Element::float16>(object);
}

double value_of_bfloat16(PyObject* object) {
    return value_of<Element::bfloat16>(object);
}

}  // namespace cudasim::pyfiber

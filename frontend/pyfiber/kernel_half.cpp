// See kernel_half.h.
#include "frontend/pyfiber/kernel_half.h"

#include <cmath>
#include <cstring>

#include "frontend/pyfiber/kernel_complex.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"

namespace cudasim::pyfiber {
namespace {

/// NumPy's scalar object (numpy/arrayscalars.h: PyHalfScalarObject).
struct Half {
    PyObject_HEAD std::uint16_t bits;
};

PyTypeObject *half_type = nullptr, *numpy_half = nullptr;

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
    const Number a = read_number(left), b = read_number(right);
    if (a.type == Element::other || b.type == Element::other) Py_RETURN_NOTIMPLEMENTED;
    const double x = a.as_double(), y = b.as_double();
    Py_RETURN_RICHCOMPARE(x, y, operation);
}

PyObject* negative(PyObject* self) { return make_float16(-value_of_float16(self)); }
PyObject* positive(PyObject* self) { return Py_NewRef(self); }
PyObject* absolute(PyObject* self) { return make_float16(std::fabs(value_of_float16(self))); }
PyObject* to_int(PyObject* self) { return PyLong_FromLongLong(to_int64(value_of_float16(self))); }
PyObject* to_float(PyObject* self) { return PyFloat_FromDouble(value_of_float16(self)); }
int truth(PyObject* self) { return value_of_float16(self) != 0; }
Py_hash_t hash(PyObject* self) { return _Py_HashDouble(self, value_of_float16(self)); }

PyObject* create(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
    const bool one = PyTuple_GET_SIZE(arguments) == 1 && keywords == nullptr;
    const Number number = one ? read_number(PyTuple_GET_ITEM(arguments, 0)) : Number{};
    if (number.type != Element::other) return make_number(Element::float16, number);
    PyErr_SetString(PyExc_TypeError, "float16() converts one number");
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

bool initialise_kernel_halves(PyObject* module, PyObject* numpy_float16) {
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate)},
        {Py_tp_new, reinterpret_cast<void*>(&create)},
        {Py_tp_hash, reinterpret_cast<void*>(&hash)},
        {Py_tp_richcompare, reinterpret_cast<void*>(&compare)},
        {Py_nb_add, reinterpret_cast<void*>(&binary<Operation::add>)},
        {Py_nb_subtract, reinterpret_cast<void*>(&binary<Operation::subtract>)},
        {Py_nb_multiply, reinterpret_cast<void*>(&binary<Operation::multiply>)},
        {Py_nb_true_divide, reinterpret_cast<void*>(&binary<Operation::true_divide>)},
        {Py_nb_floor_divide, reinterpret_cast<void*>(&binary<Operation::floor_divide>)},
        {Py_nb_remainder, reinterpret_cast<void*>(&binary<Operation::remainder>)},
        {Py_nb_power, reinterpret_cast<void*>(&power)},
        {Py_nb_negative, reinterpret_cast<void*>(&negative)},
        {Py_nb_positive, reinterpret_cast<void*>(&positive)},
        {Py_nb_absolute, reinterpret_cast<void*>(&absolute)},
        {Py_nb_int, reinterpret_cast<void*>(&to_int)},
        {Py_nb_float, reinterpret_cast<void*>(&to_float)},
        {Py_nb_bool, reinterpret_cast<void*>(&truth)},
        {0, nullptr}};
    PyType_Spec specification = {"cudasim.float16", sizeof(Half), 0, Py_TPFLAGS_DEFAULT, slots};
    Reference bases(PyTuple_Pack(1, numpy_float16));
    if (!bases) return false;
    numpy_half = reinterpret_cast<PyTypeObject*>(numpy_float16);
    half_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&specification, bases.get()));
    return half_type != nullptr && PyModule_AddType(module, half_type) == 0;
}

PyObject* make_float16(double value) {
    auto* object = reinterpret_cast<Half*>(half_type->tp_alloc(half_type, 0));
    if (object == nullptr) return nullptr;
    object->bits = to_half_bits(value);
    return reinterpret_cast<PyObject*>(object);
}

bool is_float16(PyObject* object) {
    return Py_TYPE(object) == half_type || Py_TYPE(object) == numpy_half;
}

double value_of_float16(PyObject* object) {
    return from_half_bits(reinterpret_cast<Half*>(object)->bits);
}

}  // namespace cudasim::pyfiber

// The two types, one template: what differs is the width.
#include "frontend/pyfiber/kernel_float.h"

#include <cmath>
#include <type_traits>
#include <vector>

#include "frontend/pyfiber/kernel_complex.h"
#include "frontend/pyfiber/kernel_half.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

/// NumPy's scalar objects (numpy/arrayscalars.h: PyFloatScalarObject, PyDoubleScalarObject; the latter is
/// also CPython's PyFloatObject).
template <typename T>
struct Scalar {
    PyObject_HEAD T value;
};

template <typename T>
struct TypeOf {
    static inline PyTypeObject *type = nullptr, *base = nullptr;
    static inline std::vector<PyObject*> spare;
};
constexpr std::size_t most_spare = 256;

template <typename T>
PyObject* make(T value) {
    PyTypeObject* type = TypeOf<T>::type;
    auto& spare = TypeOf<T>::spare;
    PyObject* object = nullptr;
    if (!spare.empty()) {
        object = spare.back();
        spare.pop_back();
        PyObject_Init(object, type);
    } else {
        object = type->tp_alloc(type, 0);
        if (object == nullptr) return nullptr;
    }
    reinterpret_cast<Scalar<T>*>(object)->value = value;
    return object;
}

template <typename T>
void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    if (type == TypeOf<T>::type && TypeOf<T>::spare.size() < most_spare)
        TypeOf<T>::spare.push_back(self);
    else
        type->tp_free(self);
    Py_DECREF(type);
}

template <typename T>
T value_of(PyObject* self) {
    return reinterpret_cast<Scalar<T>*>(self)->value;
}

using Op = Operation;

/// Computes // and % as frontend/pykernel/emit/emit_arithmetic.cpp does (Python language reference, 6.7). A
/// zero divisor gives the results of IEEE 754.
template <typename T>
T floor_or_rest(Op op, T left, T right) {
    const T quotient = left / right;
    T rest = std::fmod(left, right);
    const bool has_rest = rest != 0;
    const bool fix = has_rest && (right < 0) != (rest < 0);
    if (op == Op::remainder) return has_rest ? (fix ? rest + right : rest) : std::copysign(T(0), right);
    if (right == 0) return quotient;
    T exact = (left - rest) / right;
    if (fix) exact -= 1;
    if (exact == 0) return std::copysign(T(0), quotient);
    const T down = std::floor(exact);
    return exact - down > T(0.5) ? down + 1 : down;
}

template <typename T>
PyObject* compute(Op op, T left, T right) {
    switch (op) {
        case Op::add:
            return make<T>(left + right);
        case Op::subtract:
            return make<T>(left - right);
        case Op::multiply:
            return make<T>(left * right);
        default:
            break;
    }
    if (right == 0 && !note_float_division()) return nullptr;
    return make<T>(op == Op::true_divide ? left / right : floor_or_rest(op, left, right));
}

/// NumPy's own slot, for operands that are not numbers (arrays).
binaryfunc base_slot(Op op) {
    const PyNumberMethods* slots = TypeOf<double>::base->tp_as_number;
    switch (op) {
        case Op::add:
            return slots->nb_add;
        case Op::subtract:
            return slots->nb_subtract;
        case Op::multiply:
            return slots->nb_multiply;
        case Op::true_divide:
            return slots->nb_true_divide;
        case Op::floor_divide:
            return slots->nb_floor_divide;
        default:
            return slots->nb_remainder;
    }
}

template <Op op>
PyObject* binary(PyObject* left, PyObject* right) {
    if (Py_TYPE(left) == TypeOf<double>::type && Py_TYPE(right) == TypeOf<double>::type) [[likely]]
        return compute<double>(op, PyFloat_AS_DOUBLE(left), PyFloat_AS_DOUBLE(right));
    const Number a = read_number(left), b = read_number(right);
    if (is_complex(left) || is_complex(right)) Py_RETURN_NOTIMPLEMENTED;  // kernel_complex.cpp has it
    if (a.type == Element::other || b.type == Element::other) return base_slot(op)(left, right);
    return float_operation(op, left, a, right, b);
}

PyObject* divide_both(PyObject* left, PyObject* right) {
    PyObject* quotient = binary<Op::floor_divide>(left, right);
    if (quotient == nullptr || quotient == Py_NotImplemented) return quotient;
    PyObject* rest = binary<Op::remainder>(left, right);
    if (rest == nullptr) {
        Py_DECREF(quotient);
        return nullptr;
    }
    return Py_BuildValue("NN", quotient, rest);
}

/// frontend/pykernel/emit/emit_power.cpp: small constant exponents multiply. A plain int is a constant: what
/// a kernel computes has a type of ours.
template <typename T>
PyObject* raise_power(T base, PyObject* exponent_object, const Number& exponent) {
    constexpr std::int64_t most_multiplied = 64;
    const bool constant = PyLong_CheckExact(exponent_object) && exponent.whole >= -most_multiplied &&
                          exponent.whole <= most_multiplied && exponent.type == Element::int64;
    if (!constant) return make<T>(static_cast<T>(std::pow(base, static_cast<T>(exponent.as_double()))));
    T product = 1, square = base;
    for (std::int64_t left = std::abs(exponent.whole); left != 0; left >>= 1) {
        if (left & 1) product *= square;
        if (left > 1) square *= square;
    }
    if (exponent.whole >= 0) return make<T>(product);
    if (product == 0 && !note_float_division()) return nullptr;
    return make<T>(1 / product);
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
    const Number a = read_number(left), b = read_number(right);
    if (is_complex(left) || is_complex(right)) Py_RETURN_NOTIMPLEMENTED;
    if (modulus != Py_None || a.type == Element::other || b.type == Element::other)
        return TypeOf<double>::base->tp_as_number->nb_power(left, right, modulus);
    return float_operation(Op::power, left, a, right, b);
}

template <typename T>
PyObject* negative(PyObject* self) {
    return make<T>(-value_of<T>(self));
}
template <typename T>
PyObject* absolute(PyObject* self) {
    return make<T>(std::fabs(value_of<T>(self)));
}
template <typename T>
PyObject* to_int(PyObject* self) {
    return PyLong_FromLongLong(to_int64(value_of<T>(self)));
}
template <typename T>
PyObject* to_float(PyObject* self) {
    return PyFloat_FromDouble(value_of<T>(self));
}
template <typename T>
int truth(PyObject* self) {
    return value_of<T>(self) != 0;
}
template <typename T>
Py_hash_t hash(PyObject* self) {
    return _Py_HashDouble(self, value_of<T>(self));
}

template <typename T>
PyObject* text(PyObject* self) {
    if constexpr (std::is_same_v<T, float>) return TypeOf<float>::base->tp_str(self);
    return PyFloat_Type.tp_repr(self);
}

/// Compares in float64 unless both are float32, as compiled kernels do. NumPy 2 compares float32 with float
/// in float32.
template <typename T>
PyObject* compare(PyObject* left, PyObject* right, int op) {
    right = told_value(right, ValueUse::comparison);
    const Number first = read_number(left), second = read_number(right);
    if (first.type == Element::other || second.type == Element::other)
        return TypeOf<T>::base->tp_richcompare(left, right, op);
    const double a = first.as_double(), b = second.as_double();
    Py_RETURN_RICHCOMPARE(a, b, op);
}

template <typename T>
PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
    PyObject* value = nullptr;
    if (type == TypeOf<T>::type && keywords == nullptr && PyArg_ParseTuple(arguments, "|O", &value)) {
        constexpr Element element = std::is_same_v<T, float> ? Element::float32 : Element::float64;
        if (value != nullptr && is_unwritten(value)) return converted_unwritten(element, value);
        const Number number = value == nullptr ? Number{Element::int64} : read_number(value);
        if (number.type != Element::other) return make_number(element, number);
        if (!PyUnicode_Check(value)) {
            Reference converted(PyNumber_Float(value));
            if (!converted) return nullptr;
            return make<T>(static_cast<T>(PyFloat_AS_DOUBLE(converted.get())));
        }
    }
    PyErr_Clear();
    return TypeOf<T>::base->tp_new(type, arguments, keywords);
}

template <typename T>
PyTypeObject* make_type(const char* name, PyObject* base) {
    static PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(&deallocate<T>)},
                                  {Py_tp_new, reinterpret_cast<void*>(&create<T>)},
                                  {Py_tp_repr, reinterpret_cast<void*>(&text<T>)},
                                  {Py_tp_str, reinterpret_cast<void*>(&text<T>)},
                                  {Py_tp_hash, reinterpret_cast<void*>(&hash<T>)},
                                  {Py_tp_richcompare, reinterpret_cast<void*>(&compare<T>)},
                                  {Py_nb_add, reinterpret_cast<void*>(&binary<Op::add>)},
                                  {Py_nb_subtract, reinterpret_cast<void*>(&binary<Op::subtract>)},
                                  {Py_nb_multiply, reinterpret_cast<void*>(&binary<Op::multiply>)},
                                  {Py_nb_true_divide, reinterpret_cast<void*>(&binary<Op::true_divide>)},
                                  {Py_nb_floor_divide, reinterpret_cast<void*>(&binary<Op::floor_divide>)},
                                  {Py_nb_remainder, reinterpret_cast<void*>(&binary<Op::remainder>)},
                                  {Py_nb_divmod, reinterpret_cast<void*>(&divide_both)},
                                  {Py_nb_power, reinterpret_cast<void*>(&power)},
                                  {Py_nb_negative, reinterpret_cast<void*>(&negative<T>)},
                                  {Py_nb_absolute, reinterpret_cast<void*>(&absolute<T>)},
                                  {Py_nb_int, reinterpret_cast<void*>(&to_int<T>)},
                                  {Py_nb_float, reinterpret_cast<void*>(&to_float<T>)},
                                  {Py_nb_bool, reinterpret_cast<void*>(&truth<T>)},
                                  {0, nullptr}};
    PyType_Spec specification = {name, sizeof(Scalar<T>), 0, Py_TPFLAGS_DEFAULT, slots};
    Reference bases(PyTuple_Pack(1, base));
    if (!bases) return nullptr;
    TypeOf<T>::base = reinterpret_cast<PyTypeObject*>(base);
    TypeOf<T>::type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&specification, bases.get()));
    return TypeOf<T>::type;
}

}  // namespace

bool initialise_kernel_floats(PyObject* module, PyObject* numpy_float32, PyObject* numpy_float64) {
    PyTypeObject* narrow = make_type<float>("cudasim.float32", numpy_float32);
    PyTypeObject* wide = make_type<double>("cudasim.float64", numpy_float64);
    return narrow != nullptr && wide != nullptr && PyModule_AddType(module, narrow) == 0 &&
           PyModule_AddType(module, wide) == 0;
}

PyObject* float_operation(Operation operation, PyObject* left, const Number& a, PyObject* right,
                          const Number& b) {
    if (operation > Operation::power) {
        PyErr_Format(PyExc_TypeError, "unsupported operand types: '%.100s' and '%.100s'",
                     Py_TYPE(left)->tp_name, Py_TYPE(right)->tp_name);
        return nullptr;
    }
    if (operation == Operation::power) {
        return power_type(a.type, b.type) == Element::float32
                   ? raise_power<float>(static_cast<float>(a.as_double()), right, b)
                   : raise_power<double>(a.as_double(), right, b);
    }
    const bool floored = operation == Operation::floor_divide || operation == Operation::remainder;
    const Element type = floored ? floored_type(a.type, b.type) : arithmetic_type(a.type, b.type);
    if (is_short_float(type)) {
        Reference wide(compute<double>(operation, a.as_double(),
                                       b.as_double()));  // rounding twice is rounding once: so many bits
        return wide ? make_number(type, {Element::float64, 0, PyFloat_AS_DOUBLE(wide.get())}) : nullptr;
    }
    if (type != Element::float64)
        return compute<float>(operation, static_cast<float>(a.as_double()),
                              static_cast<float>(b.as_double()));
    return compute<double>(operation, a.as_double(), b.as_double());
}

PyObject* make_float32(float value) {
    return make<float>(value);
}
PyObject* make_float64(double value) {
    return make<double>(value);
}

NumberKind number_of(PyObject* object, double& value) {
    PyTypeObject* type = Py_TYPE(object);
    if (type == TypeOf<double>::type || type == &PyFloat_Type || type == TypeOf<double>::base) {
        value = PyFloat_AS_DOUBLE(object);
        return NumberKind::float64;
    }
    if (type == TypeOf<float>::type || type == TypeOf<float>::base) {
        value = value_of<float>(object);
        return NumberKind::float32;
    }
    if (is_float16(object)) {
        value = value_of_float16(object);
        return NumberKind::float32;
    }
    if (is_bfloat16(object)) {
        value = value_of_bfloat16(object);
        return NumberKind::float32;
    }
    if (PyLong_Check(object)) {
        const Number number = read_number(object);
        if (number.type != Element::other) {
            value = number.as_double();
            return NumberKind::integer;
        }
        value = PyLong_AsDouble(object);
        if (value == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            value = cpython::sign(object) < 0 ? -HUGE_VAL : HUGE_VAL;
        }
        return NumberKind::integer;
    }
    if (is_unwritten(object)) return number_of(told_value(object, ValueUse::operand), value);
    if (!PyIndex_Check(object) || PyType_IsSubtype(type, TypeOf<float>::base)) return NumberKind::none;
    Reference whole(PyNumber_Index(object));  // NumPy's integers
    if (!whole) {
        PyErr_Clear();
        return NumberKind::none;
    }
    value = PyLong_AsDouble(whole.get());
    if (value == -1 && PyErr_Occurred()) PyErr_Clear();
    return NumberKind::integer;
}

long long to_int64(double value) {
    if (std::isnan(value)) return std::numeric_limits<long long>::min();
    if (value >= 0x1p63) return std::numeric_limits<long long>::max();
    if (value < -0x1p63) return std::numeric_limits<long long>::min();
    return static_cast<long long>(value);
}

}  // namespace cudasim::pyfiber

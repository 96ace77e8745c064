// The two types, one template: what differs is the width of the components.
#include "frontend/pyfiber/kernel_complex.h"

#include <cmath>
#include <complex>
#include <type_traits>

#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

/// NumPy's scalar objects (numpy/arrayscalars.h: PyCFloatScalarObject, PyCDoubleScalarObject; the latter is
/// also CPython's PyComplexObject).
template <typename T>
struct Scalar {
    PyObject_HEAD T real, imaginary;
};

template <typename T>
struct TypeOf {
    static inline PyTypeObject *type = nullptr, *base = nullptr;
    static constexpr Element element = std::is_same_v<T, float> ? Element::complex64 : Element::complex128;
};

template <typename T>
PyObject* make(T real, T imaginary) {
    PyTypeObject* type = TypeOf<T>::type;
    auto* object = reinterpret_cast<Scalar<T>*>(type->tp_alloc(type, 0));
    if (object == nullptr) return nullptr;
    object->real = real;
    object->imaginary = imaginary;
    return reinterpret_cast<PyObject*>(object);
}

template <typename T>
PyObject* make_real(T value) {
    if constexpr (std::is_same_v<T, float>)
        return make_float32(value);
    else
        return make_float64(value);
}

template <typename T>
const Scalar<T>& scalar(PyObject* self) {
    return *reinterpret_cast<Scalar<T>*>(self);
}

bool fits_complex64(Element type) {
    return type == Element::complex64 || type == Element::float32 || type == Element::boolean ||
           type == Element::int8 || type == Element::uint8 || type == Element::int16;
}

template <typename T>
PyObject* quotient(T a, T b, T c, T d) {
    if (c == 0 && d == 0 && !note_float_division()) return nullptr;
    const bool by_real = std::fabs(c) >= std::fabs(d);
    const T large = by_real ? c : d, small = by_real ? d : c, first = by_real ? a : b,
            second = by_real ? b : a;
    const T ratio = small / large;
    const T divisor = large + small * ratio;
    const T imaginary = by_real ? second - first * ratio : first * ratio - second;
    return make<T>((first + second * ratio) / divisor, imaginary / divisor);
}

template <typename T>
PyObject* raise_power(T a, T b, T c, T d) {
    if (c == 2 && d == 0) return make<T>(a * a - b * b, a * b + b * a);
    if (c == 0 && d == 0) return make<T>(1, 0);
    const T size = std::hypot(a, b), angle = std::atan2(b, a);
    if (size == 0) return make<T>(0, 0);
    T length = std::pow(size, c), turn = angle * c;
    if (d != 0) {
        length = length / std::exp(angle * d);
        turn = turn + d * std::log(size);
    }
    return make<T>(length * std::cos(turn), length * std::sin(turn));
}

template <typename T>
PyObject* compute(Operation operation, const ComplexNumber& left, const ComplexNumber& right) {
    const T a = static_cast<T>(left.real), b = static_cast<T>(left.imaginary), c = static_cast<T>(right.real),
            d = static_cast<T>(right.imaginary);
    switch (operation) {
        case Operation::add:
            return make<T>(a + c, b + d);
        case Operation::subtract:
            return make<T>(a - c, b - d);
        case Operation::multiply:
            return make<T>(a * c - b * d, a * d + b * c);
        case Operation::true_divide:
            return quotient<T>(a, b, c, d);
        default:
            return raise_power<T>(a, b, c, d);
    }
}

template <Operation operation>
PyObject* binary(PyObject* left, PyObject* right) {
    const ComplexNumber a = read_complex(left), b = read_complex(right);
    if (a.type == Element::other || b.type == Element::other) Py_RETURN_NOTIMPLEMENTED;
    return fits_complex64(a.type) && fits_complex64(b.type) ? compute<float>(operation, a, b)
                                                            : compute<double>(operation, a, b);
}

PyObject* power(PyObject* left, PyObject* right, PyObject* modulus) {
    if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
    return binary<Operation::power>(left, right);
}

PyObject* compare(PyObject* left, PyObject* right, int operation) {
    right = told_value(right, ValueUse::comparison);
    const ComplexNumber a = read_complex(left), b = read_complex(right);
    const bool known = a.type != Element::other && b.type != Element::other;
    if (!known || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((a.real == b.real && a.imaginary == b.imaginary) == (operation == Py_EQ));
}

template <typename T>
PyObject* negative(PyObject* self) {
    return make<T>(-scalar<T>(self).real, -scalar<T>(self).imaginary);
}
PyObject* itself(PyObject* self) {
    return Py_NewRef(self);
}
PyObject* item(PyObject* self, PyObject*) {
    return Py_NewRef(self);
}
template <typename T>
PyObject* conjugate(PyObject* self, PyObject*) {
    return make<T>(scalar<T>(self).real, -scalar<T>(self).imaginary);
}
template <typename T>
PyObject* absolute(PyObject* self) {
    return make_real<T>(std::hypot(scalar<T>(self).real, scalar<T>(self).imaginary));
}
template <typename T>
int truth(PyObject* self) {
    return scalar<T>(self).real != 0 || scalar<T>(self).imaginary != 0;
}
template <typename T>
PyObject* real(PyObject* self, void*) {
    return make_real<T>(scalar<T>(self).real);
}
template <typename T>
PyObject* imaginary(PyObject* self, void*) {
    return make_real<T>(scalar<T>(self).imaginary);
}
PyObject* refuse_real(PyObject* self) {
    PyErr_Format(PyExc_TypeError, "Cannot cast %.100s to a real number: take its .real or its abs()",
                 Py_TYPE(self)->tp_name);
    return nullptr;
}

template <typename T>
PyObject* create(PyTypeObject*, PyObject* arguments, PyObject* keywords) {
    const bool one = PyTuple_GET_SIZE(arguments) == 1 && keywords == nullptr;
    if (one && is_unwritten(PyTuple_GET_ITEM(arguments, 0)))
        return converted_unwritten(TypeOf<T>::element, PyTuple_GET_ITEM(arguments, 0));
    const ComplexNumber number = one ? read_complex(PyTuple_GET_ITEM(arguments, 0)) : ComplexNumber{};
    if (number.type != Element::other)
        return make<T>(static_cast<T>(number.real), static_cast<T>(number.imaginary));
    PyErr_Format(PyExc_TypeError, "%.100s() converts one number", TypeOf<T>::type->tp_name);
    return nullptr;
}

template <typename T>
void deallocate(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

template <typename T>
PyTypeObject* make_type(const char* name, PyObject* base) {
    static PyMethodDef methods[] = {
        {"conjugate", &conjugate<T>, METH_NOARGS, "With the other imaginary part."},
        {"item", &item, METH_NOARGS, "The number."},
        {nullptr, nullptr, 0, nullptr}};
    static PyGetSetDef members[] = {{"real", &real<T>, nullptr, "The real part.", nullptr},
                                    {"imag", &imaginary<T>, nullptr, "The imaginary part.", nullptr},
                                    {nullptr, nullptr, nullptr, nullptr, nullptr}};
    static PyType_Slot slots[] = {
        {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate<T>)},
        {Py_tp_new, reinterpret_cast<void*>(&create<T>)},
        {Py_tp_richcompare, reinterpret_cast<void*>(&compare)},
        {Py_tp_hash, reinterpret_cast<void*>(reinterpret_cast<PyTypeObject*>(base)->tp_hash)},
        {Py_tp_methods, methods},
        {Py_tp_getset, members},
        {Py_nb_add, reinterpret_cast<void*>(&binary<Operation::add>)},
        {Py_nb_subtract, reinterpret_cast<void*>(&binary<Operation::subtract>)},
        {Py_nb_multiply, reinterpret_cast<void*>(&binary<Operation::multiply>)},
        {Py_nb_true_divide, reinterpret_cast<void*>(&binary<Operation::true_divide>)},
        {Py_nb_power, reinterpret_cast<void*>(&power)},
        {Py_nb_negative, reinterpret_cast<void*>(&negative<T>)},
        {Py_nb_positive, reinterpret_cast<void*>(&itself)},
        {Py_nb_absolute, reinterpret_cast<void*>(&absolute<T>)},
        {Py_nb_bool, reinterpret_cast<void*>(&truth<T>)},
        {Py_nb_int, reinterpret_cast<void*>(&refuse_real)},
        {Py_nb_float, reinterpret_cast<void*>(&refuse_real)},
        {0, nullptr}};
    PyType_Spec specification = {name, sizeof(Scalar<T>), 0, Py_TPFLAGS_DEFAULT, slots};
    Reference bases(PyTuple_Pack(1, base));
    if (!bases) return nullptr;
    TypeOf<T>::base = reinterpret_cast<PyTypeObject*>(base);
    TypeOf<T>::type = reinterpret_cast<PyTypeObject*>(PyType_FromSpecWithBases(&specification, bases.get()));
    return TypeOf<T>::type;
}

}  // namespace

bool initialise_kernel_complexes(PyObject* module, PyObject* numpy_complex64, PyObject* numpy_complex128) {
    PyTypeObject* narrow = make_type<float>("cudasim.complex64", numpy_complex64);
    PyTypeObject* wide = make_type<double>("cudasim.complex128", numpy_complex128);
    return narrow != nullptr && wide != nullptr && PyModule_AddType(module, narrow) == 0 &&
           PyModule_AddType(module, wide) == 0;
}

PyObject* make_complex(Element type, double real, double imaginary) {
    if (type == Element::complex64)
        return make<float>(static_cast<float>(real), static_cast<float>(imaginary));
    return make<double>(real, imaginary);
}

bool is_complex(PyObject* object) {
    object = plain_value(object);
    return PyComplex_Check(object) || PyObject_TypeCheck(object, TypeOf<float>::base);
}

ComplexNumber read_complex(PyObject* object) {
    object = told_value(object, ValueUse::operand);
    if (PyComplex_Check(object)) {
        const Scalar<double>& number = scalar<double>(object);
        return {Element::complex128, number.real, number.imaginary};
    }
    if (PyObject_TypeCheck(object, TypeOf<float>::base)) {
        const Scalar<float>& number = scalar<float>(object);
        return {Element::complex64, number.real, number.imaginary};
    }
    const Number number = read_number(object);
    return {number.type, number.type == Element::other ? 0 : number.as_double(), 0};
}

PyObject* call_complex(PyObject* arguments, PyObject* keywords) {
    static const char* names[] = {"real", "imag", nullptr};
    PyObject *first = nullptr, *second = nullptr;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O", const_cast<char**>(names), &first, &second))
        return nullptr;
    const ComplexNumber whole = read_complex(first);
    const Number part = second == nullptr ? Number{Element::float32} : read_number(second);
    if (whole.type == Element::other || part.type == Element::other ||
        (second != nullptr && is_complex(first))) {
        PyErr_SetString(PyExc_TypeError, "complex() takes one or two real numbers, or one complex number");
        return nullptr;
    }
    const bool narrow = whole.type == Element::float32 && part.type == Element::float32;
    const double imaginary = second == nullptr ? whole.imaginary : part.as_double();
    return make_complex(narrow ? Element::complex64 : Element::complex128, whole.real, imaginary);
}

}  // namespace cudasim::pyfiber

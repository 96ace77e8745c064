// cuda.fp16.* in Python mode: by the table of simulator/libdevice/half_functions.def, as
// frontend/pykernel/half_calls.cpp.
#include "simulator/libdevice/half_functions.h"

#include <bit>
#include <type_traits>

#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_half.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/kernel_number.h"

namespace cudasim::pyfiber {
namespace {

using namespace libdevice;

template <class T>
constexpr Element element_of() {
    if constexpr (std::is_same_v<T, half>)
        return Element::float16;
    else if constexpr (std::is_same_v<T, float>)
        return Element::float32;
    else if constexpr (std::is_same_v<T, double>)
        return Element::float64;
    else {
        constexpr int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return static_cast<Element>(static_cast<int>(std::is_signed_v<T> ? Element::int8 : Element::uint8) +
                                    size);
    }
}

template <class T>
PyObject* make(T value) {
    if constexpr (std::is_same_v<T, bool>)
        return PyBool_FromLong(value);
    else if constexpr (std::is_same_v<T, float>)
        return make_float32(value);
    else
        return make_integer(element_of<T>(), static_cast<std::int64_t>(value));
}

/// The argument in a type: its bits. False with an exception set.
template <class T>
bool read(PyObject* argument, T& value) {
    if (read_number(argument).type == Element::other) {
        PyErr_Format(PyExc_TypeError, "a half-precision function takes numbers, not %.100s",
                     Py_TYPE(argument)->tp_name);
        return false;
    }
    return store(element_of<T>(), reinterpret_cast<char*>(&value), argument);
}

/// The argument as float16: its value.
bool read_half(PyObject* argument, double& value) {
    if (read_number(argument).type == Element::other) {
        PyErr_Format(PyExc_TypeError, "a half-precision function takes numbers, not %.100s",
                     Py_TYPE(argument)->tp_name);
        return false;
    }
    std::uint16_t bits = 0;
    if (!store(Element::float16, reinterpret_cast<char*>(&bits), argument)) return false;
    value = from_half_bits(bits);
    return true;
}

bool takes(Py_ssize_t given, Py_ssize_t wanted) {
    if (given == wanted) return true;
    PyErr_Format(PyExc_TypeError, "this half-precision function takes %zd number%s", wanted,
                 wanted == 1 ? "" : "s");
    return false;
}

/// libdevice's functions as values: of::sinf.
namespace of {
#define LIBDEVICE(name, type, function, lowering) constexpr std::add_pointer_t<type> name = function;
#include "simulator/libdevice/functions.def"
#undef LIBDEVICE
}  // namespace of

template <class T>
PyObject* of_floats(T (*function)(T), After after, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    if (!takes(count, 1) || !read_half(given[0], x)) return nullptr;
    return make_float16(finished(after, function(static_cast<T>(x)), std::isnan(x)));
}
template <class T>
PyObject* of_floats(T (*function)(T, T), After after, PyObject* const* given, Py_ssize_t count) {
    double x = 0, y = 0;
    if (!takes(count, 2) || !read_half(given[0], x) || !read_half(given[1], y)) return nullptr;
    const T result = function(static_cast<T>(x), static_cast<T>(y));
    return make_float16(finished(after, result, std::isnan(x) || std::isnan(y)));
}
template <class T>
PyObject* of_floats(T (*function)(T, T, T), After after, PyObject* const* given, Py_ssize_t count) {
    double x = 0, y = 0, z = 0;
    if (!takes(count, 3) || !read_half(given[0], x) || !read_half(given[1], y) || !read_half(given[2], z))
        return nullptr;
    return make_float16(
        finished(after, function(static_cast<T>(x), static_cast<T>(y), static_cast<T>(z)), false));
}

template <auto function, After after>
PyObject* floats_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    return of_floats(function, after, given, count);
}

template <Comparison how>
PyObject* test_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0, y = 0;
    if (!takes(count, 2) || !read_half(given[0], x) || !read_half(given[1], y)) return nullptr;
    return PyBool_FromLong(compares(how, x, y));
}

template <class T, Rounding rounding>
PyObject* from_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    T value{};
    if (!takes(count, 1) || !read(given[0], value)) return nullptr;
    return make_float16(rounded_to_half(static_cast<double>(value), rounding));
}

template <class T, auto function>
PyObject* to_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    if (!takes(count, 1) || !read_half(given[0], x)) return nullptr;
    return make(clamped<T>(function(static_cast<float>(x))));
}

template <class From, class To>
PyObject* bits_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    if (!takes(count, 1)) return nullptr;
    if constexpr (std::is_same_v<To, half>) {
        From value{};
        return read(given[0], value) ? make_float16(from_half_bits(static_cast<std::uint16_t>(value)))
                                     : nullptr;
    } else {
        double x = 0;
        return read_half(given[0], x) ? make(static_cast<To>(to_half_bits(x))) : nullptr;
    }
}

PyObject* negated_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    return takes(count, 1) && read_half(given[0], x) ? make_float16(-x) : nullptr;
}
PyObject* to_float_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    return takes(count, 1) && read_half(given[0], x) ? make_float32(static_cast<float>(x)) : nullptr;
}

namespace finding {
bool is_nan(double x) {
    return std::isnan(x);
}
std::int32_t is_infinite(double x) {
    return std::isinf(x) ? (x > 0 ? 1 : -1) : 0;
}
}  // namespace finding

template <auto function>
PyObject* class_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    return takes(count, 1) && read_half(given[0], x) ? make(function(x)) : nullptr;
}

PyMethodDef functions[] = {
#define HALF_ROW(name, ...) {#name, fast(__VA_ARGS__), METH_FASTCALL, nullptr},
#define HALF_OF_FLOATS(name, function, after) HALF_ROW(name, &floats_call<of::function, After::after>)
#define HALF_TEST(name, predicate) HALF_ROW(name, &test_call<Comparison::predicate>)
#define HALF_FROM(name, type, rounding) HALF_ROW(name, &from_call<type, rounding>)
#define HALF_TO(name, type, function) HALF_ROW(name, &to_call<type, of::function>)
#define HALF_SAME_BITS(name, from, to) HALF_ROW(name, &bits_call<from, to>)
#define HALF_CLASS(name, type, found) HALF_ROW(name, &class_call<&finding::found>)
#define HALF_NEGATED(name) HALF_ROW(name, &negated_call)
#define HALF_TO_FLOAT(name) HALF_ROW(name, &to_float_call)
#include "simulator/libdevice/half_functions.def"
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_half_functions(PyObject* table) {
    return add_functions(table, "cuda.fp16.", functions);
}

}  // namespace cudasim::pyfiber

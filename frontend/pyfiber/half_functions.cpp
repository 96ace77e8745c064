// cuda.fp16.* and cuda.bf16.* in Python mode: by the table of simulator/libdevice/half_functions.def, as
// frontend/pykernel/calls/half_calls.cpp.
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

/// The two modules: the type of their numbers.
struct fp16 {
    static constexpr Element element = Element::float16;
    static constexpr Format format = half_format;
    static double value(std::uint16_t bits) { return from_half_bits(bits); }
    static std::uint16_t bits(double x) { return to_half_bits(x); }
};
struct bf16 {
    static constexpr Element element = Element::bfloat16;
    static constexpr Format format = bfloat_format;
    static double value(std::uint16_t bits) { return from_bfloat_bits(bits); }
    static std::uint16_t bits(double x) { return to_bfloat_bits(x); }
};

template <class T>
constexpr Element element_of() {
    if constexpr (std::is_same_v<T, float>)
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

/// Rounded to the module's type.
template <class M>
PyObject* make_half(double value) {
    return make_number(M::element, {Element::float64, 0, value});
}

/// The argument in a type: its bits. False with an exception set.
bool read_as(Element element, void* place, PyObject* argument) {
    if (read_number(argument).type != Element::other)
        return bits_of_value(element, argument, static_cast<char*>(place));
    PyErr_Format(PyExc_TypeError, "a function of floats of 16 bits takes numbers, not %.100s",
                 Py_TYPE(argument)->tp_name);
    return false;
}
template <class T>
bool read(PyObject* argument, T& value) {
    return read_as(element_of<T>(), &value, argument);
}

/// The argument in the module's type: its value.
template <class M>
bool read_half(PyObject* argument, double& value) {
    std::uint16_t bits = 0;
    if (!read_as(M::element, &bits, argument)) return false;
    value = M::value(bits);
    return true;
}

bool takes(Py_ssize_t given, Py_ssize_t wanted) {
    if (given == wanted) return true;
    PyErr_Format(PyExc_TypeError, "this function of floats of 16 bits takes %zd number%s", wanted,
                 wanted == 1 ? "" : "s");
    return false;
}

/// libdevice's functions as values: of::sinf.
namespace of {
#define LIBDEVICE(name, type, function, lowering) constexpr std::add_pointer_t<type> name = function;
#include "simulator/libdevice/functions.def"
#undef LIBDEVICE
}  // namespace of

template <class M, class T>
PyObject* of_floats(T (*function)(T), After after, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    if (!takes(count, 1) || !read_half<M>(given[0], x)) return nullptr;
    return make_half<M>(finished(after, function(static_cast<T>(x)), std::isnan(x)));
}
template <class M, class T>
PyObject* of_floats(T (*function)(T, T), After after, PyObject* const* given, Py_ssize_t count) {
    double x = 0, y = 0;
    if (!takes(count, 2) || !read_half<M>(given[0], x) || !read_half<M>(given[1], y)) return nullptr;
    const T result = function(static_cast<T>(x), static_cast<T>(y));
    return make_half<M>(finished(after, result, std::isnan(x) || std::isnan(y)));
}
/// The only one is fma.
template <class M>
PyObject* of_floats(double (*)(double, double, double), After after, PyObject* const* given,
                    Py_ssize_t count) {
    double x = 0, y = 0, z = 0;
    if (!takes(count, 3) || !read_half<M>(given[0], x) || !read_half<M>(given[1], y) ||
        !read_half<M>(given[2], z))
        return nullptr;
    return make_half<M>(finished(after, multiply_add_odd(x, y, z), false));
}

template <class M, auto function, After after>
PyObject* floats_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    return of_floats<M>(function, after, given, count);
}

template <class M, Comparison how>
PyObject* test_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0, y = 0;
    if (!takes(count, 2) || !read_half<M>(given[0], x) || !read_half<M>(given[1], y)) return nullptr;
    return PyBool_FromLong(compares(how, x, y));
}

template <class M, class T, Rounding rounding>
PyObject* from_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    T value{};
    if (!takes(count, 1) || !read(given[0], value)) return nullptr;
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>)
        return make_half<M>(rounded_to(M::format, sticky_double(value), rounding));
    else
        return make_half<M>(rounded_to(M::format, static_cast<double>(value), rounding));
}

template <class M, class T, auto function>
PyObject* to_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    if (!takes(count, 1) || !read_half<M>(given[0], x)) return nullptr;
    return make(clamped<T>(function(static_cast<float>(x))));
}

template <class M, class From, class To>
PyObject* bits_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    if (!takes(count, 1)) return nullptr;
    if constexpr (std::is_same_v<To, half>) {
        From value{};
        return read(given[0], value) ? value_of_bits(M::element, reinterpret_cast<const char*>(&value))
                                     : nullptr;
    } else {
        std::uint16_t bits = 0;
        return read_as(M::element, &bits, given[0]) ? make(static_cast<To>(bits)) : nullptr;
    }
}

template <class M>
PyObject* negated_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    std::uint16_t bits = 0;
    if (!takes(count, 1) || !read_as(M::element, &bits, given[0])) return nullptr;
    return make_short_float(M::element, bits ^ 0x8000);
}
template <class M>
PyObject* to_float_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    return takes(count, 1) && read_half<M>(given[0], x) ? make_float32(static_cast<float>(x)) : nullptr;
}

namespace finding {
bool is_nan(double x) {
    return std::isnan(x);
}
std::int32_t is_infinite(double x) {
    return std::isinf(x) ? (x > 0 ? 1 : -1) : 0;
}
}  // namespace finding

template <class M, auto function>
PyObject* class_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
    double x = 0;
    return takes(count, 1) && read_half<M>(given[0], x) ? make(function(x)) : nullptr;
}

PyMethodDef functions[] = {
#define HALF_ROW(module, name, ...) {#module "." #name, fast(__VA_ARGS__), METH_FASTCALL, nullptr},
#define HALF_OF_FLOATS(module, name, function, after) \
    HALF_ROW(module, name, &floats_call<module, of::function, After::after>)
#define HALF_TEST(module, name, predicate) HALF_ROW(module, name, &test_call<module, Comparison::predicate>)
#define HALF_FROM(module, name, type, rounding) HALF_ROW(module, name, &from_call<module, type, rounding>)
#define HALF_TO(module, name, type, function) HALF_ROW(module, name, &to_call<module, type, of::function>)
#define HALF_SAME_BITS(module, name, from, to) HALF_ROW(module, name, &bits_call<module, from, to>)
#define HALF_CLASS(module, name, type, found) HALF_ROW(module, name, &class_call<module, &finding::found>)
#define HALF_NEGATED(module, name) HALF_ROW(module, name, &negated_call<module>)
#define HALF_TO_FLOAT(module, name) HALF_ROW(module, name, &to_float_call<module>)
#include "simulator/libdevice/half_functions.def"
#undef HALF_ROW
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_half_functions(PyObject* table) {
    return add_functions(table, "cuda.", functions);
}

}  // namespace cudasim::pyfiber

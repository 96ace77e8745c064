// The math module as kernels have it: float32 in gives float32 out, and no argument is an error:
// math.sqrt(-1.0) is nan, as on a GPU, where Python raises ValueError. The host functions of
// simulator/libdevice/functions.def.
#include <cmath>
#include <numbers>

#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_half.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/unwritten_value.h"
#include "simulator/libdevice/special_functions.h"

namespace cudasim::pyfiber {
namespace {

/// What is not a number (an array, a complex number) goes to Python's function; `self` is its name.
PyObject* call_python(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    Reference module(PyImport_ImportModule("math"));
    Reference function(module ? PyObject_GetAttr(module.get(), self) : nullptr);
    return function ? PyObject_Vectorcall(function.get(), arguments, static_cast<std::size_t>(count), nullptr)
                    : nullptr;
}

/// Which floats of 16 bits give their own type
/// (frontend/pykernel/calls/math_functions.def: unary, halves, shorts).
enum class Keeps { none, halves, shorts };

template <double (*wide)(double), float (*narrow)(float), Keeps keeps = Keeps::none>
PyObject* unary(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    double x = 0;
    PyObject* argument = count == 1 ? told_value(arguments[0], ValueUse::argument) : nullptr;
    const NumberKind kind = argument != nullptr ? number_of(argument, x) : NumberKind::none;
    if (kind == NumberKind::none) return call_python(self, arguments, count);
    if (keeps != Keeps::none && is_float16(argument)) return make_float16(narrow(static_cast<float>(x)));
    if (keeps == Keeps::shorts && is_bfloat16(argument)) return make_bfloat16(narrow(static_cast<float>(x)));
    if (kind == NumberKind::float32) return make_float32(narrow(static_cast<float>(x)));
    return make_float64(wide(x));
}

template <double (*wide)(double, double), float (*narrow)(float, float)>
PyObject* binary(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    double x = 0, y = 0;
    for (Py_ssize_t i = 0; i < count; ++i) (void)told_value(arguments[i], ValueUse::argument);
    const NumberKind first = count == 2 ? number_of(arguments[0], x) : NumberKind::none;
    const NumberKind second = first == NumberKind::none ? first : number_of(arguments[1], y);
    if (second == NumberKind::none) return call_python(self, arguments, count);
    if (first == NumberKind::float32 && second == NumberKind::float32)
        return make_float32(narrow(static_cast<float>(x), static_cast<float>(y)));
    return make_float64(wide(x, y));
}

template <typename T>
T to_degrees(T x) {
    return x * static_cast<T>(180 / std::numbers::pi);
}
template <typename T>
T to_radians(T x) {
    return x * static_cast<T>(std::numbers::pi / 180);
}

#define MATH_FAST(name, ...) \
    {#name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(__VA_ARGS__)), METH_FASTCALL, nullptr}
#define MATH_UNARY(name, function) MATH_FAST(name, &unary<::function, ::function##f>)
#define MATH_HALVES(name, function) MATH_FAST(name, &unary<::function, ::function##f, Keeps::halves>)
#define MATH_SHORTS(name, function) MATH_FAST(name, &unary<::function, ::function##f, Keeps::shorts>)
#define MATH_OWN(name, function) MATH_FAST(name, &unary<libdevice::function, libdevice::function>)
#define MATH_OWN_SHORTS(name, function) \
    MATH_FAST(name, &unary<libdevice::function, libdevice::function, Keeps::shorts>)
#define MATH_BINARY(name, function) MATH_FAST(name, &binary<::function, ::function##f>)

PyMethodDef functions[] = {MATH_UNARY(acos, acos),
                           MATH_UNARY(acosh, acosh),
                           MATH_UNARY(asin, asin),
                           MATH_UNARY(asinh, asinh),
                           MATH_UNARY(atan, atan),
                           MATH_UNARY(atanh, atanh),
                           MATH_OWN(cbrt, cube_root),
                           MATH_SHORTS(ceil, ceil),
                           MATH_SHORTS(cos, cos),
                           MATH_OWN(cosh, hyperbolic_cosine),
                           MATH_UNARY(erf, erf),
                           MATH_UNARY(erfc, erfc),
                           MATH_SHORTS(exp, exp),
                           MATH_SHORTS(exp2, exp2),
                           MATH_UNARY(expm1, expm1),
                           MATH_HALVES(fabs, fabs),
                           MATH_SHORTS(floor, floor),
                           MATH_OWN(gamma, gamma_function),
                           MATH_SHORTS(log, log),
                           MATH_OWN_SHORTS(log10, base_10_logarithm),
                           MATH_UNARY(log1p, log1p),
                           MATH_HALVES(log2, log2),
                           MATH_SHORTS(sin, sin),
                           MATH_UNARY(sinh, sinh),
                           MATH_SHORTS(sqrt, sqrt),
                           MATH_UNARY(tan, tan),
                           MATH_OWN_SHORTS(tanh, hyperbolic_tangent),
                           MATH_SHORTS(trunc, trunc),
                           MATH_BINARY(atan2, atan2),
                           MATH_BINARY(copysign, copysign),
                           MATH_BINARY(fmod, fmod),
                           MATH_BINARY(hypot, hypot),
                           MATH_BINARY(nextafter, nextafter),
                           MATH_BINARY(pow, pow),
                           MATH_BINARY(remainder, remainder),
                           MATH_OWN(lgamma, log_gamma),
                           {"degrees",
                            reinterpret_cast<PyCFunction>(
                                reinterpret_cast<void (*)()>(&unary<to_degrees<double>, to_degrees<float>>)),
                            METH_FASTCALL, nullptr},
                           {"radians",
                            reinterpret_cast<PyCFunction>(
                                reinterpret_cast<void (*)()>(&unary<to_radians<double>, to_radians<float>>)),
                            METH_FASTCALL, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

bool add(PyObject* table, PyMethodDef* method) {
    Reference name(PyUnicode_FromString(method->ml_name));
    Reference function(name ? PyCFunction_New(method, name.get()) : nullptr);
    return function && PyDict_SetItem(table, name.get(), function.get()) == 0;
}

}  // namespace

bool add_math(PyObject* table) {
    for (PyMethodDef* method = functions; method->ml_name != nullptr; ++method)
        if (!add(table, method)) return false;
    return true;
}

}  // namespace cudasim::pyfiber

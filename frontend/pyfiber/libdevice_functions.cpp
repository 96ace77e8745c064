// cuda.libdevice.* in Python mode: the functions of simulator/libdevice/functions.def themselves. Arguments
// convert as those of the compiled calls do (frontend/pykernel/calls/libdevice_calls.cpp).
#include <tuple>
#include <type_traits>

#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/unwritten_value.h"
#include "simulator/libdevice/host_functions.h"

namespace cudasim::pyfiber {
namespace {

using namespace libdevice;

/// Numba's CUDA target has all integers of libdevice as signed.
template <class T>
constexpr Element element_of() {
    if constexpr (std::is_same_v<T, float>)
        return Element::float32;
    else if constexpr (std::is_same_v<T, double>)
        return Element::float64;
    else
        return sizeof(T) == 2 ? Element::int16 : sizeof(T) == 4 ? Element::int32 : Element::int64;
}

template <class T>
PyObject* make(T value) {
    if constexpr (std::is_same_v<T, float>)
        return make_float32(value);
    else if constexpr (std::is_same_v<T, double>)
        return make_float64(value);
    else
        return make_integer(element_of<T>(), static_cast<std::make_signed_t<T>>(value));
}

/// An argument of the call, and its place in Python's argument list when it has one.
template <class T>
struct Argument {
    static constexpr bool is_result = std::is_pointer_v<T>;
    std::remove_pointer_t<T> value{};

    bool read(PyObject* const* arguments, Py_ssize_t& next) {
        if constexpr (is_result)
            return true;
        else
            return bits_of_value(element_of<T>(), arguments[next++], reinterpret_cast<char*>(&value));
    }
    T pass() {
        if constexpr (is_result)
            return &value;
        else
            return value;
    }
};

bool are_numbers(PyObject* const* arguments, Py_ssize_t count, Py_ssize_t wanted) {
    bool good = count == wanted;
    for (Py_ssize_t i = 0; good && i < count; ++i)
        good = read_number(told_value(arguments[i], ValueUse::argument)).type != Element::other;
    if (!good)
        PyErr_Format(PyExc_TypeError, "this function of libdevice takes %zd number%s", wanted,
                     wanted == 1 ? "" : "s");
    return good;
}

template <class Type>
struct Caller;

template <class Result, class... Parameters>
struct Caller<Result(Parameters...)> {
    static constexpr Py_ssize_t arguments_wanted = (0 + ... + !std::is_pointer_v<Parameters>);
    static constexpr Py_ssize_t results = !std::is_void_v<Result> + (0 + ... + std::is_pointer_v<Parameters>);

    template <Result (*function)(Parameters...)>
    static PyObject* call(PyObject*, PyObject* const* given, Py_ssize_t count) {
        if (!are_numbers(given, count, arguments_wanted)) return nullptr;
        std::tuple<Argument<Parameters>...> arguments;
        Py_ssize_t next = 0;
        if (!std::apply([&](auto&... each) { return (each.read(given, next) && ...); }, arguments))
            return nullptr;
        auto run = [&] {
            return std::apply([](auto&... each) { return function(each.pass()...); }, arguments);
        };
        if constexpr (std::is_void_v<Result>) {
            run();
            return tuple_of(nullptr, arguments);
        } else {
            PyObject* result = make(run());
            return results == 1 || result == nullptr ? result : tuple_of(result, arguments);
        }
    }

  private:
    /// @param first stolen
    static PyObject* tuple_of(PyObject* first, std::tuple<Argument<Parameters>...>& arguments) {
        PyObject* tuple = PyTuple_New(results);
        Py_ssize_t next = 0;
        if (tuple == nullptr)
            Py_XDECREF(first);
        else if (first != nullptr)
            PyTuple_SET_ITEM(tuple, next++, first);
        auto add = [&](auto& argument) {
            if constexpr (std::remove_reference_t<decltype(argument)>::is_result) {
                PyObject* value = tuple == nullptr ? nullptr : make(argument.value);
                if (value == nullptr)
                    Py_CLEAR(tuple);
                else
                    PyTuple_SET_ITEM(tuple, next++, value);
            }
        };
        std::apply([&](auto&... each) { (add(each), ...); }, arguments);
        return tuple;
    }
};

PyMethodDef functions[] = {
#define LIBDEVICE(name, type, function, lowering)                                                \
    {#name, fast(&Caller<type>::template call<static_cast<std::add_pointer_t<type>>(function)>), \
     METH_FASTCALL, nullptr},
#include "simulator/libdevice/functions.def"
#undef LIBDEVICE
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_libdevice(PyObject* table) {
    return add_functions(table, "cuda.libdevice.", functions);
}

}  // namespace cudasim::pyfiber

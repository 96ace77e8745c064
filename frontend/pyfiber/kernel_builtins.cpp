// Python's built-in functions and NumPy's ufuncs as kernels have them: with the compiler's types, where
// Python's own would give another value. What is not a number goes to the original.
#include <chrono>
#include <cmath>
#include <string_view>
#include <thread>
#include <vector>

#include "frontend/cpython/finalization.h"
#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_complex.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "frontend/pyfiber/unwritten_value.h"

namespace cudasim::pyfiber {
namespace {

PyObject* call_original(const char* name, PyObject* const* arguments, Py_ssize_t count,
                        PyObject* keyword_names) {
    Reference module(PyImport_ImportModule("builtins"));
    Reference function(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    if (!function) return nullptr;
    return PyObject_Vectorcall(function.get(), arguments, static_cast<std::size_t>(count), keyword_names);
}

// -- min, max
// ---------------------------------------------------------------------------------------------------

/// PTX's min and max of two floats: a NaN loses against a number, -0.0 is less than 0.0 (V2). A float and an
/// integer are compared as in Python (frontend/pykernel/calls/sequence_calls.cpp).
double float_extremum(double a, double b, bool largest) {
    if (a == 0 && b == 0) return std::signbit(a) == largest ? b : a;
    return largest ? std::fmax(a, b) : std::fmin(a, b);
}

/// As Python's min and max compare: a NaN is never better.
bool is_better(double next, double best, bool largest) {
    return largest ? next > best : next < best;
}

bool replaces(const Number& best, const Number& next, Element type, bool largest) {
    if (type != Element::uint64) return largest ? !(best.whole > next.whole) : !(best.whole < next.whole);
    const auto a = static_cast<std::uint64_t>(best.whole), b = static_cast<std::uint64_t>(next.whole);
    return largest ? !(a > b) : !(a < b);
}

template <bool largest>
PyObject* extremum(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names) {
    const char* name = largest ? "max" : "min";
    PyObject* const* items = arguments;
    Py_ssize_t items_count = count;
    if (count == 1 && PyTuple_Check(arguments[0])) {
        items = &PyTuple_GET_ITEM(arguments[0], 0);
        items_count = PyTuple_GET_SIZE(arguments[0]);
    }
    const bool several = items_count >= 1 && (count > 1 || items != arguments) && keyword_names == nullptr;
    if (!several) return call_original(name, arguments, count, keyword_names);
    std::vector<Number> numbers;
    Element type = Element::other;
    for (Py_ssize_t i = 0; i < items_count; ++i) {
        numbers.push_back(read_number(items[i]));
        if (numbers.back().type == Element::other)
            return call_original(name, arguments, count, keyword_names);
        type = i == 0 ? numbers[0].type : unified_type(type, numbers.back().type);
    }
    Number best = numbers[0];
    if (type == Element::bfloat16) {  // compared, as Numba does
        for (const Number& next : numbers)
            if (is_better(next.as_double(), best.as_double(), largest)) best = next;
        return make_number(type, best);
    }
    if (is_float(type)) {
        double found = type == Element::float32 ? static_cast<float>(best.as_double()) : best.as_double();
        bool found_float = is_float(best.type);
        for (std::size_t i = 1; i < numbers.size(); ++i) {
            const double next = numbers[i].as_double();
            const bool next_is_float = is_float(numbers[i].type);
            if (found_float == next_is_float)
                found = float_extremum(found, next, largest);
            else if (is_better(next, found, largest))
                found = next;
            found_float |= next_is_float;
        }
        return make_number(type, {type, 0, found});
    }
    for (std::size_t i = 1; i < numbers.size(); ++i)
        if (replaces(best, numbers[i], type, largest)) best = numbers[i];
    return make_number(type, {best.type == Element::boolean ? Element::int64 : best.type, best.whole});
}

// -- round
// ------------------------------------------------------------------------------------------------------

PyObject* round_to_digits(const Number& number, double digits) {
    const double value = number.as_double(), scale = std::pow(10.0, std::fabs(digits));
    const double scaled = digits >= 0 ? value * scale : value / scale;
    const double whole = std::rint(scaled), back = digits >= 0 ? whole / scale : whole * scale;
    const bool keeps = is_float(number.type) && !is_short_float(number.type);
    const Element type = keeps ? number.type : arithmetic_type(number.type, Element::float32);
    return make_number(type, {Element::float64, 0, std::fabs(scaled) < HUGE_VAL ? back : value});
}

PyObject* round_number(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names) {
    const Number number = count >= 1 ? read_number(arguments[0]) : Number{};
    const Py_ssize_t all = count + (keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names));
    const Number digits = all == 2 ? read_number(arguments[1]) : Number{Element::int64};
    if (number.type == Element::other || digits.type == Element::other || all > 2 || all < 1)
        return call_original("round", arguments, count, keyword_names);
    if (all == 2 && arguments[1] != Py_None) return round_to_digits(number, digits.as_double());
    if (!is_float(number.type)) return make_number(Element::int64, number);
    return make_number(Element::int64, {number.type, 0, std::rint(number.real)});
}

/// np.round(x, decimals): a float64 of a float, an int64 of an integer, which negative digits change only.
PyObject* numpy_round(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names) {
    const Py_ssize_t all = count + (keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names));
    const Number number = all >= 1 ? read_number(arguments[0]) : Number{};
    const Number digits = all == 2 ? read_number(arguments[1]) : Number{Element::int64};
    if (number.type == Element::other || !is_whole(digits.type) || all > 2) {
        Reference numpy(PyImport_ImportModule("numpy"));
        Reference function(numpy ? PyObject_GetAttrString(numpy.get(), "round") : nullptr);
        return function ? PyObject_Vectorcall(function.get(), arguments, static_cast<std::size_t>(count),
                                              keyword_names)
                        : nullptr;
    }
    if (is_whole(number.type) && digits.whole >= 0) return make_number(Element::int64, number);
    const Number wide{Element::float64, 0, number.as_double()};
    Reference rounded(round_to_digits(wide, digits.as_double()));
    if (!rounded || !is_whole(number.type)) return rounded.release();
    return make_number(Element::int64, read_number(rounded.get()));
}

// -- int, float, bool, complex: the names stand for types too
// ------------------------------------------------------------

struct TypeName {
    PyObject_HEAD PyTypeObject* type;
};

PyObject* convert(PyTypeObject* type, PyObject* value) {
    const Number number = read_number(plain_value(value));
    if (number.type == Element::other) return nullptr;
    Element target = is_integer(number.type) ? number.type : Element::int64;
    if (type == &PyBool_Type) target = Element::boolean;
    if (type == &PyFloat_Type) target = is_float(number.type) ? number.type : Element::float64;
    return is_unwritten(value) ? converted_unwritten(target, value) : make_number(target, number);
}

PyObject* call_type(PyObject* self, PyObject* arguments, PyObject* keywords) {
    PyTypeObject* type = reinterpret_cast<TypeName*>(self)->type;
    if (type == &PyComplex_Type) return call_complex(arguments, keywords);
    if (PyTuple_GET_SIZE(arguments) == 1 && keywords == nullptr) {
        PyObject* value = PyTuple_GET_ITEM(arguments, 0);
        if (type == &PyLong_Type && std::string_view(Py_TYPE(value)->tp_name) == "numpy.timedelta64") {
            // The number of units, where NumPy goes by way of datetime.timedelta.
            Reference count(PyObject_CallMethod(value, "view", "s", "i8"));
            return count ? make_number(Element::int64, read_number(count.get())) : nullptr;
        }
        if (PyObject* converted = convert(type, PyTuple_GET_ITEM(arguments, 0))) return converted;
        if (PyErr_Occurred()) return nullptr;
    }
    Reference made(PyObject_Call(reinterpret_cast<PyObject*>(type), arguments, keywords));
    if (!made) return nullptr;
    PyObject* converted = convert(type, made.get());
    return converted != nullptr || PyErr_Occurred() ? converted : made.release();
}

PyObject* is_instance(PyObject* self, PyObject* value) {
    return PyBool_FromLong(PyType_IsSubtype(Py_TYPE(value), reinterpret_cast<TypeName*>(self)->type));
}
PyObject* is_subclass(PyObject* self, PyObject* value) {
    const bool known = PyType_Check(value) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(value),
                                                               reinterpret_cast<TypeName*>(self)->type);
    return PyBool_FromLong(known);
}
PyObject* type_attribute(PyObject* self, PyObject* name) {
    PyObject* own = PyObject_GenericGetAttr(self, name);
    if (own != nullptr || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
    PyErr_Clear();
    return PyObject_GetAttr(reinterpret_cast<PyObject*>(reinterpret_cast<TypeName*>(self)->type), name);
}
PyObject* wrapped_type(PyObject* self, void*) {
    return Py_NewRef(reinterpret_cast<PyObject*>(reinterpret_cast<TypeName*>(self)->type));
}
PyObject* type_text(PyObject* self) {
    return PyObject_Repr(reinterpret_cast<PyObject*>(reinterpret_cast<TypeName*>(self)->type));
}

PyMethodDef type_methods[] = {{"__instancecheck__", &is_instance, METH_O, nullptr},
                              {"__subclasscheck__", &is_subclass, METH_O, nullptr},
                              {nullptr, nullptr, 0, nullptr}};
PyGetSetDef type_members[] = {{"__wrapped__", &wrapped_type, nullptr, "Python's own type.", nullptr},
                              {nullptr, nullptr, nullptr, nullptr, nullptr}};

bool add_type_names(PyObject* table) {
    PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_type)},
                           {Py_tp_getattro, reinterpret_cast<void*>(&type_attribute)},
                           {Py_tp_repr, reinterpret_cast<void*>(&type_text)},
                           {Py_tp_methods, type_methods},
                           {Py_tp_getset, type_members},
                           {0, nullptr}};
    PyType_Spec specification = {"cudasim.TypeName", sizeof(TypeName), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    Reference type(PyType_FromSpec(&specification));
    const std::pair<const char*, PyTypeObject*> names[] = {{"int", &PyLong_Type},
                                                           {"float", &PyFloat_Type},
                                                           {"bool", &PyBool_Type},
                                                           {"complex", &PyComplex_Type}};
    for (const auto& [name, original] : names) {
        if (!type) return false;
        Reference made(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type.get()), 0));
        if (!made) return false;
        reinterpret_cast<TypeName*>(made.get())->type = original;
        if (PyDict_SetItemString(table, name, made.get()) != 0) return false;
    }
    return true;
}

// -- NumPy's ufuncs on numbers (frontend/pykernel/calls/ufunc_calls.cpp has the rules)
// ----------------------------------

struct Ufunc {
    PyObject_HEAD PyObject* original;
    PyObject* math;              ///< the function of the math module that computes the same; or null
    PyObject* complex_function;  ///< what computes it for complex numbers; or null
    PyObject* array_function;    ///< callable(ufunc, *arguments) for arrays
};

/// The type that floats and integers of a call meet in; other when there are only integers.
Element float_loop(const std::vector<Number>& numbers, bool always) {
    bool any_float = always, wide = false, known = false;
    for (const Number& number : numbers) known |= is_float(number.type);
    for (const Number& number : numbers) {
        any_float |= is_float(number.type);
        const bool needs_64 = !known && arithmetic_type(number.type, Element::float32) == Element::float64;
        wide |= number.type == Element::float64 || needs_64;
    }
    return any_float ? (wide ? Element::float64 : Element::float32) : Element::other;
}

PyObject* numpy_scalar(Element type, const Number& number) {
    static constexpr const char* names[] = {"bool_",   "int8",    "int16",  "int32",  "int64",
                                            "uint8",   "uint16",  "uint32", "uint64", "float32",
                                            "float16", "float32", "float64"};
    Reference numpy(PyImport_ImportModule("numpy")), value(make_number(type, number));
    Reference scalar_type(numpy ? PyObject_GetAttrString(numpy.get(), names[static_cast<int>(type)])
                                : nullptr);
    return scalar_type && value ? PyObject_CallOneArg(scalar_type.get(), value.get()) : nullptr;
}

/// divide; minimum, maximum, fmin, fmax of floats: of equals the first, which NumPy leaves to the processor.
/// Null for any other ufunc.
PyObject* float_choice(const Ufunc* ufunc, const std::vector<Number>& numbers, Element loop) {
    Reference name(PyObject_GetAttrString(ufunc->original, "__name__"));
    const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
    const std::string_view kind = text == nullptr ? "" : text;
    const bool smaller = kind == "minimum" || kind == "fmin",
               prefers_nan = kind == "minimum" || kind == "maximum";
    if (numbers.size() != 2) return nullptr;
    const double a = numbers[0].as_double(), b = numbers[1].as_double();
    if (kind == "divide") {  // unlike the operator it does not count zero divisors
        if (loop == Element::float64) return make_float64(a / b);
        return make_float32(static_cast<float>(a) / static_cast<float>(b));
    }
    if (!(smaller || kind == "maximum" || kind == "fmax")) return nullptr;
    const bool decides = std::isnan(prefers_nan ? a : b), loses = std::isnan(prefers_nan ? b : a);
    const bool first = decides || ((smaller ? a <= b : a >= b) && !loses);
    return make_number(loop, {Element::float64, 0, first ? a : b});
}

bool is_division(const Ufunc* ufunc) {
    Reference name(PyObject_GetAttrString(ufunc->original, "__name__"));
    return name && PyUnicode_CompareWithASCIIString(name.get(), "divide") == 0;
}

PyObject* call_array_ufunc(PyObject* self, PyObject* arguments) {
    Reference own(PyTuple_Pack(1, self));
    Reference all(own ? PySequence_Concat(own.get(), arguments) : nullptr);
    return all ? PyObject_CallObject(reinterpret_cast<Ufunc*>(self)->array_function, all.get()) : nullptr;
}

/// The library's function, or NumPy's, of the type that the compiler computes in.
PyObject* call_complex_ufunc(const Ufunc* ufunc, PyObject* arguments) {
    if (ufunc->complex_function != nullptr) return PyObject_CallObject(ufunc->complex_function, arguments);
    Element loop = Element::complex64;
    std::vector<ComplexNumber> numbers;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
        numbers.push_back(read_complex(PyTuple_GET_ITEM(arguments, i)));
        if (numbers.back().type == Element::other) return PyObject_Call(ufunc->original, arguments, nullptr);
        if (numbers.back().type == Element::float64 || numbers.back().type == Element::complex128)
            loop = Element::complex128;
    }
    Reference values(PyTuple_New(PyTuple_GET_SIZE(arguments)));
    for (std::size_t i = 0; values && i < numbers.size(); ++i) {
        Reference own(make_complex(loop, numbers[i].real, numbers[i].imaginary));
        Reference plain(
            own ? PyObject_CallOneArg(reinterpret_cast<PyObject*>(Py_TYPE(own.get())->tp_base), own.get())
                : nullptr);
        if (!plain) return nullptr;
        PyTuple_SET_ITEM(values.get(), static_cast<Py_ssize_t>(i), plain.release());
    }
    Reference result(values ? PyObject_CallObject(ufunc->original, values.get()) : nullptr);
    if (!result) return nullptr;
    const ComplexNumber number = read_complex(result.get());
    if (is_complex(result.get())) return make_complex(number.type, number.real, number.imaginary);
    const Number real = read_number(result.get());
    return real.type == Element::other ? result.release() : make_number(real.type, real);
}

PyObject* call_ufunc(PyObject* self, PyObject* arguments, PyObject* keywords) {
    auto* ufunc = reinterpret_cast<Ufunc*>(self);
    std::vector<Number> numbers;
    for (Py_ssize_t i = 0; keywords == nullptr && i < PyTuple_GET_SIZE(arguments); ++i)
        if (Py_TYPE(PyTuple_GET_ITEM(arguments, i)) == kernel_array_type)
            return call_array_ufunc(self, arguments);
    for (Py_ssize_t i = 0; keywords == nullptr && i < PyTuple_GET_SIZE(arguments); ++i)
        if (is_complex(PyTuple_GET_ITEM(arguments, i))) return call_complex_ufunc(ufunc, arguments);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
        numbers.push_back(read_number(PyTuple_GET_ITEM(arguments, i)));
        if (numbers.back().type == Element::other || keywords != nullptr)
            return PyObject_Call(ufunc->original, arguments, keywords);
    }
    if (numbers.empty()) return PyObject_Call(ufunc->original, arguments, keywords);
    const Element loop = float_loop(numbers, ufunc->math != nullptr || is_division(ufunc));
    if (is_float(loop)) {
        if (PyObject* chosen = float_choice(ufunc, numbers, loop)) return chosen;
        if (PyErr_Occurred()) return nullptr;
    }
    Reference values(PyTuple_New(PyTuple_GET_SIZE(arguments)));
    for (std::size_t i = 0; values && i < numbers.size(); ++i) {
        const Element type = loop == Element::other ? numbers[i].type : loop;
        PyObject* value =
            ufunc->math != nullptr ? make_number(type, numbers[i]) : numpy_scalar(type, numbers[i]);
        if (value == nullptr) return nullptr;
        PyTuple_SET_ITEM(values.get(), static_cast<Py_ssize_t>(i), value);
    }
    Reference result(
        values ? PyObject_CallObject(ufunc->math != nullptr ? ufunc->math : ufunc->original, values.get())
               : nullptr);
    if (!result) return nullptr;
    const Number number = read_number(result.get());
    return number.type == Element::other ? result.release() : make_number(number.type, number);
}

PyObject* ufunc_attribute(PyObject* self, PyObject* name) {
    PyObject* original = reinterpret_cast<Ufunc*>(self)->original;
    return PyObject_GetAttr(original, name);
}
PyObject* ufunc_text(PyObject* self) {
    return PyObject_Repr(reinterpret_cast<Ufunc*>(self)->original);
}

void deallocate_ufunc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    Py_XDECREF(reinterpret_cast<Ufunc*>(self)->original);
    Py_XDECREF(reinterpret_cast<Ufunc*>(self)->math);
    Py_XDECREF(reinterpret_cast<Ufunc*>(self)->complex_function);
    Py_XDECREF(reinterpret_cast<Ufunc*>(self)->array_function);
    type->tp_free(self);
    Py_DECREF(type);
}

PyTypeObject* ufunc_type() {
    static PyTypeObject* type = nullptr;
    if (type != nullptr) return type;
    PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_ufunc)},
                           {Py_tp_getattro, reinterpret_cast<void*>(&ufunc_attribute)},
                           {Py_tp_repr, reinterpret_cast<void*>(&ufunc_text)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(&deallocate_ufunc)},
                           {0, nullptr}};
    PyType_Spec specification = {"cudasim.Ufunc", sizeof(Ufunc), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    return type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&specification));
}

/// time.sleep(): other threads have their turns meanwhile, so that a block's threads sleep side by side, and
/// the time limit and signals end it.
PyObject* sleep(PyObject*, PyObject* seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::milliseconds slice(1);
    const double duration = PyFloat_AsDouble(seconds);
    if (duration == -1 && PyErr_Occurred()) return nullptr;
    if (!(duration >= 0 && duration < 1e9)) {
        PyErr_SetString(PyExc_ValueError, "sleep length must be a non-negative number of seconds below 1e9");
        return nullptr;
    }
    const auto end =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(duration));
    for (;;) {
        if (current_thread != nullptr && !give_turn()) return nullptr;
        const Clock::time_point now = Clock::now();
        if (now >= end) Py_RETURN_NONE;
        PyThreadState* const state = PyEval_SaveThread();
        std::this_thread::sleep_for(std::min<Clock::duration>(end - now, slice));
        cpython::take_gil(state, false);
        if (PyErr_CheckSignals() != 0) return nullptr;
    }
}

PyMethodDef functions[] = {{"time.sleep", &sleep, METH_O, nullptr},
                           {"min", fast(&extremum<false>), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"max", fast(&extremum<true>), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"numpy.round", fast(&numpy_round), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"round", fast(&round_number), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_builtins(PyObject* table) {
    return add_functions(table, "", functions) && add_type_names(table);
}

PyObject* make_ufunc(PyObject* original, PyObject* math, PyObject* complex_function,
                     PyObject* array_function) {
    PyTypeObject* type = ufunc_type();
    auto* ufunc = type == nullptr ? nullptr : reinterpret_cast<Ufunc*>(PyType_GenericAlloc(type, 0));
    if (ufunc == nullptr) return nullptr;
    ufunc->original = Py_NewRef(original);
    ufunc->math = math == Py_None ? nullptr : Py_NewRef(math);
    ufunc->array_function = Py_NewRef(array_function);
    ufunc->complex_function = complex_function == Py_None ? nullptr : Py_NewRef(complex_function);
    return reinterpret_cast<PyObject*>(ufunc);
}

}  // namespace cudasim::pyfiber

// Positions, barriers, fences and bit operations.
#include "frontend/pyfiber/intrinsics.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "frontend/pyfiber/accesses.h"
#include "frontend/pyfiber/kernel_float.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/reference.h"
#include "frontend/pyfiber/simulated_thread.h"
#include "simulator/libdevice/special_functions.h"

namespace cudasim::pyfiber {

SimulatedThread* require_thread(const char* name) {
    if (current_thread == nullptr)
        PyErr_Format(PyExc_NotImplementedError,
                     "%s works in a kernel only: call it from a function decorated with @cuda.jit", name);
    return current_thread;
}

bool add_functions(PyObject* table, const char* prefix, PyMethodDef* methods) {
    for (PyMethodDef* method = methods; method->ml_name != nullptr; ++method) {
        PyObject* function = PyCFunction_New(method, nullptr);
        PyObject* name = PyUnicode_FromFormat("%s%s", prefix, method->ml_name);
        const bool good =
            function != nullptr && name != nullptr && PyDict_SetItem(table, name, function) == 0;
        Py_XDECREF(function);
        Py_XDECREF(name);
        if (!good) return false;
    }
    return true;
}

namespace {

using findings::Dim3;

/// The argument of grid(n) and gridsize(n); 0 with an exception set.
int dimension_argument(PyObject* argument) {
    const long n = PyLong_AsLong(argument);
    if (n >= 1 && n <= 3) return static_cast<int>(n);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "argument must be 1, 2 or 3");
    return 0;
}

PyObject* as_result(int count, const unsigned long long (&values)[3]) {
    auto number = [&](int i) { return make_integer(Element::int64, static_cast<std::int64_t>(values[i])); };
    if (count == 1) return number(0);
    return count == 2 ? Py_BuildValue("NN", number(0), number(1))
                      : Py_BuildValue("NNN", number(0), number(1), number(2));
}

PyObject* grid(PyObject*, PyObject* argument) {
    SimulatedThread* thread = require_thread("cuda.grid()");
    const int count = thread == nullptr ? 0 : dimension_argument(argument);
    if (count == 0) return nullptr;
    const Dim3 tid = thread->handle->tid(), block = thread->handle->ctaid(), extent = thread->handle->ntid();
    using Wide = unsigned long long;
    return as_result(count, {Wide{block.x} * extent.x + tid.x, Wide{block.y} * extent.y + tid.y,
                             Wide{block.z} * extent.z + tid.z});
}

/// CPython's loops take elements of any type.
PyObject* literal_unroll(PyObject*, PyObject* tuple) {
    return Py_NewRef(tuple);
}

PyObject* gridsize(PyObject*, PyObject* argument) {
    SimulatedThread* thread = require_thread("cuda.gridsize()");
    const int count = thread == nullptr ? 0 : dimension_argument(argument);
    if (count == 0) return nullptr;
    const Dim3 extent = thread->handle->ntid(), blocks = thread->handle->nctaid();
    using Wide = unsigned long long;
    return as_result(count,
                     {Wide{blocks.x} * extent.x, Wide{blocks.y} * extent.y, Wide{blocks.z} * extent.z});
}

PyObject* laneid(PyObject*, PyObject*) {
    SimulatedThread* thread = require_thread("cuda.laneid");
    return thread == nullptr ? nullptr : make_integer(Element::int32, thread->handle->thread() % 32);
}

PyObject* syncthreads(PyObject*, PyObject*) {
    std::int32_t result = 0;
    if (require_thread("cuda.syncthreads()") == nullptr) return nullptr;
    if (!wait_for_block(jit::BarrierKind::plain, false, result)) return nullptr;
    Py_RETURN_NONE;
}

template <jit::BarrierKind kind>
PyObject* counting_barrier(PyObject*, PyObject* predicate) {
    if (require_thread("a barrier") == nullptr) return nullptr;
    const int truth = PyObject_IsTrue(predicate);
    std::int32_t result = 0;
    if (truth < 0 || !wait_for_block(kind, truth != 0, result)) return nullptr;
    return make_integer(Element::int32, result);
}

template <image::Scope scope>
PyObject* fence(PyObject*, PyObject*) {
    if (require_thread("a fence") == nullptr || !burn(fuel_of_atomic)) return nullptr;
    tell_fence(scope);
    Py_RETURN_NONE;
}

PyObject* nanosleep(PyObject*, PyObject*) {
    if (require_thread("cuda.nanosleep()") == nullptr || !give_turn()) return nullptr;
    Py_RETURN_NONE;
}

/// An integer of a type of its own; a bool is an int8.
bool bits_of(PyObject* argument, Number& number) {
    number = read_number(argument);
    if (number.type == Element::float32 ||
        number.type == Element::float64) {  // as the compiler converts them
        const double x = number.as_double();
        number.whole = std::isnan(x) ? 0 : static_cast<std::int64_t>(std::clamp(x, -128.0, 127.0));
        number.type = Element::int8;
    }
    if (number.type == Element::boolean) number.type = Element::int8;
    if (is_integer(number.type)) return true;
    PyErr_Format(PyExc_TypeError, "an integer is needed, not %.100s", Py_TYPE(argument)->tp_name);
    return false;
}

/// Those that the type has.
std::uint64_t own_bits(const Number& number) {
    return static_cast<std::uint64_t>(number.whole) & ~std::uint64_t{0} >> (64 - 8 * width(number.type));
}

PyObject* popc(PyObject*, PyObject* argument) {
    Number x;
    return bits_of(argument, x) ? make_integer(x.type, std::popcount(own_bits(x))) : nullptr;
}
PyObject* clz(PyObject*, PyObject* argument) {
    Number x;
    if (!bits_of(argument, x)) return nullptr;
    return make_integer(x.type, std::countl_zero(own_bits(x)) - (64 - 8 * width(x.type)));
}
PyObject* ffs(PyObject*, PyObject* argument) {
    Number x;
    if (!bits_of(argument, x)) return nullptr;
    const auto bits = static_cast<std::uint64_t>(x.whole);
    return make_integer(Element::uint32, bits == 0 ? 0 : std::countr_zero(bits) + 1);
}
/// Reverses the low 32 bits of the argument, or all 64 of a uint64.
PyObject* brev(PyObject*, PyObject* argument) {
    Number x;
    if (!bits_of(argument, x)) return nullptr;
    const Element type = x.type == Element::uint64 ? x.type : Element::uint32;
    const int count = 8 * width(type);
    std::uint64_t reversed = 0;
    for (int i = 0; i < count; ++i)
        reversed |= (static_cast<std::uint64_t>(x.whole) >> i & 1) << (count - 1 - i);
    return make_integer(type, static_cast<std::int64_t>(reversed));
}

PyObject* cbrt(PyObject*, PyObject* argument) {
    const Number x = read_number(argument);
    if (x.type == Element::other) {
        PyErr_SetString(PyExc_TypeError, "cbrt() takes a number");
        return nullptr;
    }
    if (arithmetic_type(x.type, Element::float32) == Element::float32)
        return make_float32(libdevice::cube_root(static_cast<float>(x.as_double())));
    return make_float64(libdevice::cube_root(x.as_double()));
}

PyObject* selp(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    if (count != 3) {
        PyErr_SetString(PyExc_TypeError, "selp() takes a condition and two values");
        return nullptr;
    }
    const int truth = PyObject_IsTrue(arguments[0]);
    return truth < 0 ? nullptr : Py_NewRef(arguments[truth ? 1 : 2]);
}

PyObject* fma(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    double values[3] = {};
    bool narrow = true;
    for (Py_ssize_t i = 0; i < 3; ++i) {
        const NumberKind kind = i < count ? number_of(arguments[i], values[i]) : NumberKind::none;
        if (kind == NumberKind::none || count != 3) {
            PyErr_SetString(PyExc_TypeError, "fma() takes three numbers");
            return nullptr;
        }
        narrow &= kind == NumberKind::float32;
    }
    if (narrow)
        return make_float32(std::fmaf(static_cast<float>(values[0]), static_cast<float>(values[1]),
                                      static_cast<float>(values[2])));
    return make_float64(std::fma(values[0], values[1], values[2]));
}

PyMethodDef functions[] = {{"grid", &grid, METH_O, nullptr},
                           {"literal_unroll", &literal_unroll, METH_O, nullptr},
                           {"gridsize", &gridsize, METH_O, nullptr},
                           {"laneid", &laneid, METH_O, nullptr},
                           {"syncthreads", &syncthreads, METH_NOARGS, nullptr},
                           {"syncthreads_count", &counting_barrier<jit::BarrierKind::count>, METH_O, nullptr},
                           {"syncthreads_and", &counting_barrier<jit::BarrierKind::all>, METH_O, nullptr},
                           {"syncthreads_or", &counting_barrier<jit::BarrierKind::any>, METH_O, nullptr},
                           {"threadfence", &fence<image::Scope::device>, METH_NOARGS, nullptr},
                           {"threadfence_block", &fence<image::Scope::block>, METH_NOARGS, nullptr},
                           {"threadfence_system", &fence<image::Scope::system>, METH_NOARGS, nullptr},
                           {"nanosleep", &nanosleep, METH_O, nullptr},
                           {"popc", &popc, METH_O, nullptr},
                           {"brev", &brev, METH_O, nullptr},
                           {"clz", &clz, METH_O, nullptr},
                           {"ffs", &ffs, METH_O, nullptr},
                           {"cbrt", &cbrt, METH_O, nullptr},
                           {"selp", fast(&selp), METH_FASTCALL, nullptr},
                           {"fma", fast(&fma), METH_FASTCALL, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

// -- threadIdx, blockIdx, blockDim, gridDim: objects with x, y, z
// ------------------------------------------------

using Getter = Dim3 (execution::ThreadHandle::*)() const;

struct Coordinates {
    PyObject_HEAD Getter getter;
};

template <std::uint32_t Dim3::* axis>
PyObject* coordinate(PyObject* self, void*) {
    SimulatedThread* thread = require_thread("an index of the thread");
    if (thread == nullptr) return nullptr;
    const Dim3 value = (thread->handle->*reinterpret_cast<Coordinates*>(self)->getter)();
    return make_integer(Element::int32, value.*axis);
}

PyGetSetDef coordinates[] = {{"x", &coordinate<&Dim3::x>, nullptr, nullptr, nullptr},
                             {"y", &coordinate<&Dim3::y>, nullptr, nullptr, nullptr},
                             {"z", &coordinate<&Dim3::z>, nullptr, nullptr, nullptr},
                             {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyObject* coordinates_text(PyObject* self) {
    if (current_thread == nullptr)
        return PyUnicode_FromString("<an index of the thread, for use in kernels>");
    const Dim3 value = (current_thread->handle->*reinterpret_cast<Coordinates*>(self)->getter)();
    return PyUnicode_FromFormat("(x=%u, y=%u, z=%u)", value.x, value.y, value.z);
}

bool add_coordinates(PyObject* table) {
    PyType_Slot slots[] = {
        {Py_tp_getset, coordinates}, {Py_tp_repr, reinterpret_cast<void*>(&coordinates_text)}, {0, nullptr}};
    PyType_Spec specification = {"cudasim.Coordinates", sizeof(Coordinates), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyObject* type = PyType_FromSpec(&specification);
    if (type == nullptr) return false;
    using execution::ThreadHandle;
    const std::pair<const char*, Getter> members[] = {{"cuda.threadIdx", &ThreadHandle::tid},
                                                      {"cuda.blockIdx", &ThreadHandle::ctaid},
                                                      {"cuda.blockDim", &ThreadHandle::ntid},
                                                      {"cuda.gridDim", &ThreadHandle::nctaid}};
    bool good = true;
    for (const auto& [name, getter] : members) {
        auto* made =
            reinterpret_cast<Coordinates*>(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0));
        good = good && made != nullptr;
        if (made == nullptr) break;
        made->getter = getter;
        good = good && PyDict_SetItemString(table, name, reinterpret_cast<PyObject*>(made)) == 0;
        Py_DECREF(made);
    }
    Py_DECREF(type);
    return good;
}

}  // namespace

bool add_intrinsics(PyObject* table) {
    return add_functions(table, "cuda.", functions) && add_coordinates(table);
}

}  // namespace cudasim::pyfiber

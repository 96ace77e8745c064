// shared.array, local.array, const.array_like: one allocation per source place (V4).
#include <algorithm>
#include <vector>

#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/reference.h"
#include "simulator/memory/arena.h"

namespace cudasim::pyfiber {
namespace {

using execution::MemorySpace;

constexpr std::uint16_t local_poison = 0xFFFF;  // as simulator/jit/control_and_memory.cpp's

PyObject *dtype_of = nullptr, *excess_of_shared = nullptr, *excess_of_local = nullptr,
         *make_constant = nullptr, *names_of_shared = nullptr, *array_of_objects = nullptr;

/// Extents of a shape: an int or a tuple of ints. False with an exception set.
bool extents_of(PyObject* shape, std::vector<Py_ssize_t>& extents) {
    const bool several = PyTuple_Check(shape) || PyList_Check(shape);
    Reference parts(several ? PySequence_Tuple(shape) : PyTuple_Pack(1, shape));
    for (Py_ssize_t i = 0; parts && i < PyTuple_GET_SIZE(parts.get()); ++i) {
        const Py_ssize_t extent = PyNumber_AsSsize_t(PyTuple_GET_ITEM(parts.get(), i), PyExc_ValueError);
        if (extent == -1 && PyErr_Occurred()) return false;
        if (extent < 0) {
            PyErr_SetString(PyExc_ValueError, "an array's extents are not negative");
            return false;
        }
        extents.push_back(extent);
    }
    return static_cast<bool>(parts);
}

struct Wanted {
    static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62;  ///< so that sums do not overflow
    Reference dtype;
    Py_ssize_t itemsize = 0;
    std::vector<Py_ssize_t> extents;
    [[nodiscard]] std::uint64_t bytes() const {
        auto total = static_cast<std::uint64_t>(itemsize);
        for (const Py_ssize_t extent : extents)
            if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total)) return most_bytes;
        return std::min(total, most_bytes);
    }
};

/// (shape, dtype[, alignment])
bool parse(PyObject* arguments, PyObject* keywords, Wanted& wanted) {
    static const char* names[] = {"shape", "dtype", "alignment", nullptr};
    PyObject *shape = nullptr, *dtype = nullptr, *alignment = nullptr;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|O:array", const_cast<char**>(names), &shape,
                                     &dtype, &alignment))
        return false;
    wanted.dtype = Reference(PyObject_CallOneArg(dtype_of, dtype));
    if (!wanted.dtype) return false;
    Reference size(PyObject_GetAttrString(wanted.dtype.get(), "itemsize"));
    wanted.itemsize = size ? PyLong_AsSsize_t(size.get()) : 0;
    return size && extents_of(shape, wanted.extents);
}

/// @param error new reference, or null with another exception set
void raise(PyObject* error) {
    if (error != nullptr) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
    Py_XDECREF(error);
}

PyObject* find(const std::vector<SharedArray>& arrays, const CodePlace& place, const Wanted& wanted) {
    for (const SharedArray& known : arrays) {
        const bool same = known.place == place && known.extents == wanted.extents;
        if (same && PyObject_RichCompareBool(known.dtype.get(), wanted.dtype.get(), Py_EQ) == 1)
            return known.array.get();
    }
    return nullptr;
}

/// All arrays of shape 0 lie in the launch's dynamic shared memory, each from its beginning.
PyObject* dynamic_array(BlockMemory& block, const LaunchLimits& limits, const Wanted& wanted) {
    const auto bytes = static_cast<Py_ssize_t>(limits.dynamic_shared_bytes);
    if (!block.dynamic) {
        block.dynamic = Reference(make_fresh_memory(bytes, memory::poison_pattern));
        if (!block.dynamic) return nullptr;
        tell_memory(Address(PyByteArray_AS_STRING(block.dynamic.get())), static_cast<std::size_t>(bytes),
                    MemorySpace::shared);
    }
    const Py_ssize_t dimensions[2] = {bytes / wanted.itemsize, wanted.itemsize};
    return make_array(Address(PyByteArray_AS_STRING(block.dynamic.get())), wanted.dtype.get(), 1, dimensions,
                      true, block.dynamic.get());
}

/// For reports: what the source calls the array. False with an exception set.
bool note_name(SimulatedThread& thread, const CodePlace& place, const Wanted& wanted, PyObject* array) {
    if (!observes_memory()) return true;
    const Reference names(
        PyObject_CallFunction(names_of_shared, "OiO", place.code, place.instruction, wanted.dtype.get()));
    const char *name = nullptr, *type = nullptr;
    if (!names || !PyArg_ParseTuple(names.get(), "ss", &name, &type)) return false;
    execution::NamedArray noted;
    noted.name = name;
    noted.element_type = type;
    noted.address = reinterpret_cast<KernelArray*>(array)->data.number();
    std::int64_t bytes = wanted.itemsize;
    const bool is_dynamic = wanted.extents.size() == 1 && wanted.extents[0] == 0;
    if (is_dynamic) {
        bytes = static_cast<std::int64_t>(thread.launch->limits().dynamic_shared_bytes);
        noted.extents = {bytes / wanted.itemsize};
        noted.strides = {wanted.itemsize};
    } else {
        noted.extents.assign(wanted.extents.begin(), wanted.extents.end());
        noted.strides.resize(noted.extents.size());
        for (std::size_t axis = noted.extents.size(); axis-- > 0; bytes *= noted.extents[axis])
            noted.strides[axis] = bytes;
    }
    thread.launch->note_shared_array(std::move(noted), static_cast<std::uint64_t>(bytes));
    return true;
}

/// The code object is kept by the launch's sites.
PyObject* shared_array(PyObject*, PyObject* arguments, PyObject* keywords) {
    SimulatedThread* thread = require_thread("cuda.shared.array()");
    if (thread == nullptr) return nullptr;
    BlockMemory& block = thread->launch->block_memory(thread->handle->coordinate().block);
    const CodePlace place = current_place();
    Wanted wanted;
    if (!parse(arguments, keywords, wanted)) return nullptr;
    if (PyObject* known = find(block.arrays, place, wanted)) return Py_NewRef(known);
    (void)thread->launch->site_here();
    const LaunchLimits& limits = thread->launch->limits();
    PyObject* array = nullptr;
    if (wanted.extents.size() == 1 && wanted.extents[0] == 0) {
        array = dynamic_array(block, limits, wanted);
    } else {
        const std::uint64_t bytes = block.static_bytes + wanted.bytes();
        if (bytes > limits.static_shared_bytes || bytes + limits.dynamic_shared_bytes > limits.shared_bytes) {
            raise(PyObject_CallFunction(excess_of_shared, "KK", static_cast<unsigned long long>(bytes),
                                        static_cast<unsigned long long>(limits.dynamic_shared_bytes)));
            return nullptr;
        }
        array = make_fresh_array(wanted.dtype.get(), static_cast<int>(wanted.extents.size()),
                                 wanted.extents.data(), memory::poison_pattern, MemorySpace::shared);
        if (array != nullptr) block.static_bytes = bytes;
    }
    if (array != nullptr && !note_name(*thread, place, wanted, array)) {
        Py_DECREF(array);
        return nullptr;
    }
    if (array != nullptr)
        block.arrays.push_back({place, wanted.extents, std::move(wanted.dtype), Reference::borrowed(array)});
    return array;
}

/// Those of calls that have returned: nobody else has their frame any more.
void drop_finished(SimulatedThread& thread) {
    std::erase_if(thread.local_arrays, [&](const LocalArray& local) {
        if (Py_REFCNT(local.frame) > 1) return false;
        drop(thread, local);
        return true;
    });
}

PyObject* local_array(PyObject*, PyObject* arguments, PyObject* keywords) {
    SimulatedThread* thread = require_thread("cuda.local.array()");
    if (thread == nullptr) return nullptr;
    const CodePlace place = current_place();
    auto* frame = reinterpret_cast<PyObject*>(PyEval_GetFrame());
    for (const LocalArray& local : thread->local_arrays)
        if (local.place == place && local.frame == frame) return Py_NewRef(local.array);
    Wanted wanted;
    if (!parse(arguments, keywords, wanted)) return nullptr;
    drop_finished(*thread);
    std::uint64_t bytes = wanted.bytes();
    for (const LocalArray& local : thread->local_arrays) bytes += local.bytes;
    if (bytes > jit::local_memory_per_thread) {
        raise(PyObject_CallFunction(
            excess_of_local, "sKKOOi", thread->launch->name().c_str(), static_cast<unsigned long long>(bytes),
            static_cast<unsigned long long>(jit::local_memory_per_thread), place.code->co_filename,
            place.code->co_name, PyFrame_GetLineNumber(PyEval_GetFrame())));
        return nullptr;
    }
    PyObject* array = make_fresh_array(wanted.dtype.get(), static_cast<int>(wanted.extents.size()),
                                       wanted.extents.data(), local_poison, MemorySpace::local);
    if (array != nullptr)
        thread->local_arrays.push_back({place, Py_XNewRef(frame), Py_NewRef(array), wanted.bytes()});
    return array;
}

/// The array as the kernel gets it. @param array new reference, or null with an exception set
PyObject* as_given(PyObject* array) {
    if (array == nullptr) return nullptr;
    const Reference owned(array);
    const Reference metadata(
        PyObject_GetAttrString(reinterpret_cast<const KernelArray*>(array)->dtype, "metadata"));
    if (!metadata) return nullptr;
    if (metadata.get() == Py_None) return Py_NewRef(array);
    return PyObject_CallFunctionObjArgs(array_of_objects, metadata.get(), array, nullptr);
}

PyObject* given_shared_array(PyObject* self, PyObject* arguments, PyObject* keywords) {
    return as_given(shared_array(self, arguments, keywords));
}

PyObject* given_local_array(PyObject* self, PyObject* arguments, PyObject* keywords) {
    return as_given(local_array(self, arguments, keywords));
}

PyObject* constant_array(PyObject*, PyObject* array) {
    if (require_thread("cuda.const.array_like()") == nullptr) return nullptr;
    if (Py_TYPE(array) == kernel_array_type)
        return Py_NewRef(array);  // a global array: constant memory already
    return PyObject_CallOneArg(make_constant, array);
}

PyMethodDef functions[] = {
    {"shared.array", with_keywords(&given_shared_array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"local.array", with_keywords(&given_local_array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"const.array_like", &constant_array, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

void set_memory_helpers(PyObject* dtype, PyObject* shared_excess, PyObject* local_excess, PyObject* constant,
                        PyObject* shared_names, PyObject* objects) {
    Py_XSETREF(array_of_objects, Py_NewRef(objects));
    Py_XSETREF(names_of_shared, Py_NewRef(shared_names));
    Py_XSETREF(dtype_of, Py_NewRef(dtype));
    Py_XSETREF(excess_of_shared, Py_NewRef(shared_excess));
    Py_XSETREF(excess_of_local, Py_NewRef(local_excess));
    Py_XSETREF(make_constant, Py_NewRef(constant));
}

bool add_memory_intrinsics(PyObject* table) {
    return add_functions(table, "cuda.", functions);
}

}  // namespace cudasim::pyfiber

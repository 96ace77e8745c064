// cuda.ldca … cuda.stwt in Python mode: loads and stores of one element of global memory, as any other.
// Types and refusals: frontend/pykernel/calls/cache_hint_calls.cpp, which compiles these kernels first.
#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_array.h"
#include "frontend/pyfiber/kernel_launch.h"
#include "frontend/pyfiber/reference.h"

namespace cudasim::pyfiber {
namespace {

/// The arguments in the order (array, i, value), by place or by name. False with an exception set.
bool in_order(PyObject* const* given, Py_ssize_t count, PyObject* names, Py_ssize_t wanted,
              PyObject** arguments) {
    static constexpr const char* parameters[] = {"array", "i", "value"};
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < wanted && i < count; ++i) arguments[i] = given[i];
    bool good = count + named == wanted;
    for (Py_ssize_t k = 0; good && k < named; ++k) {
        Py_ssize_t place = 0;
        while (place < wanted &&
               PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, k), parameters[place]) != 0)
            ++place;
        good = place < wanted && arguments[place] == nullptr;
        if (good) arguments[place] = given[count + k];
    }
    if (!good)
        PyErr_SetString(PyExc_TypeError,
                        "a load with a cache hint takes (array, i), a store (array, i, value)");
    return good;
}

/// None with an exception set.
Address place(PyObject* const* arguments, KernelArray*& array) {
    if (require_thread("a load or store with a cache hint") == nullptr) return {};
    if (Py_TYPE(arguments[0]) != kernel_array_type) {
        PyErr_Format(PyExc_TypeError, "a cache hint is for arrays, not for %.100s",
                     Py_TYPE(arguments[0])->tp_name);
        return {};
    }
    array = reinterpret_cast<KernelArray*>(arguments[0]);
    if (array->element == Element::other || array->element == Element::boolean) {
        PyErr_SetString(PyExc_TypeError, "a cache hint is for integers and floats");
        return {};
    }
    return element_address(array, arguments[1]);
}

/// Those that look past the first cache are volatile to the compiler.
template <bool is_volatile>
PyObject* load_hinted(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    KernelArray* array = nullptr;
    PyObject* arguments[2] = {};
    if (!in_order(given, count, names, 2, arguments)) return nullptr;
    const Address address = place(arguments, array);
    if (!address || !burn(fuel_of_atomic)) return nullptr;  // threads may wait for what they read
    return load(array->element, address, is_volatile ? volatile_access : plain_access);
}

PyObject* store_hinted(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    KernelArray* array = nullptr;
    PyObject* arguments[3] = {};
    if (!in_order(given, count, names, 3, arguments)) return nullptr;
    const Address address = place(arguments, array);
    if (!address || !check_writable(array) || !store(array->element, address, arguments[2])) return nullptr;
    Py_RETURN_NONE;
}

PyMethodDef functions[] = {{"ldca", fast(&load_hinted<false>), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"ldcg", fast(&load_hinted<true>), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"ldcs", fast(&load_hinted<false>), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"ldlu", fast(&load_hinted<false>), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"ldcv", fast(&load_hinted<true>), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"stcg", fast(&store_hinted), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"stcs", fast(&store_hinted), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"stwb", fast(&store_hinted), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {"stwt", fast(&store_hinted), METH_FASTCALL | METH_KEYWORDS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_cache_hints(PyObject* table) {
    return add_functions(table, "cuda.", functions);
}

}  // namespace cudasim::pyfiber

// Cooperative groups: cuda.cg.this_grid(), an object whose sync() waits for all threads of the grid.
#include "frontend/pyfiber/intrinsics.h"
#include "frontend/pyfiber/kernel_number.h"
#include "frontend/pyfiber/simulated_thread.h"

namespace cudasim::pyfiber {
namespace {

PyObject* grid_group = nullptr;  ///< the only one: it holds nothing

PyObject* this_grid(PyObject*, PyObject*) {
    return require_thread("cuda.cg.this_grid()") == nullptr ? nullptr : Py_NewRef(grid_group);
}

/// Gives cudaSuccess.
PyObject* sync(PyObject*, PyObject*) {
    std::int32_t result = 0;
    if (require_thread("sync() of a grid") == nullptr) return nullptr;
    if (!wait_for_block(jit::BarrierKind::grid, false, result)) return nullptr;
    return make_integer(Element::int32, 0);
}

PyMethodDef methods[] = {{"sync", &sync, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMethodDef functions[] = {{"this_grid", &this_grid, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_group_intrinsics(PyObject* table) {
    PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, nullptr}};
    PyType_Spec specification = {"cudasim.GridGroup", sizeof(PyObject), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    PyObject* type = PyType_FromSpec(&specification);
    if (type == nullptr) return false;
    grid_group = PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0);
    Py_DECREF(type);
    return grid_group != nullptr && add_functions(table, "cuda.cg.", functions);
}

}  // namespace cudasim::pyfiber

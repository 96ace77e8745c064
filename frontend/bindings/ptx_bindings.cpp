// PTX text as an image of device functions: read_ptx(), PtxError; LinkError, which compile_python() raises.
#include "frontend/bindings/bindings.h"
#include "frontend/ptx/reader.h"
#include "simulator/image/linking.h"

namespace cudasim::bindings {

namespace py = pybind11;

void bind_ptx(py::module_& module) {
    static PyObject* ptx_error = PyErr_NewExceptionWithDoc(
        "cudasim._native.PtxError", "PTX text that is wrong or not supported: the reason and the line.", PyExc_ValueError, nullptr);
    static PyObject* link_error = PyErr_NewExceptionWithDoc(
        "cudasim._native.LinkError", "Linked code does not fit; _compiler.py makes a LinkerError of it.", PyExc_ValueError, nullptr);
    module.add_object("PtxError", py::reinterpret_borrow<py::object>(ptx_error));
    module.add_object("LinkError", py::reinterpret_borrow<py::object>(link_error));
    py::register_local_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) std::rethrow_exception(pointer);
        } catch (const ptx::PtxError& error) {
            PyErr_SetObject(ptx_error, py::make_tuple(error.what(), error.line).ptr());
        } catch (const image::LinkError& error) {
            PyErr_SetString(link_error, error.what());
        }
    });
    module.def("read_ptx", &ptx::read, py::arg("text"), py::arg("file"),
               "The functions of PTX text as a KernelImage without kernels. `file` is its name in reports. Raises PtxError.");
}

}  // namespace cudasim::bindings

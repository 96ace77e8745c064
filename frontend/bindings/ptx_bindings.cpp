// PTX text and LLVM IR as images: read_ptx(), read_llvm(), PtxError. Images put together: linked_image(),
// LinkError, which compile_python() raises too.
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "frontend/ptx/inline_assembly.h"
#include "frontend/ptx/reader.h"
#include "simulator/image/linking.h"

namespace cudasim::bindings {

namespace py = pybind11;

void bind_ptx(py::module_& module) {
    static PyObject* ptx_error = PyErr_NewExceptionWithDoc(
        "cudasim._native.PtxError", "PTX text that is wrong or not supported: the reason and the line.",
        PyExc_ValueError, nullptr);
    static PyObject* link_error = PyErr_NewExceptionWithDoc(
        "cudasim._native.LinkError", "Linked code does not fit; compiler.py makes a LinkerError of it.",
        PyExc_ValueError, nullptr);
    module.add_object("PtxError", py::reinterpret_borrow<py::object>(ptx_error));
    module.add_object("LinkError", py::reinterpret_borrow<py::object>(link_error));
    py::register_local_exception_translator([](std::exception_ptr pointer) {
        try {
            if (pointer) std::rethrow_exception(pointer);
        } catch (const ptx::PtxError& error) {
            PyErr_SetObject(ptx_error, py::make_tuple(error.what(), error.line).ptr());
        } catch (const image::LinkError& error) {
            py::set_error(link_error, py::cast(error.what()));
        }
    });
    module.def(
        "read_llvm",
        [](const std::string& text, const std::string& file) {
            return ptx::without_inline_assembly(image::KernelImage::from_ir_text(text), file);
        },
        py::arg("text"), py::arg("file"),
        "The functions of LLVM IR as KernelImages without kernels, inline PTX translated. Raises ImageError, "
        "PtxError.");
    module.def(
        "read_ptx",
        [](const std::string& text, const std::string& file, bool kernels) {
            return ptx::read(text, file, kernels ? ptx::Entries::kernels : ptx::Entries::left_out);
        },
        py::arg("text"), py::arg("file"), py::arg("kernels") = false,
        "PTX text as a KernelImage, with or without its entries. `file` is its name in reports. Raises "
        "PtxError.");
    module.def(
        "linked_image", [](const std::vector<image::KernelImage>& parts) { return image::linked(parts); },
        py::arg("parts"), "Images as one module, with the kernels of all. Raises LinkError.");
}

}  // namespace cudasim::bindings

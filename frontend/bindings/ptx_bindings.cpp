// PTX text and LLVM IR as images: read_ptx(), read_llvm(), PtxError. Images put together: linked_image(),
// LinkError, which compile_python() raises too. Kernels as PTX that reports faults: ReportingPtx.
#include <pybind11/stl.h>

#include <array>
#include <span>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/released_gil.h"
#include "frontend/ptx/inline_assembly.h"
#include "frontend/ptx/reader.h"
#include "gpu_backend/ptx.h"
#include "simulator/image/linking.h"

namespace cudasim::bindings {

namespace py = pybind11;

namespace {

/// A kernel as PTX in which threads report their faults, with what is needed to read the reports.
struct ReportingPtx {
    gpu_backend::Ptx ptx;
    std::vector<image::SourceFile> sources;
};

std::unique_ptr<ReportingPtx> reporting_ptx(const image::KernelImage& image, const std::string& kernel,
                                            const std::string& architecture, bool fma_contraction,
                                            bool optimise, bool raise_float_division,
                                            bool raise_negative_index) {
    const ReleasedGil release;
    return std::make_unique<ReportingPtx>(
        ReportingPtx{gpu_backend::to_ptx_with_sites(image, kernel,
                                                    {.architecture = architecture,
                                                     .fma_contraction = fma_contraction,
                                                     .optimise = optimise,
                                                     .debug_info = gpu_backend::DebugInfo::lines,
                                                     .report_faults = true,
                                                     .raise_float_division = raise_float_division,
                                                     .raise_negative_index = raise_negative_index}),
                     image.sources()});
}

using Extents = std::array<std::uint32_t, 3>;

/// What the launch had to say; None when no thread failed.
py::object report_of(const ReportingPtx& self, const py::bytes& slots, const std::string& name,
                     const Extents& grid, const Extents& block) {
    const std::string_view bytes = slots;
    LaunchReport report;
    report.findings = gpu_backend::faults_of(std::as_bytes(std::span(bytes)), self.ptx.fault_sites, name,
                                             {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]});
    if (report.findings.empty()) return py::none();
    report.sources = self.sources;
    report.blocks_run = std::uint64_t{grid[0]} * grid[1] * grid[2];
    report.host_exception = py::none();
    return py::cast(std::move(report));
}

void bind_reporting_ptx(py::module_& module) {
    py::class_<ReportingPtx>(module, "ReportingPtx",
                             "A kernel as PTX for a GPU: threads write their faults to memory and end.")
        .def_property_readonly("text", [](const ReportingPtx& self) { return self.ptx.text; })
        .def_property_readonly_static(
            "variable", [](const py::object&) { return std::string(gpu_backend::fault_variable); },
            "The name of the module's variable that faults are written to.")
        .def_property_readonly(
            "slot_bytes",
            [](const ReportingPtx& self) {
                return self.ptx.fault_sites.size() * sizeof(gpu_backend::FaultSlot);
            },
            "The size of that variable; 0: there is none, because no thread can fail.")
        .def("report", &report_of, py::arg("slots"), py::arg("name"), py::arg("grid"), py::arg("block"),
             "What a launch had to say, of that variable's bytes after it: a LaunchReport, or None when no "
             "thread failed. `name` is the kernel's, for people.");
    module.def("reporting_ptx", &reporting_ptx, py::arg("image"), py::arg("kernel"),
               py::arg("architecture") = "sm_90", py::arg("fma_contraction") = false,
               py::arg("optimise") = true, py::arg("raise_float_division") = false,
               py::arg("raise_negative_index") = false,
               "The kernel as PTX in which declared checks and divisions by zero end their thread.");
}

}  // namespace

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
        } catch (const gpu_backend::DamagedFaultSlots& error) {
            py::set_error(PyExc_ValueError, py::cast(error.what()));
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
    bind_reporting_ptx(module);
}

}  // namespace cudasim::bindings

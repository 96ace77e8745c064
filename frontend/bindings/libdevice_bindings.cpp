// See libdevice_bindings.h.
#include "frontend/bindings/libdevice_bindings.h"

#include <pybind11/stl.h>

#include "frontend/bindings/released_gil.h"
#include "gpu_backend/approximating_functions.h"
#include "gpu_backend/libdevice_file.h"
#include "gpu_backend/simulated_libdevice/simulated_libdevice.h"
#include "gpu_backend/toolkit.h"

namespace py = pybind11;

namespace cudasim::bindings {

void note_package_folders() {
    std::vector<std::filesystem::path> folders;
    const py::object path = py::module_::import("sys").attr("path");
    for (const py::handle entry : path) {
        if (!py::isinstance<py::str>(entry)) continue;
        const auto text = py::reinterpret_steal<py::object>(PyUnicode_EncodeFSDefault(entry.ptr()));
        if (!text) {
            PyErr_Clear();  // no folder has such a name
            continue;
        }
        std::filesystem::path folder(std::string(py::reinterpret_borrow<py::bytes>(text)));
        if (folder.is_absolute()) folders.push_back(std::move(folder));
    }
    gpu_backend::set_package_folders(std::move(folders));
}

namespace {

using gpu_backend::LibdeviceFile;

std::optional<std::tuple<std::string, std::string>> found_libdevice(const std::string& path) {
    note_package_folders();
    const ReleasedGil release;
    const auto file = path.empty() ? LibdeviceFile::found() : LibdeviceFile::at(path);
    if (!file) return std::nullopt;
    return std::tuple(file->path().string(), file->hash());
}

std::map<std::string, std::string, std::less<>> functions_of(const std::string& path) {
    const ReleasedGil release;
    return LibdeviceFile::at(path)->functions();
}

}  // namespace

void bind_libdevice(py::module_& module) {
    module.def(
        "find_libdevice", &found_libdevice, py::arg("path") = "",
        "(path, SHA-256) of the libdevice.10.bc at a path, or of the one on this machine, or None. Raises "
        "ValueError for a file that is none.");
    module.def("functions_in_libdevice", &functions_of, py::arg("path"),
               "Name, with __nv_, → LLVM type of each function of a libdevice.10.bc. Raises ValueError.");
    module.def(
        "with_libdevice",
        [](const image::KernelImage& image, const std::string& path, const std::string& architecture) {
            const ReleasedGil release;
            return gpu_backend::with_libdevice(image, *LibdeviceFile::at(path), architecture);
        },
        py::arg("image"), py::arg("path"), py::arg("architecture"),
        "The image with the functions that it calls of a libdevice.10.bc. Raises ValueError.");
    module.def(
        "without_libdevice",
        [](const image::KernelImage& image) {
            const ReleasedGil release;
            return gpu_backend::without_libdevice(image);
        },
        py::arg("image"), "The inverse of with_libdevice().");
    module.def(
        "linked_libdevice",
        [](const image::KernelImage& image) {
            const ReleasedGil release;
            return gpu_backend::linked_libdevice(image);
        },
        py::arg("image"), "SHA-256 of the library that with_libdevice() has linked in, or an empty text.");
    module.def(
        "libdevice_ptx",
        [](const std::string& path, const std::string& function, const std::string& architecture, bool fast) {
            using gpu_backend::Precision;
            const ReleasedGil release;
            return gpu_backend::libdevice_ptx(*LibdeviceFile::at(path), function,
                                              fast ? Precision::fast : Precision::full, architecture);
        },
        py::arg("path"), py::arg("function"), py::arg("architecture") = "sm_90", py::arg("fast") = false,
        "A function of a libdevice.10.bc, or what fast maths makes of it, as PTX. Raises ValueError.");
    module.def(
        "approximating_functions",
        [] {
            std::vector<std::tuple<std::string_view, std::string_view>> rows;
            for (const auto& each : gpu_backend::approximating_functions())
                rows.emplace_back(each.name, each.instructions);
            return rows;
        },
        "(name without __nv_, approximate instructions of PTX, separated by blanks) of functions of "
        "libdevice.");
    module.def("translated_libdevice_functions", &gpu_backend::translated_functions,
               "How many functions of libdevice this process has translated for the simulator.");
}

}  // namespace cudasim::bindings

// Images, devices and device memory. Every call that may take long or take an engine lock releases the GIL.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <array>
#include <bit>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/contiguous_buffer.h"
#include "frontend/bindings/libdevice_bindings.h"
#include "frontend/bindings/released_gil.h"
#include "frontend/ptx/inline_assembly.h"
#include "gpu_backend/ptx.h"
#include "gpu_backend/toolkit.h"
#include "simulator/driver/context.h"
#include "simulator/driver/device_attributes.h"
#include "simulator/driver/launch_options.h"
#include "simulator/driver/occupancy.h"
#include "simulator/jit/compiler.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using execution::DevicePointer;

/// Device memory that is freed when Python lets go of it.
struct Allocation {
    std::shared_ptr<SimulatedDevice> owner;
    DevicePointer address = 0;
    std::uint64_t bytes = 0;
    Allocation(std::shared_ptr<SimulatedDevice> device, DevicePointer pointer, std::uint64_t size)
        : owner(std::move(device)), address(pointer), bytes(size) {}
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;
    ~Allocation() {
        if (forked_in_use()) return;  // the memory belongs to a process that has its own
        // Also runs while the interpreter ends, on its main thread, which may take the GIL then.
        const ReleasedGil release;
        owner->release(address);
    }
};

std::shared_ptr<SimulatedDevice> make_device(const execution::DeviceProfile& chosen,
                                             std::uint64_t total_memory, DevicePointer memory_base) {
    execution::DeviceProfile profile = chosen;
    if (total_memory != 0) profile.total_memory = total_memory;
    return driver::in_call("cuCtxCreate",
                           [&] { return std::make_shared<SimulatedDevice>(profile, memory_base); });
}

std::unique_ptr<Allocation> allocate(const std::shared_ptr<SimulatedDevice>& self, std::uint64_t bytes,
                                     const std::string& label, bool poison) {
    DevicePointer pointer = 0;
    {
        const ReleasedGil release;
        pointer = driver::in_call(
            "cuMemAlloc", [&] { return self->device.allocate(bytes, {.label = label, .poison = poison}); });
    }
    return std::make_unique<Allocation>(self, pointer, bytes);
}

void free_bare(SimulatedDevice& self, DevicePointer pointer, const std::string& call) {
    if (forked_in_use()) return;  // the memory belongs to a process that has its own
    const ReleasedGil release;
    driver::in_call(call.c_str(), [&] { self.free(pointer); });
}

void copy_to_new_memory(SimulatedDevice& self, DevicePointer target, const py::object& source) {
    const ContiguousBuffer buffer(source, false);
    const ReleasedGil release;
    driver::in_call("cuMemcpyHtoD",
                    [&] { self.device.copy_to_device(target, buffer.data(), buffer.size()); });
}

/// A Python integer; nothing for those that 64 bits cannot have. @throws py::error_already_set TypeError
std::optional<std::uint64_t> as_64_bits(const py::object& value) {
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!number) throw py::error_already_set();
    const std::uint64_t result = PyLong_AsUnsignedLongLong(number.ptr());
    if (result != UINT64_MAX || PyErr_Occurred() == nullptr) return result;
    PyErr_Clear();
    return std::nullopt;
}

bool contains(SimulatedDevice& self, const py::object& address, const py::object& bytes) {
    const auto first = as_64_bits(address), count = as_64_bits(bytes);
    if (!first || !count) return false;
    const ReleasedGil release;
    return self.device.contains(*first, *count);
}

std::vector<image::SourceFile> sources_from_python(
    const std::vector<std::pair<std::string, std::string>>& sources) {
    std::vector<image::SourceFile> result;
    for (const auto& [path, text] : sources) result.push_back({path, text});
    return result;
}

py::bytes serialise(const image::KernelImage& image) {
    const auto bytes = image.serialise();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

image::KernelImage deserialise(std::string_view bytes) {
    const ReleasedGil release;
    return image::KernelImage::deserialise(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

py::list kernels_to_python(const image::KernelImage& image) {
    py::list result;
    for (const auto& kernel : image.kernels()) {
        py::list parameters;
        for (const auto& parameter : kernel.parameters) {
            parameters.append(
                py::make_tuple(parameter.name, parameter.offset, parameter.size, parameter.alignment));
        }
        py::dict entry;
        entry["name"] = kernel.name;
        entry["parameters"] = parameters;
        entry["parameter_bytes"] = kernel.parameter_bytes;
        result.append(entry);
    }
    return result;
}

void bind_image(py::module_& module) {
    using image::KernelImage;
    py::class_<KernelImage>(module, "KernelImage", "Kernels as NVVM IR with their source texts; immutable.")
        .def_static(
            "from_bitcode",
            [](const py::bytes& bitcode, const std::vector<std::pair<std::string, std::string>>& sources) {
                std::string bytes(bitcode);
                const ReleasedGil release;
                return ptx::with_translated_assembly(
                    KernelImage::from_bitcode(std::move(bytes), sources_from_python(sources)));
            },
            py::arg("bitcode"), py::arg("sources") = py::list())
        .def_static(
            "from_ir_text",
            [](const std::string& text, const std::vector<std::pair<std::string, std::string>>& sources) {
                const ReleasedGil release;
                return ptx::with_translated_assembly(
                    KernelImage::from_ir_text(text, sources_from_python(sources)));
            },
            py::arg("text"), py::arg("sources") = py::list())
        .def_static("deserialise", &deserialise)
        .def("serialise", &serialise)
        .def_property_readonly("bitcode", [](const KernelImage& image) { return py::bytes(image.bitcode()); })
        .def_property_readonly("kernels", &kernels_to_python)
        .def_property_readonly("sources",
                               [](const KernelImage& image) {
                                   py::list result;
                                   for (const auto& file : image.sources()) {
                                       result.append(py::make_tuple(file.path, file.text));
                                   }
                                   return result;
                               })
        .def_property_readonly("hash", &KernelImage::hash)
        .def("ir_text", &KernelImage::ir_text);
}

void bind_device(py::module_& module) {
    py::class_<Allocation>(module, "Allocation", "Device memory, freed when nothing refers to it.")
        .def_readonly("address", &Allocation::address)
        .def_readonly("bytes", &Allocation::bytes);

    module.def(
        "device_attribute_numbers",
        [] {
            py::dict result;
            for (const auto& row : driver::device_attributes())
                result[py::str(std::string(row.name))] = row.number;
            return result;
        },
        "name without CU_DEVICE_ATTRIBUTE_ → number (CUDA Driver API, enum CUdevice_attribute)");

    const py::class_<LoadedImage> loaded_image(module, "LoadedImage",
                                               "An image whose globals have their memory on a device.");

    py::class_<SimulatedDevice, std::shared_ptr<SimulatedDevice>>(module, "Device")
        .def(py::init(&make_device), py::arg("profile"), py::arg("total_memory") = 0,
             py::arg("memory_base") = 0)
        .def_property_readonly(
            "profile", [](SimulatedDevice& self) { return device_profile_to_python(self.device.profile()); })
        .def(
            "blocks_per_multiprocessor",
            [](SimulatedDevice& self, std::uint64_t threads, std::uint64_t shared_bytes) {
                return threads == 0
                           ? 0
                           : driver::blocks_per_multiprocessor(self.device.profile(), threads, shared_bytes);
            },
            py::arg("threads"), py::arg("shared_bytes"),
            "Blocks of so many threads and bytes of shared memory that are resident on a multiprocessor.")
        .def(
            "best_block_size",
            [](SimulatedDevice& self, unsigned limit, const std::function<std::uint64_t(unsigned)>& shared) {
                return driver::best_block_size(self.device.profile(), limit, shared);
            },
            py::arg("limit"), py::arg("shared_bytes"),
            "The largest block of at most `limit` threads with which most are resident; shared_bytes: "
            "callable(threads).")
        .def(
            "fits",
            [](SimulatedDevice& self, const execution::LaunchConfiguration& configuration) {
                return driver::fits(self.device.profile(), configuration);
            },
            "Whether the device's limits allow a LaunchConfiguration, as far as that is known without its "
            "kernel.")
        .def("owns",
             [](SimulatedDevice& self, DevicePointer address) {
                 const ReleasedGil release;
                 return self.device.owns(address);
             })
        .def("contains", &contains,
             "Whether the bytes are those of one live allocation; address and number are integers of any "
             "size.")
        .def("allocate", &allocate, py::arg("bytes"), py::arg("label") = "", py::arg("poison") = true)
        .def("free", &free_bare, py::arg("pointer"), py::arg("call"))
        .def("adopt",
             [](SimulatedDevice& self, DevicePointer address, std::uint64_t bytes, const std::string& label,
                const std::string& call) {
                 const ReleasedGil release;
                 driver::in_call(call.c_str(), [&] { self.device.adopt(address, bytes, label); });
             })
        .def("copy_to_new_memory", &copy_to_new_memory, py::arg("target"), py::arg("source"),
             "cuMemcpyHtoD to memory that nothing else knows yet: it waits for no stream.")
        .def("memory_info",
             [](SimulatedDevice& self) {
                 execution::MemoryInfo info;
                 {
                     const ReleasedGil release;
                     info = self.device.memory_info();
                 }
                 return py::make_tuple(info.free, info.total);
             })
        .def("load", [](const std::shared_ptr<SimulatedDevice>& self, const image::KernelImage& image) {
            const ReleasedGil release;
            return LoadedImage{self,
                               driver::in_call("cuModuleLoadData", [&] { return self->device.load(image); })};
        });
}

gpu_backend::DebugInfo debug_info_named(const std::string& name) {
    using gpu_backend::DebugInfo;
    if (name == "full") return DebugInfo::full;
    return name == "lines" ? DebugInfo::lines : DebugInfo::none;
}

void bind_stages(py::module_& module) {
    module.def(
        "nvvm_ir",
        [](const image::KernelImage& image, const std::string& debug_info) {
            const ReleasedGil release;
            return gpu_backend::nvvm_ir(image, debug_info_named(debug_info));
        },
        "The image's NVVM IR as text. debug_info: none, lines, full.");
    module.def(
        "find_toolkit_file",
        [](const std::string& below_root) {
            const auto path = gpu_backend::find_in_toolkit(below_root);
            return path ? std::optional(path->string()) : std::nullopt;
        },
        "The path of a file of a CUDA toolkit on this machine, or None.");
    module.def(
        "instrumented_ir",
        [](const image::KernelImage& image, const std::string& kernel, const std::string& check) {
            execution::LaunchOptions options;
            driver::set_launch_option(options, "check", check);
            const ReleasedGil release;
            return jit::instrumented_ir(image, kernel, options.compile);
        },
        py::arg("image"), py::arg("kernel"), py::arg("check") = "default",
        "The kernel's IR after instrumentation and lowering, as text.");
    module.def(
        "ptx",
        [](const image::KernelImage& image, const std::string& kernel, const std::string& architecture,
           bool fma_contraction, bool optimise, const std::string& debug_info,
           const std::array<unsigned, 3>& launch_bounds, unsigned max_registers, const std::string& libdevice,
           bool require_libdevice) {
            note_package_folders();
            const ReleasedGil release;
            return gpu_backend::to_ptx(
                image, kernel,
                {.architecture = architecture,
                 .fma_contraction = fma_contraction,
                 .require_libdevice = require_libdevice,
                 .libdevice = libdevice,
                 .optimise = optimise,
                 .debug_info = debug_info_named(debug_info),
                 .bounds = {launch_bounds[0], launch_bounds[1], launch_bounds[2], max_registers}});
        },
        py::arg("image"), py::arg("kernel"), py::arg("architecture") = "sm_90",
        py::arg("fma_contraction") = false, py::arg("optimise") = true, py::arg("debug_info") = "full",
        py::arg("launch_bounds") = std::array<unsigned, 3>{}, py::arg("max_registers") = 0,
        py::arg("libdevice") = "", py::arg("require_libdevice") = false,
        "The kernel (or visible device function) as PTX for a GPU of the given architecture. debug_info: "
        "none, lines, full. libdevice: the path of the library, empty for the one on this machine.");
}

/// Engine errors become the package's own exception classes (cudasim.errors.from_native_* build them).
void translate(std::exception_ptr pointer) {
    try {
        if (pointer) std::rethrow_exception(pointer);
    } catch (const driver::CallInCallback& failure) {
        const auto make = py::module_::import("cudasim.errors").attr("from_call_in_callback");
        const py::object error = make(static_cast<int>(failure.code), failure.what());
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    } catch (const driver::Error& failure) {
        const auto make = py::module_::import("cudasim.errors").attr("from_native_cuda_error");
        const py::object error =
            make(static_cast<int>(failure.code), failure.what(), call_chain_to_python(failure.location));
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    } catch (const ForkedInUse&) {
        const auto make = py::module_::import("cudasim.errors").attr("from_fork_in_use");
        const py::object error = make();
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    } catch (const jit::CompileError& failure) {
        const auto make = py::module_::import("cudasim.errors").attr("from_native_compile_error");
        const py::object error = make(failure.what(), call_chain_to_python(failure.location));
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    } catch (const image::ImageError& failure) {
        py::set_error(PyExc_ValueError, py::cast(failure.what()));
    } catch (const gpu_backend::PtxError& failure) {
        py::set_error(PyExc_ValueError, py::cast(failure.what()));
    }
}

}  // namespace

void bind_engine(py::module_& module) {
    bind_image(module);
    bind_device(module);
    bind_stages(module);
    py::register_exception_translator(&translate);
}

}  // namespace cudasim::bindings

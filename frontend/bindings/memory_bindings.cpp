// The driver's memory calls. Short ones keep the GIL, so that no thread is in them when another one forks.
#include <pybind11/stl.h>

#include <cstring>

#include "frontend/bindings/bindings.h"
#include "frontend/bindings/contiguous_buffer.h"
#include "frontend/bindings/released_gil.h"
#include "simulator/driver/ipc.h"
#include "simulator/driver/memory.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using driver::Context;
using driver::HostMemory;
using driver::HostRange;
using driver::HostRanges;
using ContextPtr = std::shared_ptr<Context>;

const char* name_of(HostMemory kind) {
    switch (kind) {
        case HostMemory::pinned:
            return "pinned";
        case HostMemory::mapped:
            return "mapped";
        case HostMemory::managed:
            return "managed";
    }
    return "";
}

driver::IpcMemHandle handle_from(const py::bytes& content) {
    const std::string_view bytes = content;
    driver::IpcMemHandle handle{};
    if (bytes.size() != handle.size()) throw py::value_error("an IPC handle has 64 bytes");
    std::memcpy(handle.data(), bytes.data(), handle.size());
    return handle;
}

/// A size as calls in Python give it: an integer, as large as it likes.
/// @throws py::type_error for anything else, driver::Error 1 for what no 64-bit number can be
std::uint64_t size_from(const char* call, const py::object& size) {
    const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(size.ptr()));
    if (!number) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
        PyErr_Clear();
        throw py::type_error(std::string(call) + ": a size is a number of bytes, an integer; got " +
                             py::cast<std::string>(py::repr(size)));
    }
    const std::uint64_t bytes = PyLong_AsUnsignedLongLong(number.ptr());
    if (bytes != UINT64_MAX || PyErr_Occurred() == nullptr) return bytes;
    PyErr_Clear();
    const bool negative = number < py::int_(0);
    throw driver::Error(call, driver::CudaResult::invalid_value,
                        py::cast<std::string>(py::str(number)) +
                            " bytes: " + (negative ? "a size is 0 or more" : "no memory is so large"));
}

void* host_memory(std::uint64_t address) {
    return reinterpret_cast<void*>(address);
}

void bind_copies(py::module_& module) {
    module.def(
        "memcpy_htod",
        [](const ContextPtr& current, std::uint64_t target, std::uint64_t source, const py::object& size) {
            const std::uint64_t bytes = size_from("cuMemcpyHtoD", size);
            const ReleasedGil release;
            driver::memcpy_htod(current, target, host_memory(source), bytes);
        },
        "Of memory at an address; sizes are integers of any value.");
    module.def("memcpy_dtoh", [](const ContextPtr& current, std::uint64_t target, std::uint64_t source,
                                 const py::object& size) {
        const std::uint64_t bytes = size_from("cuMemcpyDtoH", size);
        const ReleasedGil release;
        driver::memcpy_dtoh(current, host_memory(target), source, bytes);
    });
    module.def("memcpy_dtod", [](const ContextPtr& current, std::uint64_t target, std::uint64_t source,
                                 const py::object& size) {
        const std::uint64_t bytes = size_from("cuMemcpyDtoD", size);
        const ReleasedGil release;
        driver::memcpy_dtod(current, target, source, bytes);
    });
    module.def("memset_d8", [](const ContextPtr& current, std::uint64_t target, std::uint8_t value,
                               const py::object& size) {
        const std::uint64_t bytes = size_from("cuMemsetD8", size);
        const ReleasedGil release;
        driver::memset_d8(current, target, value, bytes);
    });
    module.def(
        "memcpy_htod_buffer",
        [](const ContextPtr& current, std::uint64_t target, const py::object& source) {
            const ContiguousBuffer buffer(source, false);
            const ReleasedGil release;
            driver::memcpy_htod(current, target, buffer.data(), buffer.size());
        },
        "Of all bytes of an object with the buffer protocol.");
    module.def("memcpy_dtoh_buffer",
               [](const ContextPtr& current, const py::object& target, std::uint64_t source) {
                   const ContiguousBuffer buffer(target, true);
                   const ReleasedGil release;
                   driver::memcpy_dtoh(current, buffer.data(), source, buffer.size());
               });
    module.def(
        "unwritten_elements",
        [](const ContextPtr& current, std::uint64_t address, std::uint64_t bytes, std::uint64_t element_bytes,
           const std::vector<bool>& holes) {
            const ReleasedGil release;
            const auto found =
                current->engine()->written_memory().unwritten(address, bytes, element_bytes, holes);
            return std::pair(found.elements, found.first);
        },
        "How many elements of a range of device memory have a byte that nobody wrote, and the index of the "
        "first; "
        "holes: which bytes of an element do not count, empty: none.");
    module.def(
        "track_unused_memory",
        [](const ContextPtr& current) { current->engine()->written_memory().track_unused(); },
        "From now on unused_memory() knows of memory that is freed, too.");
    module.def(
        "unused_memory",
        [](const ContextPtr& current) {
            std::vector<std::pair<std::string, std::uint64_t>> all;
            for (auto& each : current->engine()->written_memory().unused())
                all.emplace_back(std::move(each.label), each.bytes);
            return all;
        },
        "(label, bytes) of memory that nobody has written.");
    using Key = std::pair<int, std::uint64_t>;
    const auto in = [](const Key& stream, std::string place) {
        return driver::InStream{{stream.first, stream.second}, std::move(place)};
    };
    module.def(
        "memcpy_htod_async",
        [in](const ContextPtr& current, std::uint64_t target, std::uint64_t source, const py::object& size,
             const Key& stream, std::string place) {
            const std::uint64_t bytes = size_from("cuMemcpyHtoD", size);
            const ReleasedGil release;
            driver::memcpy_htod_async(current, target, host_memory(source), bytes,
                                      in(stream, std::move(place)));
        },
        "In a stream; `place` is the line that enqueues it, for errors that come later.");
    module.def("memcpy_dtoh_async", [in](const ContextPtr& current, std::uint64_t target,
                                         std::uint64_t source, const py::object& size, const Key& stream,
                                         std::string place) {
        const std::uint64_t bytes = size_from("cuMemcpyDtoH", size);
        const ReleasedGil release;
        driver::memcpy_dtoh_async(current, host_memory(target), source, bytes, in(stream, std::move(place)));
    });
    module.def("memcpy_dtod_async",
               [in](const ContextPtr& current, std::uint64_t target, std::uint64_t source,
                    const py::object& size, const Key& stream, std::string place) {
                   const std::uint64_t bytes = size_from("cuMemcpyDtoD", size);
                   const ReleasedGil release;
                   driver::memcpy_dtod_async(current, target, source, bytes, in(stream, std::move(place)));
               });
    module.def("memset_d8_async", [in](const ContextPtr& current, std::uint64_t target, std::uint8_t value,
                                       const py::object& size, const Key& stream, std::string place) {
        const std::uint64_t bytes = size_from("cuMemsetD8", size);
        const ReleasedGil release;
        driver::memset_d8_async(current, target, value, bytes, in(stream, std::move(place)));
    });
    module.def("is_page_locked", &driver::is_page_locked);
}

void bind_ranges(py::module_& module) {
    py::class_<HostRange>(module, "HostRange", "Host memory that the driver knows.")
        .def_readonly("address", &HostRange::address)
        .def_readonly("bytes", &HostRange::bytes)
        .def_property_readonly("end", [](const HostRange& range) { return range.address + range.bytes; })
        .def_property_readonly(
            "kind", [](const HostRange& range) { return name_of(range.kind); }, "pinned, mapped or managed")
        .def_readonly("registered", &HostRange::registered)
        .def_readonly("context", &HostRange::context);
    module.def("find_host_range",
               [](std::uint64_t address) { return HostRanges::of_this_process().find(address); });
    module.def("host_range_at",
               [](std::uint64_t address) { return HostRanges::of_this_process().starting_at(address); });
    module.def("host_ranges_overlap", [](std::uint64_t address, std::uint64_t bytes) {
        return HostRanges::of_this_process().overlap(address, bytes);
    });
    module.def("any_host_ranges", [] { return !HostRanges::of_this_process().empty(); });
}

}  // namespace

void bind_memory(py::module_& module) {
    bind_ranges(module);
    bind_copies(module);
    module.def("owner_of", &driver::owner_of, py::arg("current"), py::arg("address"));
    module.def(
        "mem_alloc",
        [](const ContextPtr& current, std::uint64_t bytes, const std::string& label, bool poison) {
            const ReleasedGil release;
            return driver::mem_alloc(*current, bytes, label, poison);
        },
        py::arg("current"), py::arg("bytes"), py::arg("label"), py::arg("poison") = true);
    module.def("mem_free", [](const ContextPtr& current, std::uint64_t pointer) {
        if (forked_in_use()) return;  // the memory belongs to a process that has its own
        const ReleasedGil release;
        driver::mem_free(current, pointer);
    });
    module.def("mem_get_address_range", [](const ContextPtr& current, std::uint64_t pointer) {
        const auto range = driver::mem_get_address_range(current, pointer);
        return py::make_tuple(range.base, range.bytes);
    });
    module.def("mem_alloc_managed",
               [](const ContextPtr& current, std::uint64_t bytes, const std::string& label) {
                   const ReleasedGil release;
                   return driver::mem_alloc_managed(current, bytes, label);
               });
    module.def("mem_host_alloc",
               [](const ContextPtr& current, std::uint64_t bytes, bool mapped, const std::string& label) {
                   const ReleasedGil release;
                   return driver::mem_host_alloc(current, bytes, mapped, label);
               });
    module.def("mem_free_host", [](std::uint64_t address) {
        if (forked_in_use()) return;
        const ReleasedGil release;
        driver::mem_free_host(address);
    });
    module.def("mem_host_register", [](const ContextPtr& current, std::uint64_t address, std::uint64_t bytes,
                                       bool mapped, const std::string& label) {
        const ReleasedGil release;
        driver::mem_host_register(current, address, bytes, mapped, label);
    });
    module.def("mem_host_unregister", [](std::uint64_t address) {
        if (forked_in_use()) return;
        const ReleasedGil release;
        driver::mem_host_unregister(address);
    });
    module.def("mem_host_get_device_pointer", &driver::mem_host_get_device_pointer);
    module.def(
        "pointer_attributes",
        [](const ContextPtr& current, std::uint64_t address) {
            const auto found = driver::pointer_attributes(current, address);
            return py::make_tuple(found.host, found.managed, found.device);
        },
        "(whether it is the host's memory, whether it is managed, the device's number)");
    module.def("ipc_get_mem_handle", [](const ContextPtr& current, std::uint64_t pointer) {
        driver::IpcMemHandle handle{};
        {
            const ReleasedGil release;
            handle = driver::ipc_get_mem_handle(current, pointer);
        }
        return py::bytes(reinterpret_cast<const char*>(handle.data()), handle.size());
    });
    module.def("ipc_process",
               [](const py::bytes& handle) { return driver::ipc_process(handle_from(handle)); });
    module.def("ipc_open_mem_handle", [](const ContextPtr& context, const py::bytes& content) {
        const auto handle = handle_from(content);
        const ReleasedGil release;
        return driver::ipc_open_mem_handle(context, handle);
    });
    module.def("ipc_close_mem_handle", [](std::uint64_t pointer) {
        if (forked_in_use()) return;
        const ReleasedGil release;
        driver::ipc_close_mem_handle(pointer);
    });
}

}  // namespace cudasim::bindings

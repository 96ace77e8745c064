// The driver's memory calls. Short ones keep the GIL, so that no thread is in them when another one forks.
#include <pybind11/stl.h>

#include <cstring>

#include "frontend/bindings/bindings.h"
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

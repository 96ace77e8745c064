// Who wrote elements of memory in a recorded launch (simulator/driver/trace.h).
#include <pybind11/stl.h>

#include <utility>

#include "frontend/bindings/launches.h"
#include "simulator/driver/trace.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

using checks::TracedElement;
using checks::TracedRead;
using checks::TracedWrite;

py::bytes to_bytes(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::tuple to_tuple(const findings::Dim3& dim) {
    return py::make_tuple(dim.x, dim.y, dim.z);
}

py::dict to_dict(const TracedRead& read) {
    py::dict result;
    result["address"] = read.address;
    result["bytes"] = read.bytes;
    result["value"] = to_bytes(read.value);
    result["atomic"] = read.atomic;
    result["role"] = std::string(checks::name_of(read.role));
    result["same_line"] = read.same_line;
    result["location"] = call_chain_to_python(read.location);
    result["space"] = read.object.space;
    result["name"] = read.object.name;
    result["object_address"] = read.object.address;
    result["offset"] = read.object.offset;
    result["element"] = read.object.element;
    result["element_type"] = read.object.element_type;
    return result;
}

py::dict to_dict(const TracedWrite& write) {
    py::dict result;
    result["order"] = write.order;
    result["number"] = write.number;
    result["tid"] = to_tuple(write.thread.tid);
    result["ctaid"] = to_tuple(write.thread.ctaid);
    result["location"] = call_chain_to_python(write.location);
    result["address"] = write.address;
    result["bytes"] = write.bytes;
    result["value"] = to_bytes(write.value);
    result["access_address"] = write.access_address;
    result["access_bytes"] = write.access_bytes;
    result["atomic"] = write.atomic;
    result["result"] = write.result.empty() ? py::object(py::none()) : py::object(to_bytes(write.result));
    py::list reads;
    for (const TracedRead& each : write.reads) reads.append(to_dict(each));
    result["reads"] = std::move(reads);
    return result;
}

py::dict to_dict(const TracedElement& element) {
    py::dict result;
    result["address"] = element.range.base;
    result["bytes"] = element.range.bytes;
    result["total_writes"] = element.total_writes;
    py::list writes;
    for (const TracedWrite& each : element.writes) writes.append(to_dict(each));
    result["writes"] = std::move(writes);
    return result;
}

py::tuple trace_elements(const driver::LaunchRecord& record,
                         const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges,
                         const std::shared_ptr<SimulatedDevice>& device,
                         const execution::LaunchOptions* options, const Progress& progress,
                         std::uint32_t writes, std::uint32_t reads) {
    std::vector<execution::AddressRange> elements;
    for (const auto& [address, bytes] : ranges) elements.push_back({address, bytes});
    execution::LaunchOptions chosen = options != nullptr ? *options : record.options;
    driver::check_memory(chosen);  // whatever the record says: unchecked code may write anywhere
    std::vector<TracedElement> traced;
    py::object report =
        launch_with(Runs::compiled_code, chosen, progress, {}, [&](const execution::LaunchOptions& in_force) {
            execution::LaunchOptions quiet = in_force;
            quiet.write_output = [](std::string_view) { return true; };
            std::shared_ptr<SimulatedDevice> target = device;
            if (!target) target = std::make_shared<SimulatedDevice>(record.device, record.memory_base);
            driver::Trace trace =
                driver::trace_elements(*target, record, elements, {.writes = writes, .reads = reads}, quiet);
            traced = std::move(trace.elements);
            return std::move(trace.result);
        });
    if (!report.is_none()) {
        const py::object raised = py::cast<LaunchReport&>(report).host_exception;
        if (!raised.is_none()) {
            PyErr_SetObject(py::type::of(raised).ptr(), raised.ptr());
            throw py::error_already_set();
        }
    }
    py::list result;
    for (const TracedElement& each : traced) result.append(to_dict(each));
    return py::make_tuple(std::move(result), std::move(report));
}

}  // namespace

void bind_traces(py::module_& module) {
    module.def("trace_elements", &trace_elements, py::arg("record"), py::arg("ranges"),
               py::arg("device") = nullptr, py::arg("options") = nullptr,
               py::arg("progress") = Progress{py::none()}, py::arg("writes") = checks::TraceLimits().writes,
               py::arg("reads") = checks::TraceLimits().reads,
               "Repeats a recorded launch and returns (elements, LaunchReport or None): for each range "
               "(address, bytes) a dictionary with the writes to it in their order, each with its thread, "
               "place and value, and what the thread had read before. Without a device, on one of its own.");
}

}  // namespace cudasim::bindings

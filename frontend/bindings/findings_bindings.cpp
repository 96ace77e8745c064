// Findings as Python dictionaries (cudasim.findings gives them their class), and whole reports.
#include <pybind11/stl.h>

#include "frontend/bindings/bindings.h"
#include "simulator/findings/writers.h"

namespace py = pybind11;

namespace cudasim::bindings {
namespace {

py::tuple to_python(const findings::Dim3& dim) {
    return py::make_tuple(dim.x, dim.y, dim.z);
}

const char* to_python(findings::Severity severity) {
    switch (severity) {
        case findings::Severity::note:
            return "note";
        case findings::Severity::warning:
            return "warning";
        case findings::Severity::error:
            return "error";
    }
    return "error";
}

py::dict to_python(const findings::MemoryObject& object) {
    py::dict result;
    result["name"] = object.name;
    result["space"] = object.space;
    result["address"] = object.address;
    result["bytes"] = object.bytes;
    result["offset"] = object.offset;
    result["element"] = object.element;
    result["element_type"] = object.element_type;
    return result;
}

py::dict to_python(const findings::WaitingGroup& group) {
    py::dict result;
    result["state"] = group.state;
    result["location"] = call_chain_to_python(group.location);
    result["block"] = group.block;
    result["ctaid"] = to_python(group.ctaid);
    result["threads"] = group.threads;
    result["thread_ranges"] = findings::ranges(group.threads);
    return result;
}

py::object bytes_or_none(const std::vector<std::byte>& bytes, bool known) {
    if (!known) return py::none();
    return py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

py::dict variable_to_python(const findings::VariableValue& value) {
    py::dict result;
    result["name"] = value.name;
    result["type"] = value.type;
    result["frame"] = value.frame;
    result["argument"] = value.argument;
    result["value"] = bytes_or_none(value.bytes, value.known);
    result["element_bytes"] = value.element_bytes;
    result["dimensions"] = value.dimensions;
    result["contents_address"] = value.contents_address;
    result["contents"] = bytes_or_none(value.contents, value.contents_known);
    if (!value.text.empty()) {
        result["value"] = py::none();
        result["text"] = value.text;
    }
    return result;
}

pybind11::dict finding_to_python(const findings::Finding& finding) {
    const auto& kind = findings::info(finding.kind);
    py::dict result;
    result["kind"] = std::string(kind.name);
    result["severity"] = to_python(finding.severity);
    result["message"] = finding.message;
    result["exception_type"] =
        finding.exception_type.empty() ? std::string(kind.python_exception) : finding.exception_type;
    result["cuda_error_code"] = kind.cuda_error_code;
    result["kernel"] = finding.kernel;
    const bool of_host = is_of_host(finding);
    result["tid"] = of_host ? py::object(py::tuple()) : py::object(to_python(finding.thread.tid));
    result["ctaid"] = of_host ? py::object(py::tuple()) : py::object(to_python(finding.thread.ctaid));
    result["coordinates"] = of_host ? "" : findings::coordinates(finding.thread);
    result["location"] = call_chain_to_python(finding.location);
    result["count"] = finding.count;
    result["threads"] = finding.threads;
    result["object"] = finding.object ? py::object(to_python(*finding.object)) : py::object(py::none());
    py::list waiting;
    for (const auto& group : finding.waiting) waiting.append(to_python(group));
    result["waiting"] = waiting;
    py::list accesses;
    for (const auto& access : finding.accesses) {
        py::dict each;
        each["what"] = access.what;
        each["tid"] = access.of_host ? py::object(py::tuple()) : py::object(to_python(access.thread.tid));
        each["ctaid"] = access.of_host ? py::object(py::tuple()) : py::object(to_python(access.thread.ctaid));
        each["coordinates"] = access.of_host ? "" : findings::coordinates(access.thread);
        each["location"] = call_chain_to_python(access.location);
        each["value"] = access.value;
        accesses.append(each);
    }
    result["accesses"] = accesses;
    py::list variables;
    for (const auto& variable : finding.variables) variables.append(variable_to_python(variable));
    result["variables"] = variables;
    result["reproduce"] = finding.reproduce;
    return result;
}

namespace {

py::tuple driver_error(const std::string& call, const std::string& name, const std::string& reason) {
    for (const auto& row : findings::cuda_results())
        if (row.name == name)
            return py::make_tuple(static_cast<int>(row.result), driver::error_text(call, row.result, reason));
    throw py::value_error(name + " is no result of CUDA's");
}

std::string text(const LaunchReport& report) {
    std::string result;
    for (const auto& finding : report.findings) {
        if (!result.empty()) result += '\n';
        result += findings::text_report(finding, report.sources);
    }
    return result;
}

std::string text_of(const LaunchReport& report, std::size_t index) {
    if (index >= report.findings.size()) throw py::index_error("no such finding");
    return findings::text_report(report.findings[index], report.sources);
}

std::string note_of(const LaunchReport& report, std::size_t index) {
    if (index >= report.findings.size()) throw py::index_error("no such finding");
    return findings::note_report(report.findings[index], report.sources);
}

}  // namespace

py::list call_chain_to_python(const findings::CallChain& chain) {
    py::list result;
    for (const auto& place : chain) {
        result.append(py::make_tuple(place.file, place.function, place.line, place.column));
    }
    return result;
}

void bind_findings(py::module_& module) {
    module.def(
        "finding_kinds",
        [] {
            py::list kinds;
            for (const findings::KindInfo& kind : findings::all_kinds())
                kinds.append(py::make_tuple(kind.name, to_python(kind.severity)));
            return kinds;
        },
        "(stable name, severity) of each row of simulator/findings/finding_kinds.def.");
    module.def(
        "cuda_results",
        [] {
            py::dict results;
            for (const auto& row : findings::cuda_results())
                results[py::str(std::string(row.name))] = static_cast<int>(row.result);
            return results;
        },
        "name → number of CUDA's results (simulator/findings/cuda_results.def).");
    module.def("driver_error", &driver_error, py::arg("call"), py::arg("name"), py::arg("reason"),
               "The number of a result, and the text of the driver call's error that has it.");
    py::class_<LaunchReport>(module, "LaunchReport", "What one launch had to say, errors first.")
        .def_property_readonly("findings",
                               [](const LaunchReport& report) {
                                   py::list result;
                                   for (const auto& finding : report.findings)
                                       result.append(finding_to_python(finding));
                                   return result;
                               })
        .def_readonly("blocks_run", &LaunchReport::blocks_run)
        .def_readonly("host_exception", &LaunchReport::host_exception)
        .def_property_readonly(
            "core", [](const LaunchReport& report) { return report.core.path.string(); },
            "The path of the launch's core file; empty where there is none.")
        .def_property_readonly(
            "core_problem", [](const LaunchReport& report) { return report.core.problem; },
            "Why the core file that was asked for could not be written; empty otherwise.")
        .def("text", &text, "All findings for people to read.")
        .def("text_of", &text_of, "One finding for people to read.")
        .def("note_of", &note_of, "What it has besides the message and traceback of its exception.")
        .def(
            "json", [](const LaunchReport& report) { return findings::json_report(report.findings); },
            "All findings as JSON (docs/findings.md).");
}

}  // namespace cudasim::bindings

// Findings as JSON for programs; the fields are those of finding.h and are described in docs/findings.md.
// llvm::json does the formatting; it wants UTF-8, which kernel names and paths need not be.

#include <llvm/Support/JSON.h>

#include "simulator/findings/writers.h"

namespace cudasim::findings {
namespace {

namespace json = llvm::json;

std::string utf8(std::string_view text) {
    const llvm::StringRef bytes(text.data(), text.size());
    return json::isUTF8(bytes) ? bytes.str() : json::fixUTF8(bytes);
}

json::Value to_json(const Dim3& value) {
    return json::Array{value.x, value.y, value.z};
}

json::Value to_json(const CallChain& chain) {
    json::Array frames;
    for (const auto& frame : chain) {
        frames.push_back(json::Object{{"file", utf8(frame.file)},
                                      {"function", utf8(frame.function)},
                                      {"line", frame.line},
                                      {"column", frame.column}});
    }
    return frames;
}

json::Value to_json(const ThreadCoordinate& thread) {
    return json::Object{{"block", thread.block},
                        {"thread", thread.thread},
                        {"ctaid", to_json(thread.ctaid)},
                        {"tid", to_json(thread.tid)}};
}

json::Value to_json(const MemoryObject& object) {
    return json::Object{{"name", utf8(object.name)},
                        {"space", utf8(object.space)},
                        {"address", object.address},
                        {"bytes", object.bytes},
                        {"offset", object.offset},
                        {"element", utf8(object.element)},
                        {"element_type", utf8(object.element_type)}};
}

json::Value to_json(const WaitingGroup& group) {
    json::Array threads;
    for (const auto& [first, last] : group.threads) threads.push_back(json::Array{first, last});
    return json::Object{{"state", utf8(group.state)},
                        {"location", to_json(group.location)},
                        {"block", group.block},
                        {"ctaid", to_json(group.ctaid)},
                        {"threads", std::move(threads)}};
}

json::Value to_json(const RacingAccess& access) {
    return json::Object{{"what", utf8(access.what)},
                        {"thread", access.of_host ? json::Value(nullptr) : to_json(access.thread)},
                        {"location", to_json(access.location)},
                        {"value", utf8(access.value)}};
}

json::Value to_json(const Finding& finding) {
    const KindInfo& kind = info(finding.kind);
    json::Array waiting;
    for (const auto& group : finding.waiting) waiting.push_back(to_json(group));
    json::Array accesses;
    for (const auto& access : finding.accesses) accesses.push_back(to_json(access));
    const std::string exception(finding.exception_type.empty() ? kind.python_exception
                                                               : finding.exception_type);
    return json::Object{{"kind", utf8(kind.name)},
                        {"severity", utf8(word(finding.severity))},
                        {"message", utf8(finding.message)},
                        {"exception_type", utf8(exception)},
                        {"cuda_error_code", kind.cuda_error_code},
                        {"kernel", utf8(finding.kernel)},
                        {"thread", has_no_thread(finding) ? json::Value(nullptr) : to_json(finding.thread)},
                        {"location", to_json(finding.location)},
                        {"count", finding.count},
                        {"threads", finding.threads},
                        {"object", finding.object ? to_json(*finding.object) : json::Value(nullptr)},
                        {"waiting", std::move(waiting)},
                        {"accesses", std::move(accesses)},
                        {"reproduce", utf8(finding.reproduce)}};
}

}  // namespace

std::string json_report(std::span<const Finding> findings) {
    json::Array all;
    for (const auto& finding : findings) all.push_back(to_json(finding));
    std::string text;
    llvm::raw_string_ostream stream(text);
    json::OStream writer(stream, /*IndentSize=*/2);
    writer.value(json::Object{{"findings", std::move(all)}});
    return text + "\n";
}

std::string json_text(const Finding& finding) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    json::OStream(stream).value(to_json(finding));
    return text;
}

}  // namespace cudasim::findings

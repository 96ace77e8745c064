// See exception_filters.h.
#include "debugger/dap/exception_filters.h"

namespace cudasim::debugger {

namespace json = llvm::json;

using findings::FindingKind;

namespace {

/// Whether a thread can stop for it: where the host interrupts a launch, or has no memory for it, none can.
/// Warnings are those that the engine tells stop handlers of (StopHandler::wants_warning(), reports()).
bool stops_threads(FindingKind kind) {
    if (kind == FindingKind::negative_index || kind == FindingKind::float_division ||
        kind == FindingKind::barrier_early_exit || kind == FindingKind::divergent_lanes)
        return true;
    return findings::info(kind).severity == findings::Severity::error && kind != FindingKind::interrupted &&
           kind != FindingKind::out_of_memory;
}

json::Object filter(llvm::StringRef name, llvm::StringRef label, llvm::StringRef description,
                    bool is_default) {
    return json::Object{
        {"filter", name}, {"label", label}, {"description", description}, {"default", is_default}};
}

}  // namespace

json::Array exception_filters() {
    json::Array filters{
        filter("errors", "Errors of kernels", "Stops before what an error would damage", true),
        filter("calls", "breakpoint() in kernels", "Stops every thread that comes to one", true)};
    for (std::size_t i = 0; i < findings::all_kinds().size(); ++i) {
        const auto kind = static_cast<FindingKind>(i);
        if (!stops_threads(kind)) continue;
        const llvm::StringRef name(findings::info(kind).name.data(), findings::info(kind).name.size());
        filters.push_back(filter(name, name,
                                 findings::info(kind).severity == findings::Severity::error
                                     ? "Stops for this kind of error, where \"Errors of kernels\" is off"
                                     : "Stops for this kind of warning",
                                 false));
    }
    return filters;
}

std::optional<FindingKind> error_kind_named(llvm::StringRef filter) {
    for (std::size_t i = 0; i < findings::all_kinds().size(); ++i) {
        const auto kind = static_cast<FindingKind>(i);
        if (stops_threads(kind) &&
            findings::info(kind).name == std::string_view(filter.data(), filter.size()))
            return kind;
    }
    return std::nullopt;
}

}  // namespace cudasim::debugger

// Adapter's requests that list what is there: sources and kernels.
#include "debugger/dap/adapter.h"

namespace cudasim::debugger {

json::Value Adapter::loaded_sources(const Arguments& /*arguments*/) {
    json::Array list;
    for (const std::string& path : session_.source_paths()) {
        const std::lock_guard lock(sources_);
        list.push_back(inspection_.source(session_, path));
    }
    return json::Object{{"sources", std::move(list)}};
}

/// One for each kernel that has been launched.
json::Value Adapter::modules(const Arguments& arguments) {
    const std::uint64_t first = arguments.count_or("startModule", 0),
                        count = arguments.count_or("moduleCount", 0);
    const auto kernels = session_.kernels();
    json::Array list;
    for (std::uint64_t i = first; i < kernels.size() && (count == 0 || i - first < count); ++i) {
        const auto& [name, file] = kernels[i];
        list.push_back(json::Object{{"id", json_text(file + ":" + name)},
                                    {"name", json_text(name)},
                                    {"path", json_text(file)},
                                    {"isUserCode", true}});
    }
    return json::Object{{"modules", std::move(list)}, {"totalModules", json_number(kernels.size())}};
}

}  // namespace cudasim::debugger

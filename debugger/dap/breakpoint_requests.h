// What requests that set breakpoints of all kinds have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "debugger/control/hit_condition.h"
#include "debugger/control/index_set.h"
#include "debugger/dap/message.h"

namespace cudasim::debugger {

/// "3" or a number, or a list of such texts. @throws RequestError
inline IndexSet index_set(const Arguments& arguments, const char* name) {
    const json::Value* value = arguments.find(name);
    if (value == nullptr) return {};
    std::string text;
    if (const auto number = value->getAsInteger()) {
        text = std::to_string(*number);
    } else if (const auto given = value->getAsString()) {
        text = given->str();
    } else if (const json::Array* list = value->getAsArray()) {
        for (const json::Value& each : *list) {
            if (!text.empty()) text += ",";
            text += each.getAsInteger() ? std::to_string(*each.getAsInteger())
                                        : each.getAsString().value_or("?").str();
        }
    }
    std::string error;
    auto set = IndexSet::parse(text, error);
    if (!set) throw RequestError(error);
    return *set;
}

/// @tparam Request BreakpointRequest or WatchpointRequest. @throws RequestError
template <typename Request>
Request common_request(const Arguments& arguments) {
    Request request;
    request.condition = arguments.text_or("condition");
    if constexpr (requires { request.log_message; }) request.log_message = arguments.text_or("logMessage");
    request.hits_text = arguments.text_or("hitCondition");
    if (!request.hits_text.empty()) {
        request.hits = HitCondition::parse(request.hits_text);
        if (!request.hits)
            throw RequestError("'" + request.hits_text + "' is no hit count: write 3, >= 3, == 3 or % 3");
    }
    const Arguments more = arguments.object("cudasim");
    request.threads = index_set(more, "threads");
    request.blocks = index_set(more, "blocks");
    request.temporary = more.flag("temporary");
    request.id = more.number_if_there("id");
    if (more.find("hits") != nullptr) request.counted = more.count_or("hits", 0);
    return request;
}

/// The requests that are well formed, and for each that was sent what is wrong with it, or nothing.
template <typename Request, typename Fill>
std::pair<std::vector<Request>, std::vector<std::string>> requests_of(const Arguments& arguments,
                                                                      Fill&& fill) {
    std::pair<std::vector<Request>, std::vector<std::string>> result;
    const json::Array* list = arguments.array("breakpoints");
    if (list == nullptr) return result;
    for (const json::Value& each : *list) {
        try {
            const Arguments one(each.getAsObject());
            Request request = common_request<Request>(one);
            fill(request, one);
            result.first.push_back(std::move(request));
            result.second.emplace_back();
        } catch (const RequestError& error) {
            result.second.emplace_back(error.what());
        }
    }
    return result;
}

}  // namespace cudasim::debugger

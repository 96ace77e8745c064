// Inspection's scope Warp: each number of a function in all lanes of the warp.
#include <algorithm>

#include "debugger/dap/inspection.h"
#include "debugger/dap/thread_memory.h"

namespace cudasim::debugger {

/// Arguments and locals of the scope's frame that are no arrays, records or tuples.
std::vector<Inspection::Node> Inspection::numbers_of(Control& control, const Node& scope) {
    std::vector<Node> found;
    for (const Scope each : {Scope::arguments, Scope::locals}) {
        Node part = scope;
        part.scope = each;
        for (Node& node : nodes_of(control, part))
            if (!node.expression.empty() && element_count(node.value) + member_count(node.value) == 0 &&
                !node.value.array)
                found.push_back(std::move(node));
    }
    return found;
}

/// Lanes that are in another function, have not assigned it, have not started or are over have "-".
std::string Inspection::text_in_lanes(Control& control, const Node& node) {
    const execution::ThreadRef here = node.frame.thread;
    const findings::CallChain place = control.launch().location(here);
    if (node.frame.index >= place.size()) return "-";
    const std::uint32_t first = here.thread / jit::warp_size * jit::warp_size;
    const auto end = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(first + jit::warp_size, control.configuration().block.volume()));
    std::string text = "[";
    for (std::uint32_t thread = first; thread < end; ++thread) {
        const execution::ThreadRef lane{here.block, thread};
        const findings::CallChain other = control.launch().location(lane);
        std::string value = "-";
        if (other.size() == place.size() &&
            other[node.frame.index].function == place[node.frame.index].function) {
            const ThreadMemory memory(control.launch(), lane);
            for (const findings::VariableValue& each : control.launch().variables(lane))
                if (each.frame == node.frame.index && each.name == node.variable)
                    value = text_of(value_of(types_, each, memory), memory);
        }
        text += (thread == first ? "" : ", ") + value;
    }
    return text + "]";
}

}  // namespace cudasim::debugger

// Variables that are read where no value may have been assigned to them: Python raises UnboundLocalError
// there, and NameError for a variable of the function around. A variable that is read so has a flag, set by
// every assignment and tested by those reads; all other variables cost nothing.
#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

std::vector<char> unassigned_versions(const FlowGraph& graph) {
    std::vector<char> unassigned(graph.versions.size(), 0);
    std::vector<std::vector<VersionId>> joined_into(graph.versions.size());
    std::vector<VersionId> work;
    auto mark = [&](VersionId version) {
        if (!unassigned[version]) work.push_back(version);
        unassigned[version] = 1;
    };
    for (BlockId id : graph.order) {
        for (const Phi& phi : graph.blocks[id].phis) {
            for (const auto& [block, version] : phi.incoming) {
                if (version == nothing || !graph.versions[version].type)
                    mark(phi.version);
                else
                    joined_into[version].push_back(phi.version);
            }
        }
    }
    while (!work.empty()) {
        const VersionId version = work.back();
        work.pop_back();
        for (VersionId joined : joined_into[version]) mark(joined);
    }
    return unassigned;
}

void FunctionEmitter::find_unassigned() {
    unassigned_versions_ = unassigned_versions(graph_);
    for (VersionId version = 0; version < unassigned_versions_.size(); ++version) {
        if (unassigned_versions_[version]) maybe_unassigned_[graph_.versions[version].variable] = 1;
    }
    for (BlockId id : graph_.order) {
        for (ValueId value : graph_.blocks[id].instructions) {
            const Instruction& in = graph_.instructions[value];
            const bool checked = in.opcode == Opcode::load && unassigned_versions_[in.version] &&
                                 !graph_.variables[in.variable].compiler_made;
            if (!checked || assigned_.contains(in.variable)) continue;
            assigned_[in.variable] =
                entry_alloca(builder.getInt1Ty(), graph_.variables[in.variable].name + ".assigned");
        }
    }
    if (assigned_.empty()) return;
    builder.SetInsertPoint(entry_);
    set_location(graph_.source->syntax.location);
    for (const auto& [variable, flag] : assigned_) builder.CreateStore(builder.getFalse(), flag);
}

void FunctionEmitter::note_assigned(VariableId id) {
    if (const auto flag = assigned_.find(id); flag != assigned_.end())
        builder.CreateStore(builder.getTrue(), flag->second);
}

void FunctionEmitter::check_assigned(const Instruction& load) {
    if (!unassigned_versions_[load.version]) return;
    const auto flag = assigned_.find(load.variable);
    if (flag == assigned_.end()) return;
    const std::string name = "'" + graph_.variables[load.variable].name + "'";
    const bool old = module.program.request.old_messages;
    std::string message =
        (old ? "" : "cannot access ") + std::string(load.captured ? "free" : "local") + " variable " + name +
        (old ? " referenced before assignment" : " where it is not associated with a value");
    if (load.captured) message += " in enclosing scope";
    llvm::Value* exception =
        builder.getInt32(module.exception_index(load.captured ? "NameError" : "UnboundLocalError", message));
    call("__cudasim_check_assigned", builder.getVoidTy(),
         {builder.CreateLoad(builder.getInt1Ty(), flag->second), exception});
}

}  // namespace cudasim::pykernel

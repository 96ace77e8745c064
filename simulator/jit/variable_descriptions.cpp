// See variable_descriptions.h.
#include "simulator/jit/variable_descriptions.h"

#include "simulator/jit/debug_types.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {

using namespace llvm;

std::vector<VariableFrame> frames_at(const DILocation* location) {
    std::vector<VariableFrame> all, users;
    for (; location; location = location->getInlinedAt()) {
        const VariableFrame frame{location->getScope()->getSubprogram(), location->getInlinedAt()};
        all.push_back(frame);
        if (!StringRef(path_of(location->getFile())).starts_with(findings::own_code)) users.push_back(frame);
    }
    return users.empty() ? all : users;
}

bool is_of_frame(const Slot& slot, const VariableFrame& frame) {
    return frame.inlined_at == slot.inlined_at &&
           frame.function == slot.variable->getScope()->getSubprogram();
}

CapturedVariable VariableDescriptions::describe(const Slot& slot, std::uint32_t frame) {
    const DIType* type = slot.variable->getType();
    const auto [known, fresh] = known_.try_emplace(type, static_cast<std::uint32_t>(types_.size()));
    if (fresh) types_.push_back(type_description(type));
    CapturedVariable variable;
    variable.name = slot.variable->getName().str();
    variable.type = known->second;
    variable.bytes =
        static_cast<std::uint32_t>(data_layout_.getTypeAllocSize(slot.storage->getAllocatedType()));
    variable.frame = frame;
    variable.argument = slot.variable->getArg();
    if (const auto referred = referred_memory(type)) {
        variable.element_bytes = referred->element_bytes;
        variable.dimensions = referred->dimensions;
    }
    return variable;
}

CapturedVariable VariableDescriptions::describe(const SourceVariable& variable) {
    const DIType* type = variable.description->getType();
    const auto [known, fresh] =
        known_references_.try_emplace(type, static_cast<std::uint32_t>(types_.size()));
    if (fresh) types_.push_back(reference_description(type));
    CapturedVariable described;
    described.name = variable.description->getName().str();
    described.type = known->second;
    described.bytes = sizeof(std::uint64_t);
    described.is_static = true;
    described.is_global = !isa_and_present<DILocalScope>(variable.description->getScope());
    described.parts.push_back({0, described.bytes, variable.memory, variable.offset});
    return described;
}

}  // namespace cudasim::jit

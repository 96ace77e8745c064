// How a variable of the source is described to the engine: for captures of faults (captured_variables.h) and
// for stops (statement_stops.h).
#pragma once

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include <map>
#include <string>
#include <vector>

#include "simulator/jit/compilation.h"
#include "simulator/jit/variable_slots.h"

namespace cudasim::jit {

/// A function that is inlined at a place, and where.
struct VariableFrame {
    const llvm::DISubprogram* function;
    const llvm::DILocation* inlined_at;
    auto operator<=>(const VariableFrame&) const = default;
};

/// The frames of a place as findings::without_own_code() leaves them, innermost first.
[[nodiscard]] std::vector<VariableFrame> frames_at(const llvm::DILocation* location);

/// Whether the variable belongs to the frame.
[[nodiscard]] bool is_of_frame(const Slot& slot, const VariableFrame& frame);

class VariableDescriptions {
  public:
    /// @param types gets the descriptions of types that are met (debug_types.h)
    VariableDescriptions(std::vector<std::string>& types, const llvm::DataLayout& data_layout)
        : types_(types), data_layout_(data_layout) {}

    /// All but where its value is found. @param frame index into the call chain of the place
    [[nodiscard]] CapturedVariable describe(const Slot& slot, std::uint32_t frame);
    [[nodiscard]] CapturedVariable describe(const SourceVariable& variable);

  private:
    std::vector<std::string>& types_;
    const llvm::DataLayout& data_layout_;
    std::map<const llvm::DIType*, std::uint32_t> known_, known_references_;
};

}  // namespace cudasim::jit

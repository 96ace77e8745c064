// A thread's memory and variables as values (debugger/values).
#pragma once

#include "debugger/values/value.h"
#include "simulator/execution/stop.h"

namespace cudasim::debugger {

class ThreadMemory final : public Memory {
  public:
    ThreadMemory(const execution::StoppedLaunch& launch, execution::ThreadRef thread)
        : launch_(launch), thread_(thread) {}
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte> target) const override {
        return launch_.read(thread_, address, target);
    }

  private:
    const execution::StoppedLaunch& launch_;
    execution::ThreadRef thread_;
};

[[nodiscard]] inline Value value_of(Types& types, const findings::VariableValue& variable) {
    Value value;
    value.type = types.parse(variable.type);
    if (variable.known && variable.bytes.size() >= value.type->bytes)
        return value_from(value.type, variable.bytes);
    value.unavailable = variable.text.empty() ? "optimized out" : variable.text;
    return value;
}

}  // namespace cudasim::debugger

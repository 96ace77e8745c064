// A thread's memory and variables as values (debugger/values).
#pragma once

#include <cstring>

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

/// @param memory of the thread, where static variables lie
[[nodiscard]] inline Value value_of(Types& types, const findings::VariableValue& variable,
                                    const Memory& memory) {
    Value value;
    value.type = types.parse(variable.type);
    std::uint64_t address = 0;
    if (variable.is_static && variable.bytes.size() == sizeof address) {
        std::memcpy(&address, variable.bytes.data(), sizeof address);
        return value_at(value.type->of, address, memory);
    }
    if (variable.known && variable.bytes.size() >= value.type->bytes)
        return value_from(value.type, variable.bytes);
    value.unavailable = variable.text.empty() ? "optimized out" : variable.text;
    return value;
}

}  // namespace cudasim::debugger

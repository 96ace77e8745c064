// What an expression names that can be watched: an element, a slice, an array, a variable or a part of one,
// or an address. The grammar is Python's for places, and gdb's for addresses:
//
//   total    s[3]    y[i + 1, 2]    x[2:8]    m[:, 3]    p.mass    a[3].mass
//   *0x20000000010 : 8        8 bytes, as a number
//   *(float32 *) 0x20000000010
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "debugger/control/watchpoints.h"
#include "debugger/values/value.h"

namespace cudasim::debugger {

class WatchTargets {
  public:
    /// What the frame gives.
    struct Place {
        const execution::StoppedLaunch& launch;
        execution::FrameRef frame;
        std::uint64_t launch_number;
        std::function<std::optional<Value>(const std::string& name)> variable;
        /// The value of an index that is no number. @throws RequestError
        std::function<std::int64_t(const std::string& expression)> number;
    };

    /// @param bytes of an address without a type; 0: 4
    /// @throws RequestError where it is nothing that can be watched
    [[nodiscard]] static WatchTarget find(const Place& place, const std::string& expression,
                                          std::uint64_t bytes);
    /// The value at such a place, with its address where it lies in memory. @throws RequestError
    [[nodiscard]] static Value value(const Place& place, const std::string& expression);
};

}  // namespace cudasim::debugger

// Values of kernels that are host code (host_kernel.h), followed from the memory where they begin: which of
// their bits nobody has written. The kernel carries the states of its values along, as CPython's objects do
// (frontend/pyfiber/unwritten_value.h); the observer knows those of memory, and is told where a value is used
// that has unwritten bits. Compiled kernels have this compiled into them.
//
//   load ─► load_states ─► … ─► used, or store ─► store_states        LaunchOptions::value_observer
//
// What holds for observers of accesses (access_observer.h) holds here, too: when they are called, what they
// may do, and which addresses they get. Accesses are told as ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cudasim::execution {

class ThreadHandle;

/// What a value is used for.
enum class ValueUse : std::uint8_t {
    operand,
    comparison,
    branch,
    address,
    atomic,
    argument,
    printing,
    result
};

/// Where a value comes from, for reports.
struct ValueOrigin {
    std::uint64_t address = 0, bytes = 0;  ///< of the memory it was loaded from; 0 bytes: not of one element
    std::uint32_t shuffle_line = 0;        ///< of the warp shuffle that is all it comes from; else 0
};

class ValueObserver {
  public:
    virtual ~ValueObserver() = default;

    /// Which bits of the memory nobody has written: 1 for each of them. Whether there is one.
    /// @param unwritten gets a byte for each byte of the memory
    virtual bool load_states(std::uint64_t address, std::span<std::byte> unwritten) = 0;
    /// Behind a write to the memory, which made it count as written.
    virtual void store_states(std::uint64_t address, std::span<const std::byte> unwritten) = 0;
    virtual void used(ThreadHandle& thread, ValueUse use, const ValueOrigin& origin) = 0;
};

}  // namespace cudasim::execution

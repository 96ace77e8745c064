// Keeps host code out of device memory, as a GPU does. A process that asks for it has the pages of its
// arenas inaccessible while no engine work runs: host code that reads or writes there gets a segmentation
// fault.
//
//   host_guard::start();                   // once
//   const host_guard::EngineAccess open;   // around whatever the engine does with device memory
//
// Memory that the host shares with kernels (page-locked, mapped, managed) stays accessible.
//
// Changing the protection of pages costs microseconds, and more for memory that is large and in use. It
// takes no more than a small part of the process's time: where engine work follows engine work too quickly,
// the memory stays open in between, and host code is not caught there. The host's synchronisation with the
// device is where most wrong accesses follow, and may use all of the allowance.
#pragma once

#include <cstdint>

namespace cudasim::memory::host_guard {

/// From now on, and in processes that are forked from this one. Not before arenas are made, either.
void start();
[[nodiscard]] bool is_started() noexcept;
/// Device memory is accessible from now on: for a fault in the engine's own code.
void stop() noexcept;

/// Engine work begins or ends; calls nest, on any thread.
void enter() noexcept;
void leave() noexcept;
/// The host has waited for the device: closes what leave() has left open.
void host_goes_on() noexcept;

class EngineAccess {
  public:
    EngineAccess() noexcept { enter(); }
    ~EngineAccess() { leave(); }
    EngineAccess(const EngineAccess&) = delete;
    EngineAccess& operator=(const EngineAccess&) = delete;
};

// What arenas say of themselves.
void arena_made(std::uint64_t base, std::uint64_t bytes);
void arena_gone(std::uint64_t base);
/// Whole pages inside of an arena that host code may use, or no longer.
void shared_with_host(std::uint64_t address, std::uint64_t bytes);
void no_longer_shared(std::uint64_t address);

/// Whether the address lies in an arena, outside of what is shared with the host. For signal handlers, too.
[[nodiscard]] bool protects(std::uint64_t address) noexcept;
/// Whether engine work runs, or the memory is open for another reason.
[[nodiscard]] bool is_open() noexcept;

}  // namespace cudasim::memory::host_guard

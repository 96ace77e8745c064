// Which bits of memory have been written: one bit for each bit of a device's memory and of shared memory, as
// bytes in one array, in order, so that compiled code finds them by a subtraction.
//
// The array is reserved address space: pages come with the first write. A bit that is 0 was never written,
// which is what fresh pages say.
//
//   shadow  [ shared memory and the arena | always_written | scratch ]
//           ◄────────── bytes ───────────►◄── tail_bytes ─►◄─ tail_bytes ─►
//
// Addresses elsewhere (memory of the host, parameters, local memory) count as written: loads from there find
// always_written, stores to there end in scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cudasim::checks {

/// What compiled code knows of an InitShadow: BlockContext::check_states[jit::init_state] points to it.
/// Constant while a launch runs.
struct InitWindow {
    std::uint64_t low = 0;        ///< first address
    std::uint64_t bytes = 0;      ///< 0 where no address space could be reserved: nothing is looked for then
    std::byte* shadow = nullptr;  ///< of the byte at `low`
};

/// Inline accesses are no longer than this.
inline constexpr std::uint64_t tail_bytes = 4096;

class InitShadow {
  public:
    /// @param low, bytes the window; it is empty where the process may not reserve so much address space
    InitShadow(std::uint64_t low, std::uint64_t bytes);
    ~InitShadow();
    InitShadow(const InitShadow&) = delete;
    InitShadow& operator=(const InitShadow&) = delete;

    [[nodiscard]] const InitWindow& window() const { return window_; }
    [[nodiscard]] bool covers(std::uint64_t address) const { return address - window_.low < window_.bytes; }

    // Ranges may begin and end anywhere; what lies outside of the window is left out.
    void set_written(std::uint64_t address, std::uint64_t bytes);
    void set_unwritten(std::uint64_t address, std::uint64_t bytes);
    /// The target is written where the source is. They may overlap.
    void copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes);
    /// The first byte of the range with a bit that was never written.
    [[nodiscard]] std::optional<std::uint64_t> first_unwritten(std::uint64_t address,
                                                               std::uint64_t bytes) const;

    /// Whether a bit of the range was written.
    [[nodiscard]] bool any_written(std::uint64_t address, std::uint64_t bytes) const;

    /// Where the states of a range are that lies in the window.
    [[nodiscard]] std::byte* states(std::uint64_t address) const {
        return window_.shadow + (address - window_.low);
    }

  private:
    struct Range {
        std::uint64_t address, bytes;
    };
    [[nodiscard]] Range inside(std::uint64_t address, std::uint64_t bytes) const;

    InitWindow window_;
};

}  // namespace cudasim::checks

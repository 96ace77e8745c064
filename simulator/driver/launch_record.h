// LaunchRecord: one launch, complete and movable. It holds what the kernel was given (code, configuration,
// parameters, options, device memory) and what came of it (findings, printed text, memory
// afterwards), so that it can be run again in this process or in another one, on this machine or
// elsewhere, and compared (E12).
//
//   LaunchCapture (launch_capture.h)   observes a launch and makes one
//   RecordWriter, RecordReader (record_file.h)   the file
//   Restored, compare() (replay.h)   restore it on a target, and compare
//
// Nothing in a record is code of the host: kernels are NVVM IR, or source text of the front end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/driver/launch_plan.h"
#include "simulator/execution/device.h"
#include "simulator/records/gpu_launch.h"

namespace cudasim::driver {

using records::Content;
using records::Hash;
using records::RecordError;

/// 128 bits of XXH3.
[[nodiscard]] Hash hash_of(std::span<const std::byte> bytes);

enum class MemoryKind : std::uint8_t {
    device,   ///< allocated on the device
    host,     ///< page-locked or managed, allocated by the driver in the device's range of addresses
    adopted,  ///< memory of the program's own that it opened to kernels (cuMemHostRegister)
    freed,    ///< freed before the launch, and still recognised as such
};

/// "device", "host", "adopted", "freed": in files and for front ends.
[[nodiscard]] std::string_view name_of(MemoryKind kind);
/// nullopt for another name
[[nodiscard]] std::optional<MemoryKind> memory_kind_of(std::string_view name);

/// One allocation.
struct RecordedMemory {
    std::uint64_t address = 0, bytes = 0;
    std::string label;
    MemoryKind kind = MemoryKind::device;
    bool read_only = false;
    bool globals = false;            ///< the global variables of the kernel's image
    std::optional<Content> before;   ///< nullopt: the kernel could not reach it by any pointer
    std::optional<Content> after;    ///< when the launch was over, where that was asked for
    std::optional<Hash> after_hash;  ///< of the same bytes, where they themselves were not asked for
};

/// The outcome of a launch.
struct Outcome {
    /// False when it did not come to its end: Ctrl-C, or the host was told to stop it.
    bool finished = false;
    std::string findings;  ///< findings::json_report()
    std::string printed;
    std::uint64_t blocks_run = 0;
};

struct LaunchRecord {
    std::string version;       ///< of the cudasim that recorded it
    std::uint64_t number = 0;  ///< the ordinal of the launch in its run, from 1; 0: unknown
    std::string kernel;        ///< its name in the image; empty for a kernel of the front end's own
    std::string display_name;  ///< its name in the source
    Content image;             ///< KernelImage::serialise(); empty for a kernel of the front end's own
    /// The same image as the program holds it, where `image` has been changed for the simulator: a GPU is
    /// given the program's own inline PTX. Empty where they do not differ.
    Content embedded_image;
    /// JSON of the sources of a kernel that the front end runs itself (Python mode), and of the plain data
    /// that they refer to.
    Content front_end;
    execution::LaunchConfiguration configuration;
    execution::LaunchOptions options;  ///< without what the host does meanwhile
    std::vector<Argument> arguments;
    std::vector<std::byte> parameters;
    execution::DeviceProfile device;
    /// Of the host's program, which launched it, innermost first; empty: not known.
    std::vector<findings::SourceLocation> host_frames;
    std::uint64_t memory_base = 0;  ///< where the device's memory began
    std::vector<RecordedMemory> memory;
    std::optional<records::GpuCode> gpu;  ///< the same kernel for a GPU; only where that was asked for
    Outcome outcome;

    [[nodiscard]] bool runs_in_front_end() const { return image.size() == 0; }
};

/// One line for people: "#3 saxpy<<<(4, 1, 1), (256, 1, 1)>>>".
[[nodiscard]] std::string headline(const LaunchRecord& record);

/// What a GPU gets of a record that has GPU code. Memory that the kernel cannot reach, and contents, stay
/// behind: GpuMemory::before is empty.
/// @param indices gets the index in record.memory of each range
[[nodiscard]] records::GpuLaunch gpu_launch_of(const LaunchRecord& record, std::vector<std::size_t>& indices);

}  // namespace cudasim::driver

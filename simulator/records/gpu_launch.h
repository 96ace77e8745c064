// What a GPU is given of a recorded launch, and what it answers. Both travel as bytes: in files of records
// (gpu_format, result_format) and through a pipe, to the program that runs them, cudasim-gpu-run.
//
// Reading believes nothing. Addresses, sizes and offsets are checked against each other before anybody uses
// them (check()).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/records/blocks.h"

namespace cudasim::records {

/// Files of launches (simulator/driver/record_file.h): 'L' is a launch for the simulator, 'G' one for a GPU.
inline constexpr FileFormat launch_format{"CUDASIM RECORD\r\n", 2, 1, "file of records", "LG"};
/// Files of what a GPU answered: 'R' is a GpuResult.
inline constexpr FileFormat result_format{"CUDASIM GPU RUN\n", 1, 1, "file of a GPU's results", "R"};

/// The variable of a module in which checks leave what they found (gpu_backend/fault_slots.h).
inline constexpr const char* fault_variable = "__cudasim_faults";

struct GpuParameter {
    std::uint32_t offset = 0, size = 0;  ///< bytes, in GpuLaunch::parameters
    bool is_address = false;             ///< a pointer by its type
    bool operator==(const GpuParameter&) const = default;
};

/// A kernel for a GPU.
struct GpuCode {
    std::string ptx, entry;
    std::string architecture;  ///< "sm_80": the oldest GPU that the PTX is for
    std::vector<GpuParameter> parameters;
    bool cooperative = false;  ///< all blocks must be resident at once
    /// The PTX contains addresses of global variables, which are a part of the launch's memory.
    bool has_addresses = false;
    std::string fault_sites;  ///< for whoever decodes what fault_variable holds; empty: there are no checks
    std::string libdevice;    ///< hexadecimal hash of NVIDIA's bitcode that is linked in; empty: none is
    /// Why a GPU cannot run this kernel, in a sentence; empty: it can.
    std::string refusal;
    bool operator==(const GpuCode&) const = default;
};

/// One allocation, as it is before the launch.
struct GpuMemory {
    std::uint64_t address = 0, bytes = 0;
    std::string label;
    bool holds_addresses = false;  ///< words in it that may be addresses of memory of the launch
    ChunkList before;              ///< in a file; empty where the bytes travel otherwise
};

struct GpuLaunch {
    std::uint64_t number = 0;  ///< the ordinal of the launch in its run
    std::string kernel;        ///< its name in the source
    ChunkList code;            ///< to_bytes(GpuCode), in a file: launches of one kernel share it
    std::string refusal;       ///< why a GPU cannot be given this memory; empty: it can
    std::array<std::uint32_t, 3> grid{}, block{};
    std::uint64_t dynamic_shared_bytes = 0;
    std::vector<std::byte> parameters;
    std::vector<GpuMemory> memory;  ///< by ascending address, without overlaps
    /// What the simulator found in it, in one line; empty: no error.
    std::string simulated_error;
};

enum class GpuStatus : std::uint8_t {
    ran,        ///< to its end
    refused,    ///< not started; message says why
    failed,     ///< a call of the driver failed before the kernel ran: code, function
    faulted,    ///< the kernel ended with an error: code
    timed_out,  ///< it was not over in time
    lost,       ///< the process that ran it died
};
/// "ran", "refused", "failed", "faulted", "timed-out", "lost"
[[nodiscard]] std::string_view name_of(GpuStatus status);

/// Bytes of an allocation that are others than before.
struct GpuChange {
    std::uint64_t offset = 0;
    ChunkList content;
};

/// Bytes that the kernel wrote where no allocation is.
struct StrayWrite {
    std::uint64_t address = 0, bytes = 0;
};

struct GpuResult {
    std::uint64_t number = 0;
    std::string kernel;
    GpuStatus status = GpuStatus::ran;
    std::int32_t code = 0;  ///< CUresult
    std::string function;   ///< the call of the driver that gave it
    std::string message;    ///< for people: the driver's words, and what may help
    std::string gpu;        ///< its name
    std::uint32_t capability_major = 0, capability_minor = 0;
    std::uint32_t driver_major = 0, driver_minor = 0;  ///< CUDA's version that the driver supports
    bool same_addresses = true;
    double milliseconds = 0;       ///< of the kernel, by events of the driver
    double load_milliseconds = 0;  ///< until the module was loaded, by the host's clock
    std::string printed;
    std::vector<std::byte> faults;                ///< of fault_variable
    std::vector<std::vector<GpuChange>> changes;  ///< for each of GpuLaunch::memory; files only
    std::vector<StrayWrite> stray;                ///< the first ones
    std::uint64_t stray_bytes = 0;                ///< of all
};

[[nodiscard]] std::vector<std::byte> to_bytes(const GpuCode& code);
/// @throws RecordError for what is cut short
[[nodiscard]] GpuCode code_from(std::span<const std::byte> bytes);

[[nodiscard]] std::vector<std::byte> to_bytes(const GpuLaunch& launch);
/// @throws RecordError for what is cut short, or does not fit together
[[nodiscard]] GpuLaunch launch_from(std::span<const std::byte> bytes);
/// @throws RecordError where the code's parameters are not those of the launch
void check_together(const GpuLaunch& launch, const GpuCode& code);

[[nodiscard]] std::vector<std::byte> to_bytes(const GpuResult& result);
/// @throws RecordError
[[nodiscard]] GpuResult result_from(std::span<const std::byte> bytes);

}  // namespace cudasim::records

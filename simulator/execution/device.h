// A simulated device: its memory, the images loaded on it, and launches. The engine's front door.
//
//   Device device(h100());
//   auto x = device.allocate(80, {.label = "x"});
//   device.copy_to_device(x, host, 80);
//   auto image = device.load(kernel_image);
//   LaunchResult result = device.launch(image, "kernel", {{1}, {32}}, parameters, {});
//
// Safe to use from several host threads; launches of one device from several threads run one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/execution/device_profile.h"
#include "simulator/execution/host_kernel.h"
#include "simulator/execution/named_array.h"
#include "simulator/execution/observer.h"
#include "simulator/findings/cuda_result.h"
#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"
#include "simulator/jit/compiler.h"
#include "simulator/jit/statement_stops.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

using findings::CudaResult;

/// What the CUDA driver would have answered (CUDA Driver API, enum CUresult). An error of the user's.
struct CudaError : std::runtime_error {
    CudaError(CudaResult result, const std::string& message, findings::CallChain where = {})
        : std::runtime_error(message), code(result), location(std::move(where)) {}
    CudaResult code;
    findings::CallChain location;  ///< the place in the kernel that asks for it, where there is one
};

using DevicePointer = std::uint64_t;

struct AllocateOptions {
    std::string label = {};  ///< what reports call the allocation
    bool poison = true;  ///< fill with the poison pattern (V3); false when the caller overwrites all of it
    bool host = false;   ///< page-locked or managed: not counted as the device's
    bool read_only = false;  ///< kernels may not write to it
};

/// Where another process finds an allocation: in the memory file `file` of this process
/// (memory/shared_pages.h).
struct ExportedMemory {
    int file = -1;
    std::uint64_t offset = 0, mapped_bytes = 0, inside = 0;  ///< as in SharedPages::Place
    std::uint64_t bytes = 0;                                 ///< of the allocation
};

struct AddressRange {
    DevicePointer base = 0;
    std::uint64_t bytes = 0;
};

struct MemoryInfo {
    std::uint64_t free = 0, total = 0;  ///< bytes
};

class StopHandler;

/// The order in which threads and blocks get their turn (E6). random: another one in every block and after
/// every barrier, all of them from LaunchOptions::seed. Under those behind it threads take turns between
/// their accesses to memory, too (interleaving.h); lockstep has the order forward, the others a random one.
enum class Policy { forward, reverse, random, lockstep, preempt, pct, starve };
/// automatic: coroutines where the kernel allows it, else a runner passes over threads until one waits;
/// fiber: every thread on a fiber of its own (E1).
enum class Carrier { automatic, fiber };

struct LaunchConfiguration {
    Dim3 grid, block;
    std::uint64_t dynamic_shared_bytes = 0;
    /// Blocks of each cluster by axis; none: the launch asks for no clusters, and every block is one.
    std::optional<Dim3> cluster = std::nullopt;

    [[nodiscard]] std::uint64_t cluster_blocks() const { return cluster ? cluster->volume() : 1; }
};

/// How far a launch is.
struct LaunchProgress {
    std::uint64_t blocks_done = 0, blocks = 0;
    double seconds = 0;      ///< since it began; 0 while it waits for another launch of its device
    bool compiling = false;  ///< its kernel is being compiled, for so many seconds
};

/// What a negative index of an array is, where it is not a literal: Python's,
/// counted and reported, or an error.
enum class Wrap : std::uint8_t { allow, warn, error };

struct LaunchOptions {
    Policy policy = Policy::forward;
    std::uint64_t seed = 0;     ///< of all policies but forward, reverse and lockstep
    double preemption = 0.125;  ///< policy preempt: how likely a thread loses its turn at an access
    unsigned pct_depth = 3;     ///< policy pct: a bug that so many ordered accesses show
    Carrier carrier = Carrier::automatic;
    unsigned workers = 0;               ///< host threads; 0: as many as the machine has cores (E7)
    double time_limit_seconds = 0;      ///< 0: none
    bool raise_float_division = false;  ///< C3
    Wrap wrap = Wrap::allow;            ///< negative indices that count from the end
    bool cooperative =
        false;  ///< its blocks may meet at grid barriers: all have to fit on the device at once
    /// So is a launch of a compiled kernel that names the group of its grid, as numba.cuda launches it. CUDA
    /// C++ programs say it at each launch.
    bool cooperative_by_kernel = true;
    bool strict = false;                  ///< C4: early exits at barriers are errors
    std::uint64_t max_faults = 1000;      ///< threads that may fault before the launch ends
    jit::CompileOptions compile;          ///< compile_options() are those in force
    ObserverList observers;               ///< are told of blocks and barriers (observer.h)
    AccessObserverList access_observers;  ///< of host kernels: are told of each access (access_observer.h)
    ValueObserver* value_observer = nullptr;  ///< of host kernels: follows values (value_observer.h)
    std::vector<NamedArray> arrays;           ///< of the arguments, for reports that name elements
    StopHandler* stop_handler =
        nullptr;  ///< is asked where threads stop, and who goes on (stop.h): one worker
    /// Called about every 50 ms on the launching thread, without locks. Returns true to stop the launch
    /// ("interrupted") or the compilation before it (image::Cancelled).
    std::function<bool(const LaunchProgress&)> poll_host = {};
    /// What kernels print (vprintf): whole lines, on the launching thread, without locks; false stops the
    /// launch. Empty: nothing is written.
    std::function<bool(std::string_view)> write_output = {};

    /// Whether threads take turns between their accesses. Not where they can be stopped.
    [[nodiscard]] bool interleaves() const { return policy >= Policy::lockstep && stop_handler == nullptr; }
    /// The order in which threads and blocks get their turn: forward, reverse or random.
    [[nodiscard]] Policy order() const {
        if (policy == Policy::lockstep) return Policy::forward;
        return policy > Policy::lockstep ? Policy::random : policy;
    }

    [[nodiscard]] jit::CompileOptions compile_options() const {
        jit::CompileOptions chosen = usual_compile_options();
        if (stop_handler) chosen.instrumentations.add(jit::statement_stops());
        return chosen;
    }
    /// The same for code in which nothing can stop.
    [[nodiscard]] jit::CompileOptions usual_compile_options() const {
        jit::CompileOptions chosen = compile;
        chosen.wrap_checks = wrap != Wrap::allow;
        chosen.coroutines = chosen.coroutines && carrier == Carrier::automatic && !interleaves();
        if (interleaves()) {
            // Checks of an access belong to it: nobody has a turn in between.
            jit::InstrumentationList first{&jit::access_turns()};
            for (const jit::Instrumentation* each : chosen.instrumentations) first.add(*each);
            chosen.instrumentations = first;
        }
        // Their lanes take turns in one order only.
        chosen.lane_coroutines = chosen.lane_coroutines && chosen.coroutines && order() == Policy::forward;
        return chosen;
    }
};

struct LaunchResult {
    /// Errors before warnings; errors in order of (block, thread), so the first is what is raised.
    std::vector<findings::Finding> findings;
    std::uint64_t blocks_run = 0;
    [[nodiscard]] const findings::Finding* error() const {
        return !findings.empty() && findings.front().severity == findings::Severity::error ? &findings.front()
                                                                                           : nullptr;
    }
};

class LoadedImage;

class Device {
  public:
    /// @param memory_base where its memory begins if that place is free (memory::Arena); 0: where it may
    explicit Device(const DeviceProfile& profile, DevicePointer memory_base = 0);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    [[nodiscard]] const DeviceProfile& profile() const;

    /// 256-byte aligned. @throws CudaError 2 out of memory (naming the limit), 1 for zero bytes.
    [[nodiscard]] DevicePointer allocate(std::uint64_t bytes, const AllocateOptions& options = {});
    /// @throws CudaError 1 for what is not the start of a live allocation (double free, invalid free)
    void free(DevicePointer pointer);
    /// The same at a given address. False when it is not free, or not in this device's memory.
    [[nodiscard]] bool allocate_at(DevicePointer address, std::uint64_t bytes,
                                   const AllocateOptions& options);
    /// Whether kernels may use the allocation, as they may from the beginning: an access while they may not
    /// is a finding (use-before-alloc). Observers are told of an allocation, or of a release.
    /// @throws CudaError 1 for what is not the start of a live allocation
    void set_accessible(DevicePointer pointer, bool accessible);
    /// Lets kernels use host memory or another process's, until free(). It stays its owner's.
    /// @throws CudaError 712 when part of it is device memory already
    void adopt(DevicePointer address, std::uint64_t bytes, const std::string& label);
    /// Gives other processes the allocation that starts at `pointer`.
    /// @throws CudaError 1 for what cannot be shared, 999 when the system refuses
    [[nodiscard]] ExportedMemory share(DevicePointer pointer);
    /// The live allocation that contains `pointer`. @throws CudaError 1
    [[nodiscard]] AddressRange address_range(DevicePointer pointer) const;
    /// Where that allocation begins; 0: the address is in none.
    [[nodiscard]] DevicePointer allocation_at(DevicePointer pointer) const;
    /// Ranges must lie in one live allocation. @throws CudaError 1
    void copy_to_device(DevicePointer target, const void* source, std::uint64_t bytes);
    void copy_from_device(void* target, DevicePointer source, std::uint64_t bytes);
    void copy_within_device(DevicePointer target, DevicePointer source, std::uint64_t bytes);
    /// From another device's memory. Its observers are told of a copy from that device, this one's of a copy
    /// to this one.
    void copy_from_peer(DevicePointer target, const Device& peer, DevicePointer source, std::uint64_t bytes);
    void fill(DevicePointer target, std::uint8_t value, std::uint64_t bytes);
    /// Tells the observer of allocations, frees and copies from now on, after those that were added before
    /// (observer.h). @throws std::invalid_argument when it is being told already
    void observe(LaunchObserver& observer);
    /// Nobody is telling the observer anything when this has returned. Nothing happens where nobody did.
    void stop_observing(LaunchObserver& observer);
    [[nodiscard]] MemoryInfo memory_info() const;
    /// How many bytes malloc() of kernels may have at a time (cudaLimitMallocHeapSize).
    [[nodiscard]] std::uint64_t heap_limit() const;
    void set_heap_limit(std::uint64_t bytes);
    /// Where its memory begins.
    [[nodiscard]] DevicePointer memory_base() const;
    /// Every live allocation, by ascending address, and every freed one that is still recognised as such, the
    /// oldest first.
    struct MemoryLayout {
        std::vector<memory::Allocation> live, freed;
    };
    [[nodiscard]] MemoryLayout memory_layout() const;
    /// Whether the address lies in this device's memory, allocated or not, or in what it adopted.
    [[nodiscard]] bool owns(DevicePointer pointer) const;
    /// Whether all bytes lie in one live allocation.
    [[nodiscard]] bool contains(DevicePointer pointer, std::uint64_t bytes) const;

    /// The globals of an image get their memory here, once; loading an equal image again returns the same.
    /// @param globals_at where they are to lie, if that place is free; 0: anywhere
    [[nodiscard]] std::shared_ptr<LoadedImage> load(const image::KernelImage& image,
                                                    DevicePointer globals_at = 0);

    /// Compiles the kernel now (else the first launch does). @throws jit::CompileError, image::Cancelled
    std::shared_ptr<const jit::CompiledKernel> compile(LoadedImage& image, std::string_view kernel,
                                                       const jit::CompileOptions& options,
                                                       const image::HostPoll& poll = {});

    /// Runs the kernel to its end. Eager (V7). @param parameters laid out as image::Kernel::parameters says.
    /// @throws CudaError for what the profile forbids, jit::CompileError. Kernel faults are in the result.
    [[nodiscard]] LaunchResult launch(LoadedImage& image, std::string_view kernel,
                                      const LaunchConfiguration& configuration,
                                      std::span<const std::byte> parameters, const LaunchOptions& options);

    /// Runs host code as a kernel.
    [[nodiscard]] LaunchResult launch(HostKernel& kernel, const LaunchConfiguration& configuration,
                                      const LaunchOptions& options);

    /// Address of a global or constant variable of a loaded image. @throws CudaError 500 not found
    [[nodiscard]] AddressRange global_range(const LoadedImage& image, std::string_view name) const;
    /// Where the variables of a loaded image begin; 0 when it has none, or none of its kernels is compiled.
    [[nodiscard]] DevicePointer globals_base(const LoadedImage& image) const;

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace cudasim::execution

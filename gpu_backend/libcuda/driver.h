// START HERE: NVIDIA's driver on this machine, and its GPUs.
//
//   Driver driver = Driver::open(Search::on_this_machine());  // loads the library; starts nothing
//   driver.initialise();                                       // cuInit: 0.2 s, and it starts threads
//   for (const Gpu& gpu : driver.gpus()) ...
//   driver.functions().cuMemAlloc(&address, bytes);
//
// Who asks for it has CUDA in the process for good. A program of a user must not get it that way, so
// cudasim's Python package asks in a process of its own (frontend/python/cudasim/real_gpu.py).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_backend/libcuda/functions.h"
#include "gpu_backend/libcuda/library.h"
#include "gpu_backend/libcuda/outcomes.h"

namespace cudasim::libcuda {

/// Of CUDA, as cuDriverGetVersion() tells it (1000 * major + 10 * minor), or of a compute capability.
struct Version {
    int major = 0;
    int minor = 0;
    auto operator<=>(const Version&) const = default;
};

/// "13.0"
[[nodiscard]] std::string to_text(Version version);

/// The oldest driver: PTX of gpu_backend is of version 7.8, which CUDA 11.8 is the first to read ("PTX ISA",
/// Release Notes). Memory at given addresses came with CUDA 10.2, cuLaunchKernelEx with 11.8.
inline constexpr Version needed_driver{11, 8};
/// The oldest GPU: from compute capability 7.0 on lanes of a warp run on their own (rule E4), and orders and
/// scopes of memory accesses exist ("PTX ISA", Memory Consistency Model).
inline constexpr Version needed_capability{7, 0};

/// A GPU that the driver sees.
struct Gpu {
    int ordinal = 0;  ///< the driver's number, which CUDA_VISIBLE_DEVICES changes
    std::string name;
    Version compute_capability;
    std::uint64_t memory = 0;     ///< bytes
    bool virtual_memory = false;  ///< whether memory at given addresses can be had
    [[nodiscard]] bool is_new_enough() const { return compute_capability >= needed_capability; }
};

class Driver {
  public:
    /// Loads the library and looks its functions up. Throws Unavailable: no driver; broken, where it does not
    /// load or a required function is missing; too old.
    [[nodiscard]] static Driver open(const Search& search);

    /// cuInit. Throws Unavailable: no device; broken, where cuInit fails otherwise.
    void initialise();

    /// Once it is initialised. Throws Unavailable: no device; too old, where every GPU is; broken.
    [[nodiscard]] std::vector<Gpu> gpus() const;

    [[nodiscard]] const Functions& functions() const { return functions_; }
    [[nodiscard]] Version version() const { return version_; }
    [[nodiscard]] const std::string& path() const { return library_.path(); }
    [[nodiscard]] std::vector<std::string> missing_optional() const {
        return missing_symbols(functions_, Need::optional);
    }

    /// "CUDA_ERROR_UNKNOWN (999): unknown error" (functions.h)
    [[nodiscard]] std::string text_of(Result result) const { return libcuda::text_of(functions_, result); }

    /// Throws Unavailable (broken driver) unless `result` is success.
    void require(const char* function, Result result) const;

  private:
    explicit Driver(Library library);
    [[nodiscard]] Gpu gpu(int ordinal) const;
    [[nodiscard]] Unavailable no_device() const;
    Library library_;
    Functions functions_;
    Version version_;
};

/// What is known of the GPUs of this machine.
struct Inventory {
    Outcome outcome = Outcome::found;
    std::string message;                         ///< what Unavailable says; empty for found
    std::string library;                         ///< the file; empty where none was loaded
    Version driver;                              ///< 0.0 where it is not known
    std::vector<Gpu> gpus;                       ///< none unless found
    std::vector<std::string> missing_functions;  ///< the optional ones
};

/// Opens and initialises the driver. The outcomes are data, nothing is thrown for them.
[[nodiscard]] Inventory take_inventory(const Search& search);

/// A line for each GPU, "GPU: NVIDIA H200, compute capability 9.0, 139.8 GiB, driver 13.0 (/usr/lib/…)",
/// and one for optional functions that are missing; or one that says why there is no GPU, "GPU: none: …".
[[nodiscard]] std::vector<std::string> lines_of(const Inventory& inventory);

}  // namespace cudasim::libcuda

// Runs a recorded launch again, and compares what comes of it with what was recorded.
//
//   Restored restored(target, record, options);  // memory, at the same addresses where they are free
//   auto result = target.launch(restored.module(), record.kernel, record.configuration,
//                               restored.parameters(), options);
//   auto differences = compare(target, record, restored, result, finished, printed);
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "simulator/driver/launch_record.h"
#include "simulator/driver/target.h"

namespace cudasim::driver {

/// Pages of host memory that the recording program had opened to kernels: mapped anew, at the
/// same address where that is free.
class AdoptedPages {
  public:
    /// @param first, last of the recording program: [first, last), at pages' boundaries
    /// @throws RecordError
    AdoptedPages(std::uint64_t first, std::uint64_t last);
    ~AdoptedPages();
    AdoptedPages(AdoptedPages&& other) noexcept;
    AdoptedPages& operator=(AdoptedPages&&) = delete;
    /// What stands for a recorded address; nothing where it is on other pages.
    [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint64_t recorded) const;

  private:
    std::uint64_t first_, last_;
    void* mapped_ = nullptr;
};

/// A record's memory on a target.
///
/// Addresses are the recorded ones where they are free. Where they are not, allocations move,
/// and words of the parameters that point into them with them; memory whose content points into
/// what moved cannot be restored.
class Restored {
  public:
    /// @param options that the kernel will run with; its code is compiled here
    /// @throws RecordError, execution::CudaError, jit::CompileError, image::ImageError, image::Cancelled
    Restored(Target& target, const LaunchRecord& record, const execution::LaunchOptions& options);
    ~Restored();
    Restored(const Restored&) = delete;
    Restored& operator=(const Restored&) = delete;

    /// The module of the record's image. A kernel that a front end runs has none.
    [[nodiscard]] Target::Module& module() { return *module_; }
    [[nodiscard]] std::span<const std::byte> parameters() const { return parameters_; }
    /// Where the allocation record.memory[index] is now.
    [[nodiscard]] std::uint64_t address(std::size_t index) const { return addresses_[index]; }
    /// Whether every allocation is where it was.
    [[nodiscard]] bool same_addresses() const { return !moved_; }
    /// A recorded address as it is now.
    [[nodiscard]] std::uint64_t relocated(std::uint64_t address) const;

  private:
    void place(std::size_t index);
    void fill();
    void free_all() noexcept;

    Target& target_;
    const LaunchRecord& record_;
    std::unique_ptr<Target::Module> module_;
    std::vector<std::byte> parameters_;
    std::vector<std::uint64_t> addresses_;  ///< 0: not placed
    std::vector<bool> owned_;
    std::vector<AdoptedPages> adopted_;
    bool moved_ = false;
};

/// One thing in which two runs of a launch differ, as a sentence.
struct Difference {
    std::string what;         ///< "memory", "findings", "printed", "blocks", "finished"
    std::string text;         ///< for people
    std::size_t memory = 0;   ///< index into LaunchRecord::memory, for "memory"
    std::uint64_t first = 0;  ///< the first byte that differs, where contents are known
    std::uint64_t count = 0;  ///< how many bytes differ, where contents are known
};

/// @param finished whether the run came to its end
/// @param printed what the kernel printed
[[nodiscard]] std::vector<Difference> compare(Target& target, const LaunchRecord& record,
                                              const Restored& restored, const execution::LaunchResult& result,
                                              bool finished, std::string_view printed);

}  // namespace cudasim::driver

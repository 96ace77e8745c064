// The elements that a launch left differently on the simulator and on a GPU, and what another run of the
// same launch does to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_backend/comparison/value_comparer.h"
#include "gpu_backend/launches/compared_launch.h"
#include "gpu_backend/launches/gpu_outcome.h"
#include "simulator/driver/launch_record.h"
#include "simulator/execution/device.h"

namespace cudasim::gpu_launches {

/// The contents after a run, for each of LaunchRecord::memory; nullopt for memory that is not compared.
using MemoryAfter = std::vector<std::optional<driver::Content>>;

/// What a run leaves.
struct Results {
    MemoryAfter memory;
    std::string printed;
};

/// Which of the differing elements, by their ordinal.
using ElementSet = std::vector<bool>;
[[nodiscard]] std::uint64_t size_of(const ElementSet& set);

/// What another run does to the differing elements.
struct Effect {
    ElementSet removed;      ///< they agree with the other side
    ElementSet moved;        ///< they have another value, which does not agree either
    std::uint64_t adds = 0;  ///< elements that agreed, and now differ

    [[nodiscard]] bool is_nothing() const { return size_of(removed) == 0 && size_of(moved) == 0; }
};

/// Elements of arrays beyond their tolerance, bytes that differ and belong to no array, and the printed
/// lines, which count as one element.
class DifferingElements {
  public:
    /// @param simulated what the simulator left @param outcome of a launch that ran to its end
    /// @throws as compare_launch()
    DifferingElements(const driver::LaunchRecord& record, Results simulated, const GpuOutcome& outcome,
                      std::span<const ComparedArray> arrays);

    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// With every element that is not in the set.
    [[nodiscard]] ElementSet none() const { return ElementSet(size_); }

    /// Of another run on the simulator. A value counts as moved where it changes by at least 1/64 of the
    /// difference: a change of the last bit does not explain that a result is wrong altogether.
    [[nodiscard]] Effect effect_of(const Results& simulated) const;
    /// Of another run on the GPU.
    [[nodiscard]] Effect effect_of_gpu(const Results& gpu) const;

    /// Places of some elements of the set, spread over it, as recorded.
    [[nodiscard]] std::vector<execution::AddressRange> places(const ElementSet& set, std::size_t most) const;
    /// Whether an element lies in the range.
    [[nodiscard]] bool any_in(std::uint64_t address, std::uint64_t bytes) const;
    /// Memory is compared where this is true.
    [[nodiscard]] bool compares(std::size_t memory) const { return gpu_.memory[memory].has_value(); }

  private:
    /// A part of an allocation: an array, or what lies outside of arrays.
    struct Part {
        std::size_t memory = 0;
        const ComparedArray* array = nullptr;               ///< null: bytes outside
        comparison::ArrayView view;                         ///< with its offset
        std::shared_ptr<comparison::ValueComparer> values;  ///< of floats only
        std::vector<comparison::ArrayView> views;           ///< of the allocation, for bytes outside
        std::uint64_t first = 0;                            ///< ordinal of its first element
        /// Positions in the array, or offsets in the allocation, ascending.
        std::vector<std::uint64_t> elements;
    };
    [[nodiscard]] std::vector<std::uint64_t> differing(const Part& part, std::span<const std::byte> simulated,
                                                       std::span<const std::byte> gpu) const;
    [[nodiscard]] bool is_moved(const Part& part, std::uint64_t element, const std::byte* now,
                                const std::byte* then, const std::byte* other) const;
    [[nodiscard]] Effect effect(const Results& changed, const Results& then, const Results& other,
                                bool changed_is_gpu) const;
    [[nodiscard]] std::uint64_t offset_of(const Part& part, std::uint64_t element) const;

    const driver::LaunchRecord& record_;
    Results simulated_, gpu_;
    std::vector<Part> parts_;
    std::uint64_t size_ = 0;
    bool lines_differ_ = false;  ///< the last element is the printed lines
};

}  // namespace cudasim::gpu_launches

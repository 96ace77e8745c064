// Compares values of one type one by one, exactly as comparison.h defines it; the loops of chunk_kernels.h do
// the same for many values that are not special.
#pragma once

#include <memory>

#include "gpu_backend/comparison/chunk_kernels.h"
#include "gpu_backend/comparison/comparison.h"

namespace cudasim::comparison {

/// What there is to say about two values.
struct Outcome {
    bool differs = false;  ///< in their bits
    bool mismatched = false;
    bool nan_simulated = false, nan_gpu = false;  ///< on that side only
    bool nan_bits = false;
    bool zero_signs = false;
    bool has_distance = false;  ///< absolute and ulp are defined
    double absolute = 0;
    double relative = -1;  ///< below 0 where it is not defined
    std::uint64_t ulp = 0;
};

/// Numbers of values that are told apart. Added to.
struct SpecialValues {
    std::uint64_t nan_simulated = 0, nan_gpu = 0, nan_bits = 0, zero_signs = 0;
};

class ValueComparer {
  public:
    virtual ~ValueComparer() = default;

    /// @param type not a record @param tolerance checked already
    [[nodiscard]] static std::unique_ptr<ValueComparer> make(const ElementType& type,
                                                             const Tolerance& tolerance);

    [[nodiscard]] virtual Outcome evaluate(const std::byte* simulated, const std::byte* gpu) const = 0;
    /// The summary of a chunk, special or not. @param before may be nullptr
    [[nodiscard]] virtual ChunkSummary tally(const std::byte* simulated, const std::byte* gpu,
                                             const std::byte* before, std::size_t count,
                                             SpecialValues& special) const = 0;
    /// As Mark, for special chunks, too.
    virtual void mark(const std::byte* simulated, const std::byte* gpu, std::size_t count,
                      std::uint8_t* marks) const = 0;

    /// Loops that may be used instead of tally() and mark(); null where there are none for this type and
    /// tolerance.
    [[nodiscard]] const ChunkKernels& kernels() const { return kernels_; }
    [[nodiscard]] const Bounds& bounds() const { return bounds_; }
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    [[nodiscard]] bool has_ulp() const { return has_ulp_; }
    [[nodiscard]] bool has_distance() const { return has_distance_; }
    /// The tolerance with defaults filled in.
    [[nodiscard]] const Tolerance& tolerance() const { return tolerance_; }

  protected:
    ChunkKernels kernels_;
    Bounds bounds_;
    std::uint64_t bytes_ = 0;
    bool has_ulp_ = false, has_distance_ = false;
    Tolerance tolerance_;
};

/// @throws std::invalid_argument for tolerances that are negative or not finite
void check(const Tolerance& tolerance);

}  // namespace cudasim::comparison

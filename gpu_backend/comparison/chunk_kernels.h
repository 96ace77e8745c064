// The inner loops of comparisons: a chunk of values, one after another, at a few operations each.
//
// They are compiled for several generations of processors and chosen when the program starts
// (chunk_kernels.cpp). The file is compiled without contraction to fused multiply-adds, so that all of them
// decide alike. Arithmetic is done in the type of the values, in float32 for the 16-bit types, as
// torch.isclose does it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu_backend/comparison/element_type.h"

namespace cudasim::comparison {

/// Values per call at most.
constexpr std::size_t chunk_size = 1024;

/// What is close, in the form that the loops want.
struct Bounds {
    double rtol = 0, atol = -1;  ///< atol below 0: nothing is close by rtol and atol
    std::uint64_t ulp = 0;       ///< values are close that are fewer steps apart
    [[nodiscard]] bool none() const { return atol < 0 && ulp == 0; }
};

struct ChunkSummary {
    std::uint64_t differing = 0, mismatched = 0;
    std::uint64_t unchanged_simulated = 0, unchanged_gpu = 0;  ///< mismatched ones that have the value before
    double greatest_absolute = 0;
    double greatest_relative =
        0;  ///< only where `exceeds_relative`; else not known, and not above the one given
    bool exceeds_relative = false;
    std::uint64_t greatest_ulp = 0;
    bool special =
        false;  ///< has NaNs, infinities or zeros of different sign; nothing else of the summary counts
};

/// @param before may be nullptr
using Summarise = ChunkSummary (*)(const std::byte* simulated, const std::byte* gpu, const std::byte* before,
                                   std::size_t count, const Bounds& bounds, double best_relative);

/// Bits in the marks of elements.
constexpr std::uint8_t differs_mark = 1, mismatched_mark = 2;

/// Sets marks[i] |= marks of value i. Not for special chunks.
using Mark = void (*)(const std::byte* simulated, const std::byte* gpu, std::size_t count,
                      const Bounds& bounds, std::uint8_t* marks);

struct ChunkKernels {
    Summarise summarise = nullptr;
    Mark mark = nullptr;
};

/// The loops for a type on this processor; those of floats, integers, booleans and dates exist. Those of
/// integers compare exactly and ignore the bounds.
[[nodiscard]] ChunkKernels chunk_kernels_of(const ElementType& type);

}  // namespace cudasim::comparison

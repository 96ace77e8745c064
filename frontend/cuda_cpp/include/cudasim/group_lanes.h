// What groups of threads within a warp exchange: shuffles of any trivially copyable type, votes, and the
// places of lanes in masks. Cooperative groups are built on it (cooperative_groups.h).
#ifndef CUDASIM_GROUP_LANES_H
#define CUDASIM_GROUP_LANES_H

#include <new>

#include "../host_defines.h"

#define CUDASIM_GROUP __device__ __forceinline__
#define CUDASIM_GROUP_STATIC static __device__ __forceinline__

namespace cudasim {
namespace groups {

template <typename T>
struct Bare {
    typedef T type;
};
template <typename T>
struct Bare<T&> : Bare<T> {};
template <typename T>
struct Bare<T&&> : Bare<T> {};
template <typename T>
struct Bare<const T> : Bare<T> {};
template <typename T>
struct Bare<volatile T> : Bare<T> {};
template <typename T>
struct Bare<const volatile T> : Bare<T> {};

template <bool condition, typename T = void>
struct When {};
template <typename T>
struct When<true, T> {
    typedef T type;
};

template <bool condition>
struct Truth {
    static constexpr bool value = condition;
};

template <typename T>
T&& some() noexcept;

const unsigned warp_lanes = 32;
const unsigned whole_warp = 0xffffffffu;

CUDASIM_GROUP_STATIC unsigned lane() {
    return static_cast<unsigned>(__nvvm_read_ptx_sreg_laneid());
}
CUDASIM_GROUP_STATIC unsigned lanes_below() {
    return static_cast<unsigned>(__nvvm_read_ptx_sreg_lanemask_lt());
}
CUDASIM_GROUP_STATIC unsigned count(unsigned mask) {
    return static_cast<unsigned>(__builtin_popcount(mask));
}
/// The lane that has this rank among the lanes of the mask.
CUDASIM_GROUP_STATIC unsigned lane_of_rank(unsigned mask, unsigned rank) {
    if (mask == whole_warp) return rank;
    unsigned found = 0;
    for (unsigned width = warp_lanes / 2; width != 0; width /= 2) {
        const unsigned below = count(mask >> found & ((1u << width) - 1));
        if (rank >= below) {
            rank -= below;
            found += width;
        }
    }
    return found;
}
/// The bits of the mask's lanes, side by side in the order of their ranks.
CUDASIM_GROUP_STATIC unsigned by_rank(unsigned bits, unsigned mask) {
    if (mask == whole_warp) return bits;
    unsigned packed = 0;
    for (unsigned place = 1; mask != 0; mask &= mask - 1, place <<= 1)
        if ((bits & mask & -mask) != 0) packed |= place;
    return packed;
}
CUDASIM_GROUP_STATIC unsigned thread_of_block() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}
CUDASIM_GROUP_STATIC unsigned threads_of_block() {
    return blockDim.x * blockDim.y * blockDim.z;
}

// Shuffles. The last operand holds the first lane of a segment, as a mask, and the lane at which it ends (PTX
// ISA, "shfl.sync").

CUDASIM_GROUP_STATIC constexpr int segments(unsigned width) {
    return static_cast<int>((warp_lanes - width) << 8);
}

struct FromLane {
    CUDASIM_GROUP_STATIC int word(unsigned mask, int value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_idx_i32(mask, value, operand, segments(width) | 31);
    }
    CUDASIM_GROUP_STATIC float word(unsigned mask, float value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_idx_f32(mask, value, operand, segments(width) | 31);
    }
};
struct FromBelow {
    CUDASIM_GROUP_STATIC int word(unsigned mask, int value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_up_i32(mask, value, operand, segments(width));
    }
    CUDASIM_GROUP_STATIC float word(unsigned mask, float value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_up_f32(mask, value, operand, segments(width));
    }
};
struct FromAbove {
    CUDASIM_GROUP_STATIC int word(unsigned mask, int value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_down_i32(mask, value, operand, segments(width) | 31);
    }
    CUDASIM_GROUP_STATIC float word(unsigned mask, float value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_down_f32(mask, value, operand, segments(width) | 31);
    }
};
struct FromOther {
    CUDASIM_GROUP_STATIC int word(unsigned mask, int value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_bfly_i32(mask, value, operand, segments(width) | 31);
    }
    CUDASIM_GROUP_STATIC float word(unsigned mask, float value, unsigned operand, unsigned width) {
        return __nvvm_shfl_sync_bfly_f32(mask, value, operand, segments(width) | 31);
    }
};

/// Shuffles a value word by word.
template <typename Direction, typename T>
struct Shuffle {
    static_assert(__is_trivially_copyable(T), "groups exchange values of trivially copyable types only");
    static_assert(sizeof(T) <= 32, "groups exchange values of 32 bytes at most");

    CUDASIM_GROUP_STATIC T of(unsigned mask, T value, unsigned operand, unsigned width) {
        int words[(sizeof(T) + 3) / 4];
        words[(sizeof(T) + 3) / 4 - 1] = 0;  // the value may fill a part of the last word only
        __builtin_memcpy(words, &value, sizeof(T));
#pragma unroll
        for (unsigned i = 0; i < (sizeof(T) + 3) / 4; ++i)
            words[i] = Direction::word(mask, words[i], operand, width);
        T result = value;
        __builtin_memcpy(&result, words, sizeof(T));
        return result;
    }
};
template <typename Direction>
struct Shuffle<Direction, int> {
    CUDASIM_GROUP_STATIC int of(unsigned mask, int value, unsigned operand, unsigned width) {
        return Direction::word(mask, value, operand, width);
    }
};
template <typename Direction>
struct Shuffle<Direction, unsigned> {
    CUDASIM_GROUP_STATIC unsigned of(unsigned mask, unsigned value, unsigned operand, unsigned width) {
        return static_cast<unsigned>(Direction::word(mask, static_cast<int>(value), operand, width));
    }
};
template <typename Direction>
struct Shuffle<Direction, float> {
    CUDASIM_GROUP_STATIC float of(unsigned mask, float value, unsigned operand, unsigned width) {
        return Direction::word(mask, value, operand, width);
    }
};

/// Numbers of 8 bytes.
template <typename Direction, typename T>
struct ShuffleTwoWords {
    CUDASIM_GROUP_STATIC T of(unsigned mask, T value, unsigned operand, unsigned width) {
        const unsigned long long bits = __builtin_bit_cast(unsigned long long, value);
        const int low = Direction::word(mask, static_cast<int>(bits), operand, width);
        const int high = Direction::word(mask, static_cast<int>(bits >> 32), operand, width);
        return __builtin_bit_cast(T, static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                                         static_cast<unsigned>(low));
    }
};
template <typename Direction>
struct Shuffle<Direction, double> : ShuffleTwoWords<Direction, double> {};
template <typename Direction>
struct Shuffle<Direction, long> : ShuffleTwoWords<Direction, long> {};
template <typename Direction>
struct Shuffle<Direction, unsigned long> : ShuffleTwoWords<Direction, unsigned long> {};
template <typename Direction>
struct Shuffle<Direction, long long> : ShuffleTwoWords<Direction, long long> {};
template <typename Direction>
struct Shuffle<Direction, unsigned long long> : ShuffleTwoWords<Direction, unsigned long long> {};

// Values are passed by value here and by all collectives: a variable whose address nobody takes stays in a
// register under all checks.

template <typename Direction, typename T>
CUDASIM_GROUP_STATIC T shuffle(unsigned mask, T value, unsigned operand, unsigned width) {
    return Shuffle<Direction, T>::of(mask, value, operand, width);
}

// Matches, of integers and of anything else of 4 or 8 bytes: bits are compared. Architectures before 7.0 have
// none.

template <typename T, bool wide = (sizeof(T) > 4)>
struct Match {
    CUDASIM_GROUP_STATIC unsigned word(T value) {
        unsigned bits = 0;
        __builtin_memcpy(&bits, &value, sizeof(T));
        return bits;
    }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    CUDASIM_GROUP_STATIC unsigned any(unsigned mask, T value) {
        return __nvvm_match_any_sync_i32(mask, word(value));
    }
    CUDASIM_GROUP_STATIC unsigned all(unsigned mask, T value, int& equal) {
        return __nvvm_match_all_sync_i32p(mask, word(value), &equal);
    }
#endif
};
template <typename T>
struct Match<T, true> {
    static_assert(sizeof(T) == 8, "groups match values of 8 bytes at most");
    CUDASIM_GROUP_STATIC unsigned long long word(T value) {
        unsigned long long bits = 0;
        __builtin_memcpy(&bits, &value, sizeof(T));
        return bits;
    }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
    CUDASIM_GROUP_STATIC unsigned any(unsigned mask, T value) {
        return __nvvm_match_any_sync_i64(mask, word(value));
    }
    CUDASIM_GROUP_STATIC unsigned all(unsigned mask, T value, int& equal) {
        return __nvvm_match_all_sync_i64p(mask, word(value), &equal);
    }
#endif
};

}  // namespace groups
}  // namespace cudasim

#endif

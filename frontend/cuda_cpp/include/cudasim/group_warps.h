// Tiles of several warps: how their threads wait for each other, and where their warps exchange values.
//
// The shared memory of a block has one barrier for each tile that it can have, of any size, and 32 bytes for
// each warp. Tiles of different sizes have different barriers: a thread may wait at the barrier of a tile of
// 64 threads while others have gone on to that of the tile of 128 around it.
#ifndef CUDASIM_GROUP_WARPS_H
#define CUDASIM_GROUP_WARPS_H

#include "group_lanes.h"

namespace cudasim {
namespace groups {

const unsigned largest_block = 1024;
const unsigned tiles_of_warps = largest_block / warp_lanes;  ///< more than 16 + 8 + 4 + 2 + 1
const unsigned exchange_bytes = 32;

struct TileMemory {
    int arrived[tiles_of_warps];     ///< warps that have come to the barrier
    int generation[tiles_of_warps];  ///< how often the barrier has let all of them go on
    __align__(16) unsigned char exchanged[largest_block / warp_lanes][exchange_bytes];
};

CUDASIM_GROUP_STATIC TileMemory* new_tile_memory() {
    __shared__ TileMemory memory;
    return &memory;
}

CUDASIM_GROUP_STATIC void clear_barriers(TileMemory* memory) {
    for (int& each : memory->arrived) each = 0;
    for (int& each : memory->generation) each = 0;
}

/// 16 tiles of 64 threads come first, then 8 of 128, 4 of 256, 2 of 512, 1 of 1024.
CUDASIM_GROUP_STATIC unsigned barrier_of_tile(unsigned tile_threads) {
    return tiles_of_warps - 2 * largest_block / tile_threads + thread_of_block() / tile_threads;
}

/// A warp comes to a barrier as a whole, and its first lane waits for it.
CUDASIM_GROUP_STATIC void wait_for_warps(TileMemory* memory, unsigned tile_threads) {
    __nvvm_bar_warp_sync(whole_warp);
    if (lane() == 0) {
        const unsigned barrier = barrier_of_tile(tile_threads);
        const int warps = static_cast<int>(tile_threads / warp_lanes);
        int* const generation = &memory->generation[barrier];
        __nvvm_membar_cta();
        const int before = __nvvm_atom_add_gen_i(generation, 0);
        if (__nvvm_atom_add_gen_i(&memory->arrived[barrier], 1) == warps - 1) {
            __nvvm_atom_xchg_gen_i(&memory->arrived[barrier], 0);
            __nvvm_membar_cta();
            __nvvm_atom_add_gen_i(generation, 1);
        } else {
            while (__nvvm_atom_add_gen_i(generation, 0) == before) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
                __nvvm_nanosleep(20);
#endif
            }
        }
        __nvvm_membar_cta();
    }
    __nvvm_bar_warp_sync(whole_warp);
}

template <typename T>
CUDASIM_GROUP_STATIC void give(TileMemory* memory, unsigned warp, T value) {
    static_assert(__is_trivially_copyable(T), "groups exchange values of trivially copyable types only");
    static_assert(sizeof(T) <= exchange_bytes, "groups exchange values of 32 bytes at most");
    __builtin_memcpy(memory->exchanged[warp], &value, sizeof(T));
}
template <typename T>
CUDASIM_GROUP_STATIC T taken(TileMemory* memory, unsigned warp, T value) {
    __builtin_memcpy(&value, memory->exchanged[warp], sizeof(T));
    return value;
}

}  // namespace groups
}  // namespace cudasim

#endif

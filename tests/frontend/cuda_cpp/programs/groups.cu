// Every collective of every kind of group within a block, against values that the host computes.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

const int fields = 32;

__host__ __device__ int value_of(int thread) {
    return (thread * 37 + 11) % 101 - 40;
}

struct Longest {
    template <typename T>
    __host__ __device__ T operator()(T a, T b) const {
        return a * a < b * b || (a * a == b * b && a < b) ? b : a;
    }
};

struct Circle {
    __host__ __device__ int operator()(int a, int b) const { return ((a + b) % 59 + 59) % 59; }
};

/// 32 bytes, with padding, and not to be added without its operator.
struct Pair {
    double sum;
    int least;
    float weights[3];
    char tag;
};
struct Merge {
    __host__ __device__ Pair operator()(const Pair& a, const Pair& b) const {
        return {a.sum + b.sum,
                a.least < b.least ? a.least : b.least,
                {a.weights[0] + b.weights[0], a.weights[1] + b.weights[1], a.weights[2] + b.weights[2]},
                a.tag > b.tag ? a.tag : b.tag};
    }
};
static_assert(sizeof(Pair) == 32, "the largest value that groups exchange");

/// Two bytes, as __half has them.
struct Short {
    unsigned short bits;
};
struct AddShort {
    __host__ __device__ Short operator()(Short a, Short b) const {
        return {static_cast<unsigned short>(a.bits + b.bits)};
    }
};

__host__ __device__ Pair pair_of(int value) {
    return {value * 0.5, value, {value * 1.0f, value * 2.0f, 1.0f}, static_cast<char>(value & 63)};
}
__host__ __device__ bool equal(const Pair& a, const Pair& b) {
    return a.sum == b.sum && a.least == b.least && a.weights[0] == b.weights[0] &&
           a.weights[1] == b.weights[1] && a.weights[2] == b.weights[2] && a.tag == b.tag;
}

/// What groups of all kinds have.
template <typename Group>
__device__ void everywhere(const Group& group, int v, int* out) {
    const int rank = group.thread_rank(), size = group.num_threads();
    out[0] = rank;
    out[1] = size;
    out[2] = group.meta_group_rank();
    out[3] = group.meta_group_size();
    out[4] = group.shfl(v, size - 1 - size / 3);
    out[5] = group.any(v == 7);
    out[6] = group.all(v > -35);
    out[7] = cg::reduce(group, v, cg::plus<int>());
    out[8] = cg::reduce(group, v, cg::less<int>());
    out[9] = cg::reduce(group, v, cg::greater<int>());
    out[10] = cg::reduce(group, v, cg::bit_and<int>());
    out[11] = cg::reduce(group, v, cg::bit_or<int>());
    out[12] = cg::reduce(group, v, cg::bit_xor<int>());
    out[13] = cg::reduce(group, v, Circle());
    out[14] = cg::inclusive_scan(group, v);
    out[15] = cg::exclusive_scan(group, v);
    out[16] = cg::inclusive_scan(group, v, Longest());
    out[17] = cg::exclusive_scan(group, v, cg::greater<int>());
    out[18] = static_cast<int>(cg::reduce(group, v * 0.25, cg::plus<double>()) * 4);
    out[19] = static_cast<int>(cg::reduce(group, v * 0.5f, cg::plus<float>()) * 2);
    out[20] = static_cast<int>(cg::reduce(group, v * 5000000000ll, cg::plus<long long>()) / 5000000000ll);
    out[21] = cg::reduce(group, static_cast<signed char>(v / 8), cg::greater<signed char>());
    Pair expected = pair_of(v);
    out[22] = cg::reduce(group, pair_of(v), Merge()).least + group.shfl(expected, 0).tag;
    out[23] = cg::reduce(group, Short{static_cast<unsigned short>(v)}, AddShort()).bits;
    out[24] = cg::inclusive_scan(group, pair_of(v), Merge()).weights[1];
    cg::sync(group);
}
/// What groups within a warp have.
template <typename Group>
__device__ void in_warp(const Group& group, int v, int* out) {
    everywhere(group, v, out);
    out[25] = group.shfl_up(v, 2);
    out[26] = group.shfl_down(v, 3);
    out[27] = group.ballot(v % 3 == 0);
    out[28] = group.match_any(v % 4);
    int equal = 5;
    const unsigned matching = group.match_all(v % 2 == 0 ? 1ll << 40 : 1ll << 40 | (v > 30), equal);
    out[29] = equal;
    out[30] = matching;
    out[31] = cg::invoke_one_broadcast(group, [&] { return v + 1000; });
}

template <unsigned size, bool within_warp>
struct Tile {
    static __device__ void collect(int* out) {
        auto tile = cg::tiled_partition<size>(cg::this_thread_block());
        const cg::thread_block_tile<size> any_tile = tile;
        in_warp(any_tile, value_of(cg::thread_rank(cg::this_thread_block())), out);
    }
};
template <unsigned size>
struct Tile<size, false> {
    static __device__ void collect(int* out) {
        __shared__ cg::block_tile_memory<1024> memory;
        auto block = cg::this_thread_block(memory);
        auto tile = cg::tiled_partition<size>(block);
        everywhere(tile, value_of(block.thread_rank()), out);
        // Parts of the tile, and the tile again.
        auto half = cg::tiled_partition<size / 2>(tile);
        const int sum = cg::reduce(half, 1, cg::plus<int>()) + cg::reduce(tile, 1, cg::plus<int>());
        const cg::thread_group& group = tile;
        group.sync();
        out[25] = sum;
        out[26] = static_cast<int>(group.num_threads() * 10000 + group.thread_rank());
        out[27] = half.meta_group_rank() * 10 + half.meta_group_size();
    }
};

template <unsigned size>
__global__ void tiles(int* out) {
    Tile<size, size <= 32>::collect(out + cg::this_grid().thread_rank() * fields);
}

__global__ void dynamic_tiles(int* out, unsigned size) {
    const cg::thread_group tile = cg::tiled_partition(cg::this_thread_block(), size);
    const cg::thread_group part = cg::tiled_partition(tile, 2);
    out += cg::this_grid().thread_rank() * fields;
    tile.sync();
    out[0] = static_cast<int>(tile.thread_rank());
    out[1] = static_cast<int>(tile.size());
    out[2] = static_cast<int>(part.thread_rank());
    out[3] = static_cast<int>(cg::group_size(part));
}

__host__ __device__ bool takes_part(int thread, int pattern) {
    return pattern == 0 ? thread % 3 == 1 : pattern == 1 ? thread >= 5 : value_of(thread) > 20;
}
__global__ void coalesced(int* out, int pattern) {
    const int thread = threadIdx.x;
    if (takes_part(thread, pattern))
        in_warp(cg::coalesced_threads(), value_of(thread), out + thread * fields);
}
__global__ void labelled(int* out) {
    const int v = value_of(threadIdx.x);
    const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    in_warp(cg::labeled_partition(tile, (v + 100) % 3), v, out + threadIdx.x * fields);
}
__global__ void binary(int* out) {
    const int v = value_of(threadIdx.x);
    if (threadIdx.x % 5 != 0)
        in_warp(cg::binary_partition(cg::coalesced_threads(), v < 0), v, out + threadIdx.x * fields);
}
__global__ void coalesced_tiles(int* out) {
    const int v = value_of(threadIdx.x);
    if (threadIdx.x % 5 != 0)
        in_warp(cg::tiled_partition(cg::coalesced_threads(), 4), v, out + threadIdx.x * fields);
}
__global__ void exchanges(int* out) {
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const int thread = threadIdx.x;
    const Pair other = tile.shfl_xor(pair_of(thread), 3);
    out[thread * 2] = equal(other, pair_of(thread ^ 3));
    out[thread * 2 + 1] = tile.shfl_xor(static_cast<short>(thread - 16), 1);
}

int failures = 0;

void expect(const char* what, int thread, int field, int got, int expected) {
    if (got == expected) return;
    if (++failures < 30) printf("%s, thread %d, field %d: %d, not %d\n", what, thread, field, got, expected);
}

/// @param out     of the block
/// @param threads  of the group, by rank
void check(const char* what, const int* out, const std::vector<int>& threads, int meta_rank, int meta_size,
           bool within_warp) {
    const int size = static_cast<int>(threads.size());
    std::vector<int> v;
    for (int thread : threads) v.push_back(value_of(thread));
    const auto fold = [&](auto operation) {
        return std::accumulate(v.begin() + 1, v.end(), v[0], operation);
    };
    Pair merged = pair_of(v[0]);
    for (int rank = 0; rank < size; ++rank) {
        const int thread = threads[rank];
        const int* got = out + thread * fields;
        const auto field = [&](int number, int expected) {
            expect(what, thread, number, got[number], expected);
        };
        field(0, rank);
        field(1, size);
        field(2, meta_rank);
        field(3, meta_size);
        field(4, v[size - 1 - size / 3]);
        field(5, std::count(v.begin(), v.end(), 7) != 0);
        field(6, *std::min_element(v.begin(), v.end()) > -35);
        field(7, fold(std::plus<int>()));
        field(8, *std::min_element(v.begin(), v.end()));
        field(9, *std::max_element(v.begin(), v.end()));
        field(10, fold(std::bit_and<int>()));
        field(11, fold(std::bit_or<int>()));
        field(12, fold(std::bit_xor<int>()));
        field(13, fold(Circle()));
        int sum = 0, longest = v[0], largest = -1000;
        for (int i = 0; i <= rank; ++i) sum += v[i], longest = Longest()(longest, v[i]);
        for (int i = 0; i < rank; ++i) largest = std::max(largest, v[i]);
        field(14, sum);
        field(15, sum - v[rank]);
        field(16, longest);
        field(17, rank == 0 ? 0 : largest);
        field(18, fold(std::plus<int>()));
        field(19, fold(std::plus<int>()));
        field(20, fold(std::plus<int>()));
        int eighth = -128;
        for (int each : v) eighth = std::max(eighth, each / 8);
        field(21, eighth);
        field(22, *std::min_element(v.begin(), v.end()) + pair_of(v[0]).tag);
        field(23, static_cast<unsigned short>(fold(std::plus<int>())));
        if (rank != 0) merged = Merge()(merged, pair_of(v[rank]));
        field(24, static_cast<int>(merged.weights[1]));
        if (!within_warp) continue;
        field(25, v[rank >= 2 ? rank - 2 : rank]);
        field(26, v[rank + 3 < size ? rank + 3 : rank]);
        unsigned ballot = 0, same = 0, all = size == 32 ? ~0u : (1u << size) - 1;
        bool equal = true;
        const auto word = [](int x) { return x % 2 == 0 ? 1ll << 40 : 1ll << 40 | (x > 30); };
        for (int i = 0; i < size; ++i) {
            if (v[i] % 3 == 0) ballot |= 1u << i;
            if (v[i] % 4 == v[rank] % 4) same |= 1u << i;
            equal = equal && word(v[i]) == word(v[0]);
        }
        field(27, static_cast<int>(ballot));
        field(28, static_cast<int>(same));
        field(29, equal);
        field(30, equal ? static_cast<int>(all) : 0);
        field(31, v[0] + 1000);
    }
}

std::vector<int> fetched(const int* device, size_t count) {
    if (cudaDeviceSynchronize() != cudaSuccess) {
        printf("a kernel failed\n");
        exit(1);
    }
    std::vector<int> result(count);
    cudaMemcpy(result.data(), device, count * sizeof(int), cudaMemcpyDeviceToHost);
    return result;
}

template <unsigned size>
void check_tiles(int* device) {
    const dim3 block = size <= 32 ? dim3(12, 4, 2) : dim3(32, 8, 4);
    const int threads = block.x * block.y * block.z, blocks = 2;
    tiles<size><<<blocks, block>>>(device);
    const std::vector<int> out = fetched(device, static_cast<size_t>(threads) * blocks * fields);
    for (int b = 0; b < blocks; ++b)
        for (int first = 0; first < threads; first += size) {
            std::vector<int> members(size);
            std::iota(members.begin(), members.end(), first);
            const int* of_block = out.data() + static_cast<size_t>(b) * threads * fields;
            const std::string name = "tiles of " + std::to_string(size);
            check(name.c_str(), of_block, members, first / size, threads / size, size <= 32);
            if (size <= 32) continue;
            for (int thread : members) {
                const int* got = of_block + thread * fields;
                const int half = (thread - first) / (size / 2);
                expect(name.c_str(), thread, 25, got[25], size / 2 + size);
                expect(name.c_str(), thread, 26, got[26], size * 10000 + thread - first);
                expect(name.c_str(), thread, 27, got[27], half * 10 + 2);
            }
        }
}

/// Groups within each warp of one block, of the threads for which `label` says the same number, or negative
/// for none. Groups are numbered in the order of their first threads.
void check_groups(const char* what, const std::vector<int>& out, int threads,
                  const std::function<int(int)>& label, bool numbered, bool by_label = false) {
    for (int warp = 0; warp < threads; warp += 32) {
        std::vector<std::pair<int, std::vector<int>>> groups;
        for (int thread = warp; thread < std::min(warp + 32, threads); ++thread) {
            const int its = label(thread);
            if (its < 0) continue;
            auto place =
                std::find_if(groups.begin(), groups.end(), [&](auto& each) { return each.first == its; });
            if (place == groups.end()) place = groups.insert(place, {its, {}});
            place->second.push_back(thread);
        }
        int number = 0;
        for (auto& [its, members] : groups) {
            const int rank = by_label && groups.size() > 1 ? its : number;
            check(what, out.data(), members, numbered ? rank : 0,
                  numbered ? static_cast<int>(groups.size()) : 1, true);
            ++number;
        }
    }
}

int main() {
    int* device;
    cudaMalloc(&device, 2 * 1024 * fields * sizeof(int));
    check_tiles<1>(device);
    check_tiles<2>(device);
    check_tiles<4>(device);
    check_tiles<8>(device);
    check_tiles<16>(device);
    check_tiles<32>(device);
    check_tiles<64>(device);
    check_tiles<128>(device);
    check_tiles<256>(device);
    check_tiles<512>(device);
    check_tiles<1024>(device);

    for (int size = 2; size <= 32; size *= 2) {
        const int threads = 77;  // the last tile has fewer threads
        dynamic_tiles<<<1, threads>>>(device, size);
        const std::vector<int> out = fetched(device, threads * fields);
        for (int thread = 0; thread < threads; ++thread) {
            const int first = thread / size * size, its_size = std::min(size, threads - first);
            expect("run-time tiles", thread, 0, out[thread * fields], thread - first);
            expect("run-time tiles", thread, 1, out[thread * fields + 1], its_size);
            expect("run-time tiles", thread, 2, out[thread * fields + 2], thread % 2);
            expect("run-time tiles", thread, 3, out[thread * fields + 3], thread == threads - 1 ? 1 : 2);
        }
    }

    const int threads = 75;
    const auto run = [&](const char* what, auto launch, const std::function<int(int)>& label, bool numbered,
                         bool by_label = false) {
        launch();
        check_groups(what, fetched(device, threads * fields), threads, label, numbered, by_label);
    };
    for (int pattern = 0; pattern < 3; ++pattern)
        run(
            "coalesced threads", [&] { coalesced<<<1, threads>>>(device, pattern); },
            [&](int thread) { return takes_part(thread, pattern) ? 0 : -1; }, false);
    run(
        "binary partition", [&] { binary<<<1, threads>>>(device); },
        [](int thread) { return thread % 5 == 0 ? -1 : value_of(thread) < 0; }, true, true);
    run(
        "tiles of coalesced threads", [&] { coalesced_tiles<<<1, threads>>>(device); },
        [](int thread) {
            int rank = 0;
            for (int before = thread / 32 * 32; before < thread; ++before) rank += before % 5 != 0;
            return thread % 5 == 0 ? -1 : rank / 4;
        },
        true);
    {
        labelled<<<1, 96>>>(device);
        check_groups(
            "labelled partition", fetched(device, 96 * fields), 96,
            [](int thread) { return (value_of(thread) + 100) % 3; }, true);
    }
    {
        exchanges<<<1, 64>>>(device);
        const std::vector<int> out = fetched(device, 128);
        for (int thread = 0; thread < 64; ++thread) {
            expect("shfl_xor of 32 bytes", thread, 0, out[thread * 2], 1);
            expect("shfl_xor of 2 bytes", thread, 1, out[thread * 2 + 1], (thread ^ 1) - 16);
        }
    }
    if (failures == 0) puts("all right");
    return failures != 0;
}

// Copies to shared memory by single threads and by groups, asynchronous where the architecture has such
// copies, and barriers at which arriving and waiting are two steps.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_awbarrier.h>
#include <cuda_pipeline.h>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace cg = cooperative_groups;
using nvcuda::experimental::awbarrier;
using nvcuda::experimental::pipeline;

int failures = 0;

void expect(const char* what, int place, long long got, long long expected) {
    if (got == expected) return;
    if (++failures < 30) printf("%s, %d: %lld, not %lld\n", what, place, got, expected);
}

/// Copies of 4, 8 and 16 bytes, whole ones and those of whose end `zfill` bytes become zero.
__global__ void primitives(const unsigned char* in, unsigned char* out) {
    __shared__ __align__(16) unsigned char staged[32 * 3][16];
    const int sizes[] = {4, 8, 16};
    for (int i = 0; i < 3; ++i) {
        const int zfill = threadIdx.x % (sizes[i] + 1);
        unsigned char* to = staged[threadIdx.x * 3 + i];
        for (int byte = 0; byte < 16; ++byte) to[byte] = 99;
        __pipeline_memcpy_async(to, in + (threadIdx.x * 3 + i) * 16, sizes[i], zfill);
        __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __pipeline_wait_prior(0);
    for (int i = 0; i < 3; ++i)
        for (int byte = 0; byte < 16; ++byte)
            out[(threadIdx.x * 3 + i) * 16 + byte] = staged[threadIdx.x * 3 + i][byte];
}

/// Each block adds up its part of the input in pieces: one piece is copied while the one before it is added.
template <int stages>
__global__ void staged_sums(const int* in, int* sums, int pieces) {
    __shared__ int staged[stages][64];
    const int* mine = in + blockIdx.x * pieces * 64;
    pipeline pipe;
    for (int piece = 0; piece < stages - 1; ++piece) {
        memcpy_async(staged[piece][threadIdx.x], mine[piece * 64 + threadIdx.x], pipe);
        pipe.commit();
    }
    int sum = 0;
    for (int piece = 0; piece < pieces; ++piece) {
        const int next = piece + stages - 1;
        if (next < pieces)
            memcpy_async(staged[next % stages][threadIdx.x], mine[next * 64 + threadIdx.x], pipe);
        pipe.commit();
        pipe.wait_prior<stages - 1>();
        __syncthreads();
        sum += staged[piece % stages][63 - threadIdx.x] * (piece + 1);
        __syncthreads();
    }
    sums[blockIdx.x * 64 + threadIdx.x] = sum;
}

__global__ void arrays(const int* in, int4* out) {
    __shared__ int staged[32][4];
    pipeline pipe;
    memcpy_async(&staged[threadIdx.x], reinterpret_cast<const int(*)[3]>(in + threadIdx.x * 4), pipe);
    const size_t batch = pipe.commit();
    pipe.wait(batch);
    out[threadIdx.x] = make_int4(staged[threadIdx.x][0], staged[threadIdx.x][1], staged[threadIdx.x][2],
                                 staged[threadIdx.x][3]);
}

struct Element {
    short x, y, z;
};

/// @param shift  elements, so that the source has every alignment
__global__ void group_copies(const Element* in, Element* out, int count, int shift) {
    extern __shared__ __align__(16) unsigned char room[];
    Element* staged = reinterpret_cast<Element*>(room);
    Element* second = staged + 256;
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, staged, in + shift, sizeof(Element) * count);
    cg::memcpy_async(block, second, 256, in, count);
    cg::wait_prior<1>(block);
    for (int i = block.thread_rank(); i < count; i += block.num_threads()) out[i] = staged[count - 1 - i];
    cg::wait(block);
    for (int i = block.thread_rank(); i < count; i += block.num_threads())
        out[count + i] = second[count - 1 - i];
    auto tile = cg::tiled_partition<16>(block);
    cg::wait(block);
    cg::memcpy_async(tile, staged + tile.meta_group_rank() * 8, in + tile.meta_group_rank() * 8 + shift,
                     8 * sizeof(Element));
    cg::wait(tile);
    if (tile.thread_rank() < 8)
        out[2 * count + tile.meta_group_rank() * 8 + tile.thread_rank()] =
            staged[tile.meta_group_rank() * 8 + 7 - tile.thread_rank()];
}

/// Half of the block makes numbers, the other half uses them, a buffer further each time.
__global__ void produced(int* out, int rounds) {
    __shared__ int buffer[2][64];
    __shared__ awbarrier ready[2], filled[2];
    auto block = cg::this_thread_block();
    if (threadIdx.x < 2) {
        init(&ready[threadIdx.x], blockDim.x);
        init(&filled[threadIdx.x], blockDim.x);
    }
    block.sync();
    const int lane = threadIdx.x % 64;
    if (threadIdx.x < 64) {
        for (int i = 0; i < rounds; ++i) {
            ready[i % 2].arrive_and_wait();
            buffer[i % 2][lane] = i * 100 + lane;
            filled[i % 2].arrive();
        }
    } else {
        int sum = 0;
        ready[0].arrive();
        ready[1].arrive();
        for (int i = 0; i < rounds; ++i) {
            filled[i % 2].arrive_and_wait();
            sum += buffer[i % 2][63 - lane];
            ready[i % 2].arrive();
        }
        out[lane] = sum;
    }
}

__global__ void counted(int* out) {
    __shared__ __mbarrier_t barrier;
    if (threadIdx.x == 0) __mbarrier_init(&barrier, blockDim.x);
    __syncthreads();
    // The even threads leave the barrier after its first phase.
    if (threadIdx.x % 2 == 0) {
        __mbarrier_arrive_and_drop(&barrier);
        return;
    }
    __mbarrier_token_t token = __mbarrier_arrive(&barrier);
    while (!__mbarrier_try_wait(&barrier, token, 1000)) {
    }
    const bool first_is_over = __mbarrier_test_wait_parity(&barrier, false);
    const bool second_is_not = !__mbarrier_test_wait_parity(&barrier, true);
    token = __mbarrier_arrive(&barrier);
    const int pending = __mbarrier_token_pending_count(token);
    while (!__mbarrier_test_wait(&barrier, token)) {
    }
    out[threadIdx.x / 2] = first_is_over + 2 * second_is_not + 4 * pending;
}

/// Threads do something else between coming and waiting.
__global__ void split_barrier(int* out) {
    __shared__ int values[64];
    auto block = cg::this_thread_block();
    values[threadIdx.x] = threadIdx.x * 3;
    auto token = block.barrier_arrive();
    const int own = threadIdx.x * threadIdx.x;
    block.barrier_wait(std::move(token));
    out[threadIdx.x] = own + values[63 - threadIdx.x];
}

template <typename T>
struct Memory {
    explicit Memory(size_t size) : count(size) { cudaMalloc(&data, count * sizeof(T)); }
    explicit Memory(const std::vector<T>& values) : Memory(values.size()) {
        cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice);
    }
    ~Memory() { cudaFree(data); }
    std::vector<T> values() const {
        if (cudaDeviceSynchronize() != cudaSuccess) {
            printf("a kernel failed\n");
            exit(1);
        }
        std::vector<T> result(count);
        cudaMemcpy(result.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost);
        return result;
    }
    size_t count;
    T* data = nullptr;
};

template <int stages>
void check_stages(const std::vector<int>& numbers) {
    const int blocks = 3, pieces = 7;
    Memory<int> in(numbers), sums(blocks * 64);
    staged_sums<stages><<<blocks, 64>>>(in.data, sums.data, pieces);
    const std::vector<int> got = sums.values();
    for (int i = 0; i < blocks * 64; ++i) {
        int sum = 0;
        for (int piece = 0; piece < pieces; ++piece)
            sum += numbers[(i / 64 * pieces + piece) * 64 + 63 - i % 64] * (piece + 1);
        expect("sums in stages", i, got[i], sum);
    }
}

int main() {
    {
        std::vector<unsigned char> bytes(32 * 3 * 16);
        for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7 + 1);
        Memory<unsigned char> in(bytes), out(bytes.size());
        primitives<<<1, 32>>>(in.data, out.data);
        const auto got = out.values();
        for (int i = 0; i < static_cast<int>(bytes.size()); ++i) {
            const int size = 4 << i / 16 % 3, zfill = i / 48 % (size + 1), byte = i % 16;
            expect("__pipeline_memcpy_async", i, got[i],
                   byte >= size           ? 99
                   : byte >= size - zfill ? 0
                                          : bytes[i]);
        }
    }
    std::vector<int> numbers(3 * 7 * 64);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * i % 1000);
    check_stages<2>(numbers);
    check_stages<4>(numbers);
    {
        Memory<int> in(numbers);
        Memory<int4> out(32);
        arrays<<<1, 32>>>(in.data, out.data);
        const auto got = out.values();
        for (int i = 0; i < 32; ++i) {
            expect("an array", i, got[i].x, numbers[i * 4]);
            expect("an array", i, got[i].z, numbers[i * 4 + 2]);
            expect("an array, its end", i, got[i].w, 0);
        }
    }
    for (int shift = 0; shift < 9; ++shift) {
        const int count = 203;
        std::vector<Element> elements(300);
        for (int i = 0; i < 300; ++i) elements[i] = {short(i), short(i * 3), short(-i)};
        Memory<Element> in(elements), out(2 * count + 32);
        group_copies<<<1, 64, 512 * sizeof(Element)>>>(in.data, out.data, count, shift);
        const auto got = out.values();
        for (int i = 0; i < count; ++i) {
            expect("bytes by a block", i, got[i].y, elements[count - 1 - i + shift].y);
            expect("elements by a block", i, got[count + i].z, elements[count - 1 - i].z);
        }
        for (int i = 0; i < 32; ++i)
            expect("bytes by tiles", i, got[2 * count + i].x, elements[i / 8 * 8 + 7 - i % 8 + shift].x);
    }
    {
        Memory<int> out(64);
        produced<<<1, 128>>>(out.data, 10);
        auto got = out.values();
        for (int i = 0; i < 64; ++i) expect("awbarrier", i, got[i], 4500 + 10 * (63 - i));
        counted<<<1, 64>>>(out.data);
        got = out.values();
        std::vector<bool> pending(33);
        for (int i = 0; i < 32; ++i) {
            expect("phases of a barrier", i, got[i] % 4, 3);
            pending[got[i] / 4] = true;
        }
        for (int i = 1; i <= 32; ++i) expect("arrivals that a barrier waits for", i, pending[i], true);
        split_barrier<<<1, 64>>>(out.data);
        got = out.values();
        for (int i = 0; i < 64; ++i) expect("a barrier in two steps", i, got[i], i * i + (63 - i) * 3);
    }
    if (failures == 0) puts("all right");
    return failures != 0;
}

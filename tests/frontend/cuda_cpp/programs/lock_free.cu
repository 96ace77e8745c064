// Idioms of lock-free code that are right: no check finds anything in any order of threads.
#include <cstdio>
#include <cstring>
#include <vector>

// Compare-and-swap behind a plain read ------------------------------------------------------------------

__device__ double add(double* address, double value) {
    auto* word = reinterpret_cast<unsigned long long*>(address);
    unsigned long long old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
    } while (assumed != old);
    return __longlong_as_double(old);
}
__device__ float largest(float* address, float value) {
    int *word = reinterpret_cast<int*>(address), old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}
__device__ void largest_if_larger(float* address, float value) {
    int *word = reinterpret_cast<int*>(address), old = *word;
    while (value > __int_as_float(old)) {
        const int seen = atomicCAS(word, old, __float_as_int(value));
        if (seen == old) break;
        old = seen;
    }
}
template <typename T, typename Function>
__device__ T update(T* address, Function function) {
    auto* word = reinterpret_cast<unsigned*>(address);
    unsigned old = *word, assumed;
    do {
        assumed = old;
        T now;
        memcpy(&now, &assumed, sizeof now);
        now = function(now);
        unsigned next;
        memcpy(&next, &now, sizeof now);
        old = atomicCAS(word, assumed, next);
    } while (old != assumed);
    T before;
    memcpy(&before, &old, sizeof before);
    return before;
}
__device__ unsigned add_up_to(unsigned* address, unsigned top) {
    unsigned old = *address, assumed;
    do {
        assumed = old;
        const unsigned next = assumed >= top ? top : assumed + 1;
        old = atomicCAS(address, assumed, next);
    } while (old != assumed);
    return old;
}
struct Totals {
    double sum;
    float top, early, changed;
    unsigned steps;
};
__global__ void swaps(Totals* totals) {
    __shared__ float block_top;
    __shared__ double block_sum;
    const float value = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) block_top = 0, block_sum = 0;
    __syncthreads();
    largest(&block_top, value);
    add(&block_sum, value);
    __syncthreads();
    if (threadIdx.x == 0) {
        add(&totals->sum, block_sum);
        largest(&totals->top, block_top);
    }
    largest_if_larger(&totals->early, value);
    add_up_to(&totals->steps, 50);
    update(&totals->changed, [=](float now) { return now + value; });
}
bool swaps_are_right() {
    Totals *device, host;
    cudaMalloc(&device, sizeof host);
    cudaMemset(device, 0, sizeof host);
    swaps<<<3, 64>>>(device);
    cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(device);
    const float sum = 191 * 192 / 2;
    return host.sum == sum && host.top == 191 && host.early == 191 && host.steps == 50 && host.changed == sum;
}

// A stack, and a place that is looked at before it is claimed -------------------------------------------

struct Node {
    int key;
    Node* next;
};
__device__ Node* head;
__device__ int claimed[16], claims;
__global__ void push(Node* nodes) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node* const node = &nodes[i];
    node->key = i;
    Node *old = head, *assumed;
    do {
        node->next = old;
        __threadfence();
        assumed = old;
        old = reinterpret_cast<Node*>(atomicCAS(reinterpret_cast<unsigned long long*>(&head),
                                                reinterpret_cast<unsigned long long>(assumed),
                                                reinterpret_cast<unsigned long long>(node)));
    } while (old != assumed);
    if (claimed[i % 16] == 0 && atomicCAS(&claimed[i % 16], 0, i + 1) == 0) atomicAdd(&claims, 1);
}
__global__ void count(int* sum) {
    int total = claims;
    for (const Node* node = head; node != nullptr; node = node->next) total += node->key;
    *sum = total;
}
bool stack_is_right() {
    Node* nodes;
    int *sum, host;
    cudaMalloc(&nodes, 64 * sizeof(Node)), cudaMalloc(&sum, sizeof(int));
    push<<<2, 32>>>(nodes);
    count<<<1, 1>>>(sum);
    cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(nodes), cudaFree(sum);
    return host == 63 * 64 / 2 + 16;
}

// Counters that the last block resets -------------------------------------------------------------------

__device__ unsigned count_1, count_2, count_3;
__device__ int partial_1[8], partial_2[8], result_1, result_2, result_3;
__global__ void reset_by_another_thread() {
    __shared__ unsigned rank;
    if (threadIdx.x == 0) {
        partial_1[blockIdx.x] = blockIdx.x;
        __threadfence();
        rank = atomicAdd(&count_1, 1u);
    }
    __syncthreads();
    if (rank == gridDim.x - 1 && threadIdx.x == 33) {
        int sum = 0;
        for (int each : partial_1) sum += each;
        result_1 = sum;
        count_1 = 0;
    }
}
__global__ void reset_by_the_thread() {
    if (threadIdx.x != 0) return;
    partial_2[blockIdx.x] = 2 * blockIdx.x;
    __threadfence();
    if (atomicInc(&count_2, gridDim.x) == gridDim.x - 1) {
        int sum = 0;
        for (int each : partial_2) sum += each;
        result_2 = sum;
        count_2 = 0;
    }
}
__global__ void reset_behind_a_vote() {
    bool last = false;
    if (threadIdx.x == 0) last = atomicAdd(&count_3, 1u) == gridDim.x - 1;
    if (__syncthreads_or(last) && threadIdx.x == 0) {
        result_3 = 1;
        *reinterpret_cast<volatile unsigned*>(&count_3) = 0;
    }
}
bool resets_are_right() {
    for (int i = 0; i < 2; ++i) {
        reset_by_another_thread<<<8, 64>>>();
        reset_by_the_thread<<<8, 32>>>();
        reset_behind_a_vote<<<8, 32>>>();
    }
    int first, second, third;
    cudaMemcpyFromSymbol(&first, result_1, sizeof first);
    cudaMemcpyFromSymbol(&second, result_2, sizeof second);
    cudaMemcpyFromSymbol(&third, result_3, sizeof third);
    return first == 28 && second == 56 && third == 1;
}

// A scan that looks back: each tile says how far it is, and its sum, in one word ------------------------

constexpr unsigned nothing = 0, of_tile = 1, of_all = 2;
__device__ unsigned next_tile;
__global__ void scan(const int* in, int* out, volatile unsigned long long* said, int n) {
    __shared__ int sums[64], before;
    __shared__ unsigned drawn;
    if (threadIdx.x == 0) drawn = atomicAdd(&next_tile, 1u);
    __syncthreads();
    const unsigned tile = drawn, i = tile * 64 + threadIdx.x;
    sums[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned reach = 1; reach < 64; reach *= 2) {
        const int more = threadIdx.x >= reach ? sums[threadIdx.x - reach] : 0;
        __syncthreads();
        sums[threadIdx.x] += more;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        const auto say = [&](unsigned what, unsigned sum) {
            said[tile] = static_cast<unsigned long long>(what) << 32 | sum;
        };
        const unsigned total = sums[63];
        unsigned sum = 0;
        if (tile != 0) say(of_tile, total);
        for (unsigned at = tile; at != 0;) {
            const unsigned long long word = said[at - 1];
            if (word >> 32 == nothing) continue;
            sum += static_cast<unsigned>(word);
            if (word >> 32 == of_all) break;
            --at;
        }
        before = sum;
        say(of_all, sum + total);
    }
    __syncthreads();
    if (i < n) out[i] = sums[threadIdx.x] + before;
}
bool scan_is_right() {
    constexpr int n = 700, tiles = 11;
    std::vector<int> in(n), out(n);
    for (int i = 0; i < n; ++i) in[i] = i % 7;
    int *device_in, *device_out;
    unsigned long long* said;
    cudaMalloc(&device_in, n * 4), cudaMalloc(&device_out, n * 4), cudaMalloc(&said, tiles * 8);
    cudaMemset(said, 0, tiles * 8);
    cudaMemcpy(device_in, in.data(), n * 4, cudaMemcpyHostToDevice);
    scan<<<tiles, 64>>>(device_in, device_out, said, n);
    cudaMemcpy(out.data(), device_out, n * 4, cudaMemcpyDeviceToHost);
    cudaFree(device_in), cudaFree(device_out), cudaFree(said);
    int sum = 0;
    for (int i = 0; i < n; ++i)
        if (out[i] != (sum += in[i])) return false;
    return true;
}

// Reads -------------------------------------------------------------------------------------------------

__global__ void reads(int* x, int* out) {
    int rounds = 0;
    while (__nv_atomic_load_n(x, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 0 && rounds < 3) ++rounds;
    while (*reinterpret_cast<volatile int*>(x) == 0 && rounds < 3) ++rounds;
    out[blockIdx.x * blockDim.x + threadIdx.x] = x[0] + rounds + atomicCAS(x, 7, 8);
}
bool reads_are_right() {
    int *x, *out, host[64];
    cudaMalloc(&x, sizeof(int)), cudaMalloc(&out, sizeof host);
    cudaMemset(x, 1, sizeof(int));
    reads<<<2, 32>>>(x, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(x), cudaFree(out);
    return host[63] == 2 * 0x01010101;
}

// Words with bits that nobody writes --------------------------------------------------------------------

struct Fields {
    unsigned low : 1, next : 4;
};
struct Padded {
    short number;
    bool flag;
    char tag;
    double value;
    bool last;
};
template <typename T>
__device__ T of_lane(T value, int lane) {
    unsigned words[(sizeof(T) + 3) / 4];
    memcpy(words, &value, sizeof value);
    for (unsigned& word : words) word = __shfl_sync(0xffffffffu, word, lane);
    memcpy(&value, words, sizeof value);
    return value;
}
__global__ void shuffle(int* out) {
    const int lane = threadIdx.x;
    Fields low, next;
    low.low = 1;
    next.next = lane;
    low = of_lane(low, 3);
    next = of_lane(next, 5);
    Padded padded;
    padded.number = lane;
    padded.flag = lane == 7;
    padded.value = lane;
    padded.last = true;
    padded = of_lane(padded, 7);
    if (low.low == 1 && next.next == 5 && padded.flag && padded.last && padded.value == 7)
        out[lane] = padded.number;
}
bool shuffles_are_right() {
    int *out, host[32];
    cudaMalloc(&out, sizeof host);
    cudaMemset(out, 0, sizeof host);
    shuffle<<<1, 32>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(out);
    return host[0] == 7 && host[31] == 7;
}

int main() {
    std::printf("%d%d%d%d%d%d\n", swaps_are_right(), stack_is_right(), resets_are_right(), scan_is_right(),
                reads_are_right(), shuffles_are_right());
}

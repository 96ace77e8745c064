// Kernels that wait for what the host, another stream or another host thread does. The first argument names
// the case; each prints what it sees.
#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#define CHECK(call)                                              \
    do {                                                         \
        const cudaError_t result = (call);                       \
        if (result != cudaSuccess) {                             \
            printf("%s: %s\n", #call, cudaGetErrorName(result)); \
            exit(3);                                             \
        }                                                        \
    } while (false)

__managed__ int managed_flag;

__global__ void wait_volatile(int* flag, int* answer) {
    while (*(volatile int*)flag == 0);
    *answer = *(volatile int*)flag + 1;
}

__global__ void wait_atomic(int* flag, int* answer) {
    while (atomicAdd_system(flag, 0) == 0);
    *answer = 8;
}

__global__ void wait_asleep(int* flag, int* answer) {
    unsigned nanoseconds = 8;
    while (*(volatile int*)flag == 0) {
        __nanosleep(nanoseconds);
        if (nanoseconds < 256) nanoseconds *= 2;
    }
    *answer = 8;
}

__global__ void wait_counting(int* flag, int* answer) {
    int rounds = 0;
    while (*(volatile int*)flag == 0) ++rounds;
    *answer = rounds > 0 ? 8 : -1;
}

/// Blocks that wait at a barrier for the thread that looks.
__global__ void wait_in_blocks(int* flag, int* answer) {
    __shared__ int seen;
    do {
        if (threadIdx.x == 0) seen = *(volatile int*)flag;
        __syncthreads();
        const int now = seen;
        __syncthreads();
        if (now != 0) break;
    } while (true);
    atomicAdd(answer, 1);
}

__global__ void set_flag(int* flag, int value) {
    *flag = value;
}

__global__ void add(int* sum, int value) {
    atomicAdd(sum, value);
}

struct Mailbox {
    volatile int request, reply, value, quit;
};

/// Lives until it is told to quit: squares what comes.
__global__ void serve(Mailbox* box) {
    int last = 0;
    while (box->quit == 0) {
        const int request = box->request;
        if (request == last) continue;
        box->value = box->value * box->value;
        __threadfence_system();
        box->reply = last = request;
    }
}

__global__ void wait_then_fault(int* flag, int* data) {
    while (*(volatile int*)flag == 0);
    data[1 << 20] = 1;
}

const char* name_of(cudaError_t result) {
    return cudaGetErrorName(result);
}

int* mapped(int value = 0) {
    int* flag = nullptr;
    CHECK(cudaHostAlloc((void**)&flag, sizeof(int), cudaHostAllocMapped));
    *flag = value;
    return flag;
}

int* on_device(int value = 0) {
    int* memory = nullptr;
    CHECK(cudaMalloc(&memory, sizeof(int)));
    CHECK(cudaMemcpy(memory, &value, sizeof(int), cudaMemcpyHostToDevice));
    return memory;
}

cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t made = nullptr;
    CHECK(cudaStreamCreateWithFlags(&made, flags));
    return made;
}

int read(const int* memory) {
    int value = -1;
    CHECK(cudaMemcpy(&value, memory, sizeof(int), cudaMemcpyDeviceToHost));
    return value;
}

void set(int* flag, int value) {
    std::atomic_ref<int>(*flag).store(value);
}

/// The host's own loop.
void wait_for(const volatile int* memory, int value) {
    while (*memory != value) std::this_thread::yield();
}

using Kernel = void (*)(int*, int*);

void flag(Kernel kernel, int* flag, unsigned blocks = 1, unsigned threads = 1) {
    int* answer = mapped(0);
    kernel<<<blocks, threads>>>(flag, answer);
    printf("launch %s query %s answer %d\n", name_of(cudaGetLastError()), name_of(cudaStreamQuery(0)),
           *answer);
    set(flag, 7);
    printf("synchronize %s", name_of(cudaDeviceSynchronize()));
    printf(" query %s answer %d\n", name_of(cudaStreamQuery(0)), *answer);
}

void mailbox() {
    Mailbox* box = nullptr;
    CHECK(cudaMallocHost((void**)&box, sizeof(Mailbox)));
    memset(box, 0, sizeof *box);
    cudaStream_t own = stream();
    serve<<<1, 1, 0, own>>>(box);
    for (int request = 1; request <= 5; ++request) {
        box->value = request;
        std::atomic_thread_fence(std::memory_order_seq_cst);
        box->request = request;
        wait_for(&box->reply, request);
        printf("%d ", box->value);
    }
    printf("%s ", name_of(cudaStreamQuery(own)));
    box->quit = 1;
    printf("%s\n", name_of(cudaStreamSynchronize(own)));
}

void other_thread() {
    int *flag = mapped(), *answer = mapped();
    std::thread setter([flag] {
        usleep(300'000);
        set(flag, 3);
    });
    wait_volatile<<<1, 1>>>(flag, answer);
    printf("%s %d\n", name_of(cudaDeviceSynchronize()), *answer);
    setter.join();
}

void two_streams() {
    int *flag = on_device(), *answer = on_device();
    cudaStream_t one = stream(), other = stream();
    wait_volatile<<<1, 1, 0, one>>>(flag, answer);
    set_flag<<<1, 1, 0, other>>>(flag, 41);
    printf("%s %s ", name_of(cudaStreamSynchronize(one)), name_of(cudaStreamSynchronize(other)));
    printf("%d\n", read(answer));
}

void copy_in_other_stream() {
    int *flag = on_device(), *answer = on_device();
    int* source = mapped(5);
    cudaStream_t one = stream(), other = stream();
    wait_volatile<<<1, 1, 0, one>>>(flag, answer);
    CHECK(cudaMemcpyAsync(flag, source, sizeof(int), cudaMemcpyHostToDevice, other));
    printf("%s %d\n", name_of(cudaStreamSynchronize(one)), read(answer));
}

void fill_in_other_stream() {
    int *flag = on_device(), *answer = on_device();
    cudaStream_t one = stream(), other = stream();
    wait_volatile<<<1, 1, 0, one>>>(flag, answer);
    CHECK(cudaMemsetAsync(flag, 1, sizeof(int), other));
    printf("%s %d\n", name_of(cudaStreamSynchronize(one)), read(answer));
}

/// A copy that waits for the default stream, which a stream of its own kind does not hold up.
void plain_copy() {
    int *flag = on_device(), *answer = on_device();
    cudaStream_t one = stream();
    wait_volatile<<<1, 1, 0, one>>>(flag, answer);
    const int seven = 7;
    CHECK(cudaMemcpy(flag, &seven, sizeof(int), cudaMemcpyHostToDevice));
    printf("%s %d\n", name_of(cudaStreamSynchronize(one)), read(answer));
}

void in_order() {
    int *flag = mapped(), *answer = mapped(), *sum = mapped();
    cudaStream_t one = stream(cudaStreamDefault), other = stream(cudaStreamDefault);
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    CHECK(cudaEventRecord(before, one));
    wait_volatile<<<1, 1, 0, one>>>(flag, answer);
    CHECK(cudaEventRecord(after, one));
    add<<<1, 1, 0, one>>>(sum, 1);
    CHECK(cudaStreamWaitEvent(other, after, 0));
    add<<<1, 1, 0, other>>>(sum, 10);
    add<<<1, 1>>>(sum, 100);  // in the legacy default stream, which waits for both
    printf("%s %s %s %d\n", name_of(cudaEventQuery(before)), name_of(cudaEventQuery(after)),
           name_of(cudaStreamQuery(other)), *sum);
    set(flag, 1);
    // Nobody synchronises: what waited runs when the kernel is over.
    wait_for(sum, 111);
    printf("%s %s\n", name_of(cudaDeviceSynchronize()), name_of(cudaEventQuery(after)));
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, before, after));
    printf("%s\n", milliseconds > 50 ? "took its time" : "took no time");
}

void callback() {
    int *flag = mapped(), *answer = mapped();
    static std::atomic<int> called;
    cudaStream_t one = stream(), other = stream();
    wait_volatile<<<1, 1, 0, one>>>(flag, answer);
    CHECK(cudaLaunchHostFunc(one, [](void*) { called += 1; }, nullptr));
    CHECK(cudaLaunchHostFunc(other, [](void* at) { set(static_cast<int*>(at), 2); }, flag));
    while (called == 0) std::this_thread::yield();
    printf("%d %s\n", *answer, name_of(cudaDeviceSynchronize()));
}

void fault() {
    int *flag = mapped(), *data = on_device();
    wait_then_fault<<<1, 1>>>(flag, data);
    printf("launch %s\n", name_of(cudaGetLastError()));
    set(flag, 1);
    printf("synchronize %s\n", name_of(cudaDeviceSynchronize()));
    printf("again %s\n", name_of(cudaDeviceSynchronize()));
    printf("malloc %s\n", name_of(cudaMalloc(&data, 4)));
}

void registered() {
    static int memory[1024];
    CHECK(cudaHostRegister(memory, sizeof memory, cudaHostRegisterMapped));
    flag(wait_volatile, &memory[7]);
}

void never(bool waits) {
    int *flag = mapped(), *answer = mapped();
    wait_volatile<<<1, 1>>>(flag, answer);
    printf("launched\n");
    fflush(stdout);
    if (waits) printf("synchronize %s\n", name_of(cudaDeviceSynchronize()));
}

void limited() {
    wait_counting<<<1, 1>>>(mapped(), mapped());
    printf("query %s\n", name_of(cudaStreamQuery(0)));
    printf("synchronize %s\n", name_of(cudaDeviceSynchronize()));
}

void at_barriers() {
    wait_in_blocks<<<1, 64>>>(on_device(), on_device());
    printf("synchronize %s\n", name_of(cudaDeviceSynchronize()));
}

void reset() {
    int *flag = mapped(), *answer = mapped();
    wait_counting<<<1, 1>>>(flag, answer);
    printf("reset %s\n", name_of(cudaDeviceReset()));
    fflush(stdout);
    int* sum = on_device();
    add<<<1, 1>>>(sum, 4);
    printf("%d\n", read(sum));
}

/// Freed while a kernel runs that still uses it.
void freed() {
    int *flag = mapped(), *answer = mapped(), *data = on_device(9);
    wait_volatile<<<1, 1>>>(flag, answer);
    CHECK(cudaFree(data));
    int* more = nullptr;
    CHECK(cudaMalloc(&more, 1 << 20));
    set(flag, 1);
    printf("%s\n", name_of(cudaDeviceSynchronize()));
    CHECK(cudaFree(more));
}

void many() {
    constexpr int count = 4;
    int *flags[count], *answers[count];
    cudaStream_t streams[count];
    for (int i = 0; i < count; ++i) {
        flags[i] = mapped(), answers[i] = mapped();
        streams[i] = stream();
        wait_in_blocks<<<3, 64, 0, streams[i]>>>(flags[i], answers[i]);
    }
    for (int i = count; i-- > 0;) {
        set(flags[i], 1);
        CHECK(cudaStreamSynchronize(streams[i]));
        printf("%d ", *answers[i]);
    }
    printf("%s\n", name_of(cudaDeviceSynchronize()));
}

int main(int, char** arguments) {
    const std::string which = arguments[1];
    int* managed = nullptr;
    if (which == "volatile") flag(wait_volatile, mapped());
    if (which == "atomic") flag(wait_atomic, mapped());
    if (which == "asleep") flag(wait_asleep, mapped());
    if (which == "counting") flag(wait_counting, mapped());
    if (which == "blocks") flag(wait_in_blocks, mapped(), 5, 96);
    if (which == "managed") {
        CHECK(cudaMallocManaged(&managed, sizeof(int)));
        *managed = 0;
        flag(wait_volatile, managed);
    }
    if (which == "variable") flag(wait_volatile, &managed_flag);
    if (which == "registered") registered();
    if (which == "mailbox") mailbox();
    if (which == "thread") other_thread();
    if (which == "streams") two_streams();
    if (which == "copy") copy_in_other_stream();
    if (which == "fill") fill_in_other_stream();
    if (which == "plain copy") plain_copy();
    if (which == "order") in_order();
    if (which == "callback") callback();
    if (which == "fault") fault();
    if (which == "exit") never(false);
    if (which == "livelock") never(true);
    if (which == "limited") limited();
    if (which == "barriers") at_barriers();
    if (which == "reset") reset();
    if (which == "freed") freed();
    if (which == "many") many();
}

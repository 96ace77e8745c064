// What an NVIDIA H200 with CUDA 13.0 answered (docs/gpu_results.md, "The runtime API"), where the documents
// leave it open: prints what is not so, then "done".
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#define EXPECT(condition)                                                     \
    do {                                                                      \
        if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition); \
    } while (0)
#define RESULT(call, expected)                                                                        \
    do {                                                                                              \
        const cudaError_t result_ = (call);                                                           \
        if (result_ != (expected))                                                                    \
            std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(result_));             \
        (void)cudaGetLastError();                                                                     \
    } while (0)
#define OK(call) RESULT(call, cudaSuccess)
#define INVALID(call) RESULT(call, cudaErrorInvalidValue)

__global__ void nothing() {}
__global__ void __launch_bounds__(128) bounded() {}
extern __shared__ int dynamic[];
__global__ void dynamically(int* p) { p[0] = dynamic[threadIdx.x]; }
__global__ void spin(volatile int* flag) {
    while (*flag == 0) {}
}
__device__ int cell = 5;
__global__ void set_cell(int value) { cell = value; }
__global__ void get_cell(int* p) { *p = cell; }
__device__ char bytes[8];
__global__ void misaligned() { *reinterpret_cast<volatile int*>(bytes + 1) = 1; }
__managed__ int variable[4];
static void no_kernel() {}
static char host[1 << 16];

void pools_first() {  // before anything else has made the devices
    cudaMemPool_t pool = nullptr;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool, &properties));
    OK(cudaMemPoolDestroy(pool));
    INVALID(cudaDeviceSetMemPool(0, nullptr));
}

void managed() {
    cudaMemLocation device = {};
    device.type = cudaMemLocationTypeDevice;
    OK(cudaMemPrefetchAsync(variable, sizeof variable, device, 0));  // no kernel has used it yet
    OK(cudaMemAdvise(variable, sizeof variable, cudaMemAdviseSetReadMostly, device));
    void* p = host;
    OK(cudaMallocManaged(&p, 0));
    EXPECT(p == nullptr);
    OK(cudaMallocManaged(&p, 10000));
    cudaMemLocation missing = device, cpu = {}, numa = {};
    missing.id = 99, cpu.type = cudaMemLocationTypeHost, numa.type = cudaMemLocationTypeHostNuma;
    INVALID(cudaMemAdvise(p, 10000, cudaMemAdviseSetReadMostly, cudaMemLocation{}));
    INVALID(cudaMemAdvise(p, 10000, cudaMemAdviseSetPreferredLocation, missing));
    INVALID(cudaMemAdvise(p, 10000, cudaMemAdviseSetAccessedBy, missing));
    INVALID(cudaMemAdvise(p, 10000, cudaMemAdviseSetAccessedBy, numa));
    INVALID(cudaMemAdvise(p, 10000, static_cast<cudaMemoryAdvise>(99), device));
    RESULT(cudaMemPrefetchAsync(p, 10000, missing, 0), cudaErrorInvalidDevice);
    OK(cudaMemAdvise(p, 10000, cudaMemAdviseSetAccessedBy, cpu));
    OK(cudaMemAdvise(p, 10000, cudaMemAdviseSetAccessedBy, device));
    int users[3];
    OK(cudaMemRangeGetAttribute(users, sizeof users, cudaMemRangeAttributeAccessedBy, p, 10000));
    EXPECT(users[0] == 0 && users[1] == cudaCpuDeviceId && users[2] == cudaInvalidDeviceId);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamAttachMemAsync(stream, p, 0, cudaMemAttachHost));
    INVALID(cudaStreamAttachMemAsync(stream, p, 10, cudaMemAttachHost));
    INVALID(cudaStreamAttachMemAsync(stream, static_cast<char*>(p) + 4, 0, cudaMemAttachHost));
    INVALID(cudaStreamAttachMemAsync(0, p, 0, cudaMemAttachSingle));
    void* same;
    INVALID(cudaHostGetDevicePointer(&same, p, 0));
    INVALID(cudaHostRegister(p, 64, 0));
    OK(cudaFree(p));
}

void memory_of_the_host() {
    void *p, *q = host, *d;
    OK(cudaMallocHost(&p, 64));
    OK(cudaMalloc(&d, 64));
    INVALID(cudaHostRegister(p, 64, 0));
    INVALID(cudaHostUnregister(p));
    INVALID(cudaHostRegister(d, 64, 0));
    OK(cudaFreeHost(p));
    INVALID(cudaHostGetDevicePointer(&q, host, 0));
    EXPECT(q == nullptr);
    OK(cudaHostRegister(host, 4096, 0));
    INVALID(cudaHostUnregister(host + 64));
    RESULT(cudaHostRegister(host + 64, 64, 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostUnregister(host));
    RESULT(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
    size_t free_bytes = 0, total = 0;
    OK(cudaMemGetInfo(&free_bytes, nullptr));
    OK(cudaMemGetInfo(nullptr, &total));
    cudaDeviceProp properties;
    OK(cudaGetDeviceProperties(&properties, 0));
    EXPECT(free_bytes > 0 && total == properties.totalGlobalMem);
    OK(cudaFree(d));
}

void boxes() {
    void* p = host;
    size_t pitch = 7;
    OK(cudaMallocPitch(&p, &pitch, 4, 0));
    EXPECT(pitch == 0 && p == nullptr);
    INVALID(cudaMallocPitch(&p, &pitch, SIZE_MAX, 1));
    INVALID(cudaMallocPitch(&p, &pitch, size_t{1} << 40, size_t{1} << 40));
    RESULT(cudaMallocPitch(&p, &pitch, size_t{1} << 45, 4), cudaErrorMemoryAllocation);
    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, make_cudaExtent(100, 3, 0)));
    EXPECT(box.ptr == nullptr && box.pitch == 0 && box.ysize == 3);
    char* d;
    OK(cudaMalloc(&d, 1024));
    INVALID(cudaMemcpy2D(d, 16, host, 16, 32, 1, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(d, 0, host, 0, 32, 1, cudaMemcpyHostToDevice));
    RESULT(cudaMemcpy2D(d, 16, host, 32, 32, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    INVALID(cudaMemset2D(d, 31, 1, 32, 32));
    OK(cudaMemset2D(d, 31, 1, 32, 1));
    cudaMemcpy3DParms copy = {};
    OK(cudaMemcpy3D(&copy));
    copy.kind = cudaMemcpyHostToDevice;
    copy.dstPtr = make_cudaPitchedPtr(d, 32, 32, 8), copy.srcPtr = make_cudaPitchedPtr(host, 32, 32, 8);
    copy.extent = make_cudaExtent(32, 8, 4);
    OK(cudaMemcpy3D(&copy));
    copy.srcPtr.ysize = 7;
    RESULT(cudaMemcpy3D(&copy), cudaErrorInvalidPitchValue);
    copy.extent = make_cudaExtent(32, 1, 1), copy.dstPos.x = 1;
    INVALID(cudaMemcpy3D(&copy));
    copy.dstPos.x = 33, copy.extent.width = 1;
    INVALID(cudaMemcpy3D(&copy));
    const cudaPitchedPtr filled = make_cudaPitchedPtr(d, 32, 32, 8);
    OK(cudaMemset3D(filled, 1, make_cudaExtent(32, 8, 4)));
    INVALID(cudaMemset3D(filled, 1, make_cudaExtent(32, 9, 1)));
    INVALID(cudaMemset3D(filled, 1, make_cudaExtent(33, 8, 4)));
    OK(cudaFree(d));
}

void arrays() {
    cudaArray_t array;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    const cudaChannelFormatDesc odd = {7, 0, 0, 0, cudaChannelFormatKindUnsigned};
    RESULT(cudaMallocArray(&array, &odd, 16, 8), cudaErrorInvalidChannelDescriptor);
    INVALID(cudaMallocArray(&array, &format, 1 << 20, 8));
    INVALID(cudaMalloc3DArray(&array, &format, make_cudaExtent(4, 4, 5), cudaArrayCubemap));
    OK(cudaMallocArray(&array, &format, 16, 8));
    RESULT(cudaMemcpy2DToArray(array, 0, 0, host, 64, 65, 8, cudaMemcpyHostToDevice),
           cudaErrorInvalidPitchValue);
    RESULT(cudaMemcpy2DToArray(array, 0, 0, host, 64, 64, 8, cudaMemcpyDeviceToHost),
           cudaErrorInvalidMemcpyDirection);
    RESULT(cudaMemcpy2DFromArray(host, 64, array, 0, 0, 64, 8, cudaMemcpyHostToDevice),
           cudaErrorInvalidMemcpyDirection);
    RESULT(cudaMemcpy2DToArray(nullptr, 0, 0, host, 64, 64, 8, cudaMemcpyHostToDevice),
           cudaErrorInvalidResourceHandle);
    OK(cudaFreeArray(array));
}

void functions() {
    int blocks = 77;
    INVALID(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 0, 0));
    EXPECT(blocks == 77);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 129, 0));
    EXPECT(blocks == 12);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamically, 128, 10000));
    EXPECT(blocks == 16);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamically, 32, 10000));
    EXPECT(blocks == 20);  // 233472 / 11136: in units of 128 bytes
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamically, 128, 100000));
    EXPECT(blocks == 0);  // it may not have so much yet
    OK(cudaFuncSetAttribute(dynamically, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, dynamically, 128, 100000));
    EXPECT(blocks == 2);
    size_t bytes = 77;
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 2, 64));
    EXPECT(bytes == 49152);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 8, 64));
    EXPECT(bytes == 29184);
    INVALID(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 3, 1024));
    EXPECT(bytes == 29184);
    cudaFuncAttributes attributes;
    RESULT(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&no_kernel)),
           cudaErrorInvalidResourceHandle);
    RESULT(cudaFuncGetAttributes(&attributes, static_cast<const void*>(nullptr)),
           cudaErrorInvalidDeviceFunction);
}

void errors() {
    INVALID((nothing<<<1, 1025>>>(), cudaPeekAtLastError()));
    INVALID((nothing<<<0, 1>>>(), cudaPeekAtLastError()));
    INVALID((bounded<<<1, 129>>>(), cudaPeekAtLastError()));
    cudaEvent_t event;
    OK(cudaEventCreate(&event));
    RESULT(cudaEventRecordWithFlags(event, 0, cudaEventRecordExternal), cudaErrorIllegalState);
    RESULT(cudaStreamWaitEvent(0, event, cudaEventWaitExternal), cudaErrorIllegalState);

    volatile int* flag;
    OK(cudaMallocHost((void**)&flag, sizeof *flag));
    *flag = 0;
    cudaStream_t stream, apart;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking));
    spin<<<1, 1, 0, apart>>>(flag);
    OK(cudaStreamQuery(0));
    EXPECT(cudaStreamQuery(apart) == cudaErrorNotReady && cudaPeekAtLastError() == cudaSuccess);
    OK(cudaEventRecord(event, apart));
    EXPECT(cudaEventQuery(event) == cudaErrorNotReady && cudaPeekAtLastError() == cudaSuccess);
    *flag = 1;
    OK(cudaStreamSynchronize(apart));
    *flag = 0;
    spin<<<1, 1, 0, stream>>>(flag);
    RESULT(cudaStreamQuery(0), cudaErrorNotReady);  // the default stream would wait for it
    OK(cudaStreamQuery(cudaStreamPerThread));
    *flag = 1;
    OK(cudaDeviceSynchronize());
    OK(cudaStreamQuery(0));

    INVALID(cudaDeviceSetLimit(cudaLimitStackSize, 512 << 10));
    INVALID(cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 1000));
    const struct {
        cudaLimit limit;
        size_t asked, set;
    } limits[] = {{cudaLimitStackSize, 1, 16},
                  {cudaLimitPrintfFifoSize, 100, 524288},
                  {cudaLimitPrintfFifoSize, 5000000, 5000192},
                  {cudaLimitMallocHeapSize, 100, 4194304},
                  {cudaLimitMallocHeapSize, 5000000, 5046272},
                  {cudaLimitMallocHeapSize, 100000000, 100007936}};
    for (const auto& each : limits) {
        size_t set = 0;
        OK(cudaDeviceSetLimit(each.limit, each.asked));
        OK(cudaDeviceGetLimit(&set, each.limit));
        EXPECT(set == each.set);
    }
    char identifier[32];
    INVALID(cudaDeviceGetPCIBusId(identifier, 12, 0));
    OK(cudaDeviceGetPCIBusId(identifier, 13, 0));
    RESULT(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);

    int *p, value = 0;
    set_cell<<<1, 1>>>(9);
    (void)cudaMalloc((void**)nullptr, 16);
    EXPECT(cudaDeviceReset() == cudaSuccess && cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaMalloc(&p, sizeof *p));
    get_cell<<<1, 1>>>(p);  // the variable has its initial value again
    OK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 5);
}

void after_a_fault() {
    cudaStream_t stream;
    cudaEvent_t event;
    void *p, *pinned;
    size_t free_bytes, total;
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&event));
    OK(cudaMallocHost(&pinned, 16));
    misaligned<<<1, 1>>>();
    constexpr auto lasts = cudaErrorMisalignedAddress;
    EXPECT(cudaDeviceSynchronize() == lasts);
    EXPECT(cudaGetLastError() == lasts && cudaGetLastError() == cudaSuccess);
    RESULT(cudaMalloc(&p, 16), lasts);
    OK(cudaMalloc(&p, 0));
    OK(cudaMemset(nullptr, 0, 0));
    RESULT(cudaMemset(reinterpret_cast<void*>(16), 0, 16), lasts);
    RESULT(cudaMemGetInfo(&free_bytes, &total), lasts);
    RESULT(cudaMallocHost(&p, 16), lasts);
    RESULT(cudaMallocAsync(&p, 16, 0), lasts);
    RESULT(cudaFreeHost(nullptr), lasts);
    RESULT(cudaMemcpy(host, host + 64, 4, cudaMemcpyHostToHost), lasts);
    RESULT(cudaStreamAddCallback(stream, [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0), lasts);
    RESULT(cudaEventDestroy(event), lasts);
    RESULT(cudaStreamDestroy(stream), lasts);
    RESULT(cudaFreeHost(pinned), lasts);
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
}

int main() {
    pools_first();
    managed();
    memory_of_the_host();
    boxes();
    arrays();
    functions();
    errors();
    after_a_fault();
    std::printf("done\n");
}

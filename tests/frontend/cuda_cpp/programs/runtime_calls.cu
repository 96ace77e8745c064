// Calls of the runtime API that concern no memory: what they return and write. The first argument names the part;
// what is not as expected is printed with its line.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

static int failures = 0;
#define EXPECT(condition)                                               \
    do {                                                                \
        if (!(condition)) {                                             \
            ++failures;                                                 \
            std::printf("line %d: not so: %s\n", __LINE__, #condition); \
        }                                                               \
    } while (0)
#define RETURNS(expected, call)                                                               \
    do {                                                                                      \
        const cudaError_t got = (call);                                                       \
        if (got != (expected)) {                                                              \
            ++failures;                                                                       \
            std::printf("line %d: %s returned %s\n", __LINE__, #call, cudaGetErrorName(got)); \
        }                                                                                     \
    } while (0)
#define WORKS(call) RETURNS(cudaSuccess, call)
/// A call that fails is also the thread's last error, once.
#define FAILS(expected, call)                        \
    do {                                             \
        (void)cudaGetLastError();                    \
        RETURNS(expected, call);                     \
        EXPECT(cudaPeekAtLastError() == (expected)); \
        EXPECT(cudaGetLastError() == (expected));    \
        EXPECT(cudaGetLastError() == cudaSuccess);   \
    } while (0)
#define LAUNCH_FAILS(expected, ...)                    \
    do {                                               \
        __VA_ARGS__;                                   \
        EXPECT(cudaGetLastError() == (expected));      \
        RETURNS(cudaSuccess, cudaDeviceSynchronize()); \
    } while (0)

__global__ void empty() {}
__global__ void sum(int* result, char a, double b, short c) {
    *result += a + static_cast<int>(b) + c;
}
__global__ void __launch_bounds__(128) bounded() {}
__global__ void with_static(int* data) {
    __shared__ int shared[1024];
    shared[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = shared[threadIdx.x ^ 1];
}
__global__ void with_dynamic(int* data) {
    extern __shared__ int dynamic[];
    dynamic[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = dynamic[threadIdx.x ^ 1];
}
template <typename T>
__global__ void templated(T* data, T value) {
    data[threadIdx.x] = value;
}

static void errors() {
    EXPECT(std::string(cudaGetErrorName(cudaSuccess)) == "cudaSuccess");
    EXPECT(std::string(cudaGetErrorString(cudaSuccess)) == "no error");
    EXPECT(std::string(cudaGetErrorName(cudaErrorIllegalAddress)) == "cudaErrorIllegalAddress");
    EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
    EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidConfiguration)) ==
           "invalid configuration argument");
    EXPECT(std::string(cudaGetErrorString(cudaErrorMemoryAllocation)) == "out of memory");
    EXPECT(std::string(cudaGetErrorString(cudaErrorIllegalAddress)) ==
           "an illegal memory access was encountered");
    EXPECT(std::string(cudaGetErrorName(static_cast<cudaError_t>(12345))) == "unrecognized error code");
    EXPECT(std::string(cudaGetErrorString(static_cast<cudaError_t>(-1))) == "unrecognized error code");
    for (int code = 0; code < 1000; ++code) {
        const std::string name = cudaGetErrorName(static_cast<cudaError_t>(code));
        const std::string text = cudaGetErrorString(static_cast<cudaError_t>(code));
        EXPECT(!text.empty());
        EXPECT((name == "unrecognized error code") == (text == "unrecognized error code"));
    }
    // Each thread has a last error of its own.
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(99));
    RETURNS(cudaErrorInvalidDevice, cudaSetDevice(99));
    std::thread([] { EXPECT(cudaPeekAtLastError() == cudaSuccess); }).join();
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice);
    // A call that succeeds leaves it.
    WORKS(cudaDeviceSynchronize());
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
    cudaGraph_t graph;
    FAILS(cudaErrorNotSupported, cudaGraphCreate(&graph, 0));
    FAILS(cudaErrorNotSupported, cudaGraphCreate(&graph, 0));
}

static void devices() {
    int count = -1, device = -1, value = 0;
    WORKS(cudaGetDeviceCount(&count));
    WORKS(cudaGetDevice(&device));
    EXPECT(device == 0);
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(count));
    FAILS(cudaErrorInvalidDevice, cudaSetDevice(-1));
    FAILS(cudaErrorInvalidValue, cudaGetDeviceCount(nullptr));
    cudaDeviceProp properties;
    WORKS(cudaGetDeviceProperties(&properties, 0));
    FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 99));
    FAILS(cudaErrorInvalidValue, cudaGetDeviceProperties(nullptr, 0));
    WORKS(cudaGetDeviceProperties(&properties, 0));
    EXPECT(std::strstr(properties.name, "(simulated)") != nullptr);
    EXPECT(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
    EXPECT(properties.maxThreadsDim[2] == 64 && properties.maxGridSize[0] == 2147483647);
    EXPECT(properties.totalGlobalMem > 0 && properties.sharedMemPerBlock == 49152);
    EXPECT(properties.sharedMemPerBlockOptin > properties.sharedMemPerBlock);
    EXPECT(properties.clockRate > 0 && properties.memoryClockRate > 0 && properties.computeMode == 0);
    const struct {
        cudaDeviceAttr attribute;
        long long expected;
    } same[] = {{cudaDevAttrWarpSize, properties.warpSize},
                {cudaDevAttrMultiProcessorCount, properties.multiProcessorCount},
                {cudaDevAttrComputeCapabilityMajor, properties.major},
                {cudaDevAttrComputeCapabilityMinor, properties.minor},
                {cudaDevAttrMaxThreadsPerBlock, properties.maxThreadsPerBlock},
                {cudaDevAttrMaxSharedMemoryPerBlock, (long long)properties.sharedMemPerBlock},
                {cudaDevAttrPciBusId, properties.pciBusID},
                {cudaDevAttrClockRate, properties.clockRate}};
    for (const auto& each : same) {
        WORKS(cudaDeviceGetAttribute(&value, each.attribute, 0));
        EXPECT(value == each.expected);
    }
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(0), 0));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(5000), 0));
    for (int i = 1; i <= 147; ++i) WORKS(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(i), 0));
    char id[32];
    WORKS(cudaDeviceGetPCIBusId(id, sizeof id, 0));
    WORKS(cudaDeviceGetByPCIBusId(&device, id));
    EXPECT(device == 0);
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetByPCIBusId(&device, "0000:7f:00.0"));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&device, "none"));
    unsigned flags = 0;
    WORKS(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
    WORKS(cudaGetDeviceFlags(&flags));
    EXPECT((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleSpin);
    FAILS(cudaErrorInvalidValue, cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield));
    FAILS(cudaErrorInvalidValue, cudaSetDeviceFlags(0x10000));
    size_t limit = 0;
    WORKS(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    EXPECT(limit == 1024);
    WORKS(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20));
    WORKS(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit == 64 << 20);
    FAILS(cudaErrorUnsupportedLimit, cudaDeviceSetLimit(cudaLimitDevRuntimeSyncDepth, 2));
    FAILS(cudaErrorInvalidValue, cudaDeviceSetLimit(static_cast<cudaLimit>(77), 2));
    cudaFuncCache cache;
    WORKS(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    WORKS(cudaDeviceGetCacheConfig(&cache));
    EXPECT(cache == cudaFuncCachePreferL1);
    int version = 0;
    WORKS(cudaRuntimeGetVersion(&version));
    EXPECT(version == CUDART_VERSION);
    WORKS(cudaDriverGetVersion(&version));
    EXPECT(version >= CUDART_VERSION);
    WORKS(cudaProfilerStart());
    WORKS(cudaProfilerStop());
    cudaDeviceProp wanted;
    std::memset(&wanted, 0, sizeof wanted);
    wanted.major = properties.major, wanted.minor = properties.minor;
    WORKS(cudaChooseDevice(&device, &wanted));
    EXPECT(device == 0);
    int access = -1;
    WORKS(cudaDeviceCanAccessPeer(&access, 0, 0));
    EXPECT(access == 0);
    FAILS(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&access, 0, 99));
    FAILS(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(0, 0));
    WORKS(cudaThreadSynchronize());
    WORKS(cudaDeviceReset());
    WORKS(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    EXPECT(limit == 8 << 20);
    std::printf("%d devices, %s\n", count, properties.name);
    if (count > 1) {
        WORKS(cudaSetDevice(1));
        WORKS(cudaGetDevice(&device));
        EXPECT(device == 1);
        std::thread([] {
            int of_thread = -1;
            WORKS(cudaGetDevice(&of_thread));
            EXPECT(of_thread == 0);
        }).join();
        cudaStream_t stream;
        WORKS(cudaStreamCreate(&stream));
        int device_of_stream = -1;
        WORKS(cudaSetDevice(0));
        WORKS(cudaStreamGetDevice(stream, &device_of_stream));
        EXPECT(device_of_stream == 1);
        WORKS(cudaStreamSynchronize(stream));
        LAUNCH_FAILS(cudaErrorInvalidResourceHandle, empty<<<1, 1, 0, stream>>>());
        WORKS(cudaDeviceCanAccessPeer(&access, 0, 1));
        EXPECT(access == 1);
        WORKS(cudaDeviceEnablePeerAccess(1, 0));
        FAILS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
        WORKS(cudaDeviceDisablePeerAccess(1));
        FAILS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
        cudaDeviceProp other;
        WORKS(cudaGetDeviceProperties(&other, 1));
        EXPECT(std::memcmp(&other.uuid, &properties.uuid, sizeof other.uuid) != 0);
        EXPECT(other.pciBusID != properties.pciBusID);
    }
}

static void streams() {
    cudaStream_t stream = nullptr, other = nullptr;
    unsigned flags = 9;
    int priority = 9;
    WORKS(cudaStreamCreate(&stream));
    FAILS(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
    FAILS(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&other, 5));
    WORKS(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -100));
    WORKS(cudaStreamGetFlags(other, &flags));
    EXPECT(flags == cudaStreamNonBlocking);
    int least = 9, greatest = 9;
    WORKS(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(least == 0 && greatest < 0);
    WORKS(cudaStreamGetPriority(other, &priority));
    EXPECT(priority == greatest);
    WORKS(cudaStreamGetFlags(nullptr, &flags));
    EXPECT(flags == cudaStreamDefault);
    unsigned long long one = 0, two = 0;
    WORKS(cudaStreamGetId(stream, &one));
    WORKS(cudaStreamGetId(other, &two));
    EXPECT(one != two);
    WORKS(cudaStreamGetId(nullptr, &one));
    WORKS(cudaStreamGetId(cudaStreamLegacy, &two));
    EXPECT(one == two);
    WORKS(cudaStreamQuery(stream));
    WORKS(cudaStreamSynchronize(cudaStreamPerThread));
    const auto wild = reinterpret_cast<cudaStream_t>(0x1234);
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(wild));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamQuery(wild));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(wild));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamGetFlags(wild, &flags));
    LAUNCH_FAILS(cudaErrorInvalidResourceHandle, empty<<<1, 1, 0, wild>>>());
    // Callbacks: in order, on another thread, without CUDA.
    static std::vector<int> order;
    static std::atomic<int> in_callback{-1};
    WORKS(cudaStreamAddCallback(
        stream,
        [](cudaStream_t, cudaError_t status, void*) { order.push_back(status == cudaSuccess ? 1 : -1); },
        nullptr, 0));
    WORKS(cudaLaunchHostFunc(
        stream,
        [](void* data) { order.push_back(*static_cast<int*>(data)), in_callback = cudaFree(nullptr); },
        &least));
    WORKS(cudaStreamSynchronize(stream));
    EXPECT(order.size() == 2 && order[0] == 1 && order[1] == 0);
    EXPECT(in_callback == cudaErrorNotPermitted);
    FAILS(cudaErrorInvalidValue, cudaStreamAddCallback(stream, nullptr, nullptr, 0));
    FAILS(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, nullptr, nullptr));
    // Kernels wait for callbacks before them.
    static std::atomic<bool> may_end{false};
    static std::atomic<int> seen{0};
    WORKS(cudaLaunchHostFunc(
        stream,
        [](void*) {
            while (!may_end) std::this_thread::yield();
        },
        nullptr));
    empty<<<1, 1, 0, stream>>>();
    WORKS(cudaLaunchHostFunc(stream, [](void*) { seen = 1; }, nullptr));
    RETURNS(cudaErrorNotReady, cudaStreamQuery(stream));
    (void)cudaGetLastError();
    may_end = true;
    WORKS(cudaDeviceSynchronize());
    EXPECT(seen == 1);
    WORKS(cudaStreamQuery(stream));
    // Attributes.
    cudaLaunchAttributeValue value;
    std::memset(&value, 0, sizeof value);
    value.syncPolicy = cudaSyncPolicyYield;
    WORKS(cudaStreamSetAttribute(stream, cudaLaunchAttributeSynchronizationPolicy, &value));
    WORKS(cudaStreamCopyAttributes(other, stream));
    value.syncPolicy = cudaSyncPolicyAuto;
    WORKS(cudaStreamGetAttribute(other, cudaLaunchAttributeSynchronizationPolicy, &value));
    EXPECT(value.syncPolicy == cudaSyncPolicyYield);
    FAILS(cudaErrorInvalidValue, cudaStreamGetAttribute(stream, cudaLaunchAttributeCooperative, &value));
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
    WORKS(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone);
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    WORKS(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeGlobal);
    WORKS(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeRelaxed);
    WORKS(cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
    // Events.
    cudaEvent_t start, end, untimed, never;
    float milliseconds = -1;
    WORKS(cudaEventCreate(&start));
    WORKS(cudaEventCreate(&end, cudaEventBlockingSync));
    WORKS(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    WORKS(cudaEventCreate(&never));
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&start, 0x80));
    FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&start, cudaEventInterprocess));
    WORKS(cudaEventQuery(never));
    WORKS(cudaEventSynchronize(never));
    WORKS(cudaEventRecord(start));
    empty<<<1, 1>>>();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    WORKS(cudaEventRecord(end, nullptr));
    WORKS(cudaEventRecord(untimed, other));
    WORKS(cudaEventSynchronize(end));
    WORKS(cudaEventQuery(end));
    WORKS(cudaEventElapsedTime(&milliseconds, start, end));
    EXPECT(milliseconds >= 5 && milliseconds < 60000);
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, untimed));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, start, never));
    FAILS(cudaErrorInvalidValue, cudaEventElapsedTime(nullptr, start, end));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(nullptr));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventRecord(start, wild));
    WORKS(cudaStreamWaitEvent(other, end));
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamWaitEvent(other, nullptr, 0));
    WORKS(cudaEventDestroy(start));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventDestroy(start));
    FAILS(cudaErrorInvalidResourceHandle, cudaEventQuery(start));
}

static void functions() {
    cudaFuncAttributes attributes;
    WORKS(cudaFuncGetAttributes(&attributes, empty));
    EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.sharedSizeBytes == 0);
    EXPECT(attributes.numRegs > 0 && attributes.ptxVersion >= 50 && attributes.binaryVersion >= 50);
    EXPECT(attributes.maxDynamicSharedSizeBytes == 49152);
    WORKS(cudaFuncGetAttributes(&attributes, with_static));
    EXPECT(attributes.sharedSizeBytes == 4096 && attributes.maxDynamicSharedSizeBytes == 49152 - 4096);
    WORKS(cudaFuncGetAttributes(&attributes, bounded));
    EXPECT(attributes.maxThreadsPerBlock == 128);
    int on_host = 0;
    const void* const no_kernel = &on_host;
    FAILS(cudaErrorInvalidResourceHandle, cudaFuncGetAttributes(&attributes, no_kernel));
    FAILS(cudaErrorInvalidValue, cudaFuncGetAttributes(nullptr, empty));
    FAILS(cudaErrorInvalidResourceHandle, cudaLaunchKernel(no_kernel, 1, 1, nullptr, 0, nullptr));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel(static_cast<const void*>(nullptr), 1, 1, nullptr, 0, nullptr));
    const char* name = nullptr;
    WORKS(cudaFuncGetName(&name, sum));
    EXPECT(std::string(name) == "_Z3sumPicds");
    size_t offset = 0, bytes = 0;
    const size_t offsets[] = {0, 8, 16, 24}, sizes[] = {8, 1, 8, 2};
    for (size_t i = 0; i < 4; ++i) {
        WORKS(cudaFuncGetParamInfo(reinterpret_cast<const void*>(sum), i, &offset, &bytes));
        EXPECT(offset == offsets[i] && bytes == sizes[i]);
    }
    FAILS(cudaErrorInvalidValue,
          cudaFuncGetParamInfo(reinterpret_cast<const void*>(sum), 4, &offset, &bytes));
    cudaFunction_t function;
    cudaKernel_t kernel;
    WORKS(cudaGetFuncBySymbol(&function, empty));
    WORKS(cudaGetKernel(&kernel, empty));
    WORKS(cudaFuncSetCacheConfig(empty, cudaFuncCachePreferShared));
    WORKS(cudaFuncSetSharedMemConfig(empty, cudaSharedMemBankSizeEightByte));
    WORKS(cudaFuncSetAttribute(empty, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(empty, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
    FAILS(cudaErrorInvalidValue, cudaFuncSetAttribute(empty, static_cast<cudaFuncAttribute>(3), 1));
    // Occupancy.
    int blocks = 0, grid = 0, block = 0;
    WORKS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 256, 0));
    EXPECT(blocks == 8);
    WORKS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 2048, 0));
    EXPECT(blocks == 0);
    WORKS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 256, 0));
    EXPECT(blocks == 8);
    FAILS(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, empty, 0, 0));
    FAILS(cudaErrorInvalidValue,
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(static_cast<int*>(nullptr), empty, 32, 0));
    WORKS(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, with_dynamic, 32, 1 << 20));
    EXPECT(blocks == 0);
    WORKS(cudaOccupancyMaxPotentialBlockSize(&grid, &block, empty));
    EXPECT(block == 1024 && grid > 0 && grid % 2 == 0);
    WORKS(cudaOccupancyMaxPotentialBlockSize(&grid, &block, empty, 0, 200));
    EXPECT(block <= 200 && block >= 32);
    WORKS(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, with_dynamic,
                                                         [](int threads) { return threads * 64; }));
    EXPECT(block > 0 && grid > 0);
    WORKS(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, empty, 2, 64));
    EXPECT(bytes == 49152);
}

static void launches() {
    int* data = nullptr;
    WORKS(cudaMalloc(&data, 4096));
    std::vector<int> zeros(1024);
    WORKS(cudaMemcpy(data, zeros.data(), 4096, cudaMemcpyHostToDevice));
    int host = 0;
    sum<<<1, 1>>>(data, 1, 2.5, 3);
    char a = 10;
    double b = 20;
    short c = 30;
    void* arguments[] = {&data, &a, &b, &c};
    WORKS(cudaLaunchKernel(sum, dim3(1), dim3(1), arguments));
    WORKS(cudaLaunchKernel(reinterpret_cast<const void*>(sum), 1, 1, arguments, 0, nullptr));
    WORKS(cudaLaunchCooperativeKernel(sum, 1, 1, arguments));
    cudaLaunchConfig_t configuration = {};
    configuration.gridDim = 1, configuration.blockDim = 1;
    WORKS(cudaLaunchKernelEx(&configuration, sum, data, 100, 200.0f, 300L));
    cudaLaunchAttribute attributes[3] = {};
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributePriority;
    attributes[2].id = cudaLaunchAttributeClusterDimension;
    attributes[2].val.clusterDim.x = attributes[2].val.clusterDim.y = attributes[2].val.clusterDim.z = 1;
    configuration.attrs = attributes;
    configuration.numAttrs = 3;
    WORKS(cudaLaunchKernelExC(&configuration, reinterpret_cast<const void*>(sum), arguments));
    cudaKernel_t kernel;
    WORKS(cudaGetKernel(&kernel, sum));
    WORKS(cudaLaunchKernelExC(&configuration, kernel, arguments));
    attributes[2].val.clusterDim.x = 2;
    FAILS(cudaErrorInvalidClusterSize, cudaLaunchKernelExC(&configuration, kernel, arguments));
    attributes[2].id = static_cast<cudaLaunchAttributeID>(99);
    FAILS(cudaErrorInvalidValue, cudaLaunchKernelExC(&configuration, kernel, arguments));
    configuration.attrs = nullptr;
    FAILS(cudaErrorInvalidValue, cudaLaunchKernelExC(&configuration, kernel, arguments));
    FAILS(cudaErrorInvalidValue, cudaLaunchKernelExC(nullptr, kernel, arguments));
    FAILS(cudaErrorInvalidValue, cudaLaunchKernel(sum, 1, 1, nullptr));
    WORKS(cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host == 6 + 60 + 60 + 60 + 600 + 60 + 60);
    templated<<<1, 8>>>(data, 7);
    WORKS(cudaMemcpy(&host, data + 7, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(host == 7);
    // Several threads launch at once.
    WORKS(cudaMemcpy(data, zeros.data(), 4096, cudaMemcpyHostToDevice));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([=] {
            for (int i = 0; i < 50; ++i)
                sum<<<1, 1>>>(data + t, 1, 0, 0), templated<<<1, 1>>>(data + 8 + t, i);
            WORKS(cudaDeviceSynchronize());
        });
    for (auto& thread : threads) thread.join();
    for (int t = 0; t < 4; ++t) {
        WORKS(cudaMemcpy(&host, data + t, sizeof host, cudaMemcpyDeviceToHost));
        EXPECT(host == 50);
    }
}

/// Each of these says on the standard error why the kernel is not launched.
static void refused() {
    LAUNCH_FAILS(cudaErrorInvalidValue, empty<<<0, 1>>>());
    LAUNCH_FAILS(cudaErrorInvalidValue, empty<<<1, 0>>>());
    LAUNCH_FAILS(cudaErrorInvalidValue, empty<<<1, 1025>>>());
    LAUNCH_FAILS(cudaErrorInvalidValue, empty<<<1, dim3(1, 1, 65)>>>());
    LAUNCH_FAILS(cudaErrorInvalidValue, empty<<<1, dim3(64, 64, 1)>>>());
    LAUNCH_FAILS(cudaErrorInvalidValue, empty<<<dim3(1, 65536), 1>>>());
    LAUNCH_FAILS(cudaErrorInvalidValue, empty<<<-1, 1>>>());
    LAUNCH_FAILS(cudaErrorInvalidValue, bounded<<<1, 129>>>());
    LAUNCH_FAILS(cudaSuccess, bounded<<<1, 128>>>());
    int* data = nullptr;
    WORKS(cudaMalloc(&data, 4096));
    std::vector<int> zeros(1024);
    WORKS(cudaMemcpy(data, zeros.data(), 4096, cudaMemcpyHostToDevice));
    LAUNCH_FAILS(cudaSuccess, with_dynamic<<<1, 32, 48 * 1024>>>(data));
    LAUNCH_FAILS(cudaErrorInvalidValue, with_dynamic<<<1, 32, 48 * 1024 + 1>>>(data));
    LAUNCH_FAILS(cudaErrorInvalidValue, with_static<<<1, 32, 48 * 1024>>>(data));
    WORKS(cudaFuncSetAttribute(with_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024));
    LAUNCH_FAILS(cudaSuccess, with_dynamic<<<1, 32, 100 * 1024>>>(data));
    LAUNCH_FAILS(cudaErrorInvalidValue, with_dynamic<<<1, 32, 101 * 1024>>>(data));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(with_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(with_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
    void* nothing[1] = {nullptr};
    FAILS(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernel(empty, 1 << 20, 1024, nothing));
}

int main(int, char** arguments) {
    const std::string part = arguments[1];
    if (part == "errors") errors();
    if (part == "devices") devices();
    if (part == "streams") streams();
    if (part == "functions") functions();
    if (part == "launches") launches();
    if (part == "refused") refused();
    std::printf("%s: %d failures\n", part.c_str(), failures);
    return failures != 0;
}

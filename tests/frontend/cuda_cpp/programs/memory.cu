// Memory of the runtime API: prints what is not as the CUDA Runtime API says it, then "done".
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#define EXPECT(condition)                                                      \
    do {                                                                       \
        if (!(condition)) std::printf("line %d: %s\n", __LINE__, #condition);  \
    } while (0)
#define RESULT(call, expected)                                                              \
    do {                                                                                    \
        const cudaError_t result_ = (call);                                                   \
        if (result_ != (expected)) std::printf("line %d: %s: %d\n", __LINE__, #call, int(result_)); \
        (void)cudaGetLastError();                                                           \
    } while (0)
#define OK(call) RESULT(call, cudaSuccess)

__global__ void add_one(int* values, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) values[i] += 1;
}

__device__ int counter = 5;
__device__ float table[4] = {1, 2, 3, 4};
__constant__ double factor;
static __device__ int hidden = 40;
__managed__ int managed = 17;
__device__ __managed__ float managed_table[3] = {0.5f, 1.5f, 2.5f};
struct Pair {
    int first;
    double second;
};
static __managed__ Pair managed_pair = {3, 4.5};

__global__ void use_symbols(double* result) {
    *result = counter + table[2] * factor + hidden;
    counter = 99;
}
__global__ void use_managed(int** where) {
    managed += 1;
    for (float& each : managed_table) each *= 2;
    managed_pair.first = managed;
    *where = &managed;
}

void allocations() {
    int* p = reinterpret_cast<int*>(1);
    OK(cudaMalloc(&p, 0));
    EXPECT(p == nullptr);
    OK(cudaMalloc(&p, 40));
    EXPECT(reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
    std::vector<unsigned short> fresh(20);
    OK(cudaMemcpy(fresh.data(), p, 40, cudaMemcpyDeviceToHost));
    EXPECT(fresh[7] == 0xFFFB);
    OK(cudaFree(p));
    OK(cudaFree(nullptr));
    RESULT(cudaFree(p), cudaErrorInvalidValue);
    RESULT(cudaFree(fresh.data()), cudaErrorInvalidValue);
    RESULT(cudaMalloc(static_cast<void**>(nullptr), 4), cudaErrorInvalidValue);
    RESULT(cudaMalloc(&p, static_cast<size_t>(-4)), cudaErrorMemoryAllocation);
    RESULT(cudaMalloc(&p, size_t{1} << 50), cudaErrorMemoryAllocation);
    size_t before = 0, after = 0, total = 0, pitch = 0;
    OK(cudaMemGetInfo(&before, &total));
    EXPECT(before > 0 && before <= total);
    OK(cudaMallocPitch(&p, &pitch, 100, 7));
    EXPECT(pitch == 512);
    OK(cudaMemGetInfo(&after, &total));
    EXPECT(before - after == 7 * 512);
    OK(cudaFree(p));
    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, make_cudaExtent(40, 3, 2)));
    EXPECT(box.pitch == 512 && box.xsize == 40 && box.ysize == 3);
    OK(cudaFree(box.ptr));
}

void copies() {
    std::vector<int> a(100), b(100);
    for (int i = 0; i < 100; ++i) a[i] = i;
    int *d = nullptr, *e = nullptr;
    OK(cudaMalloc(&d, 400));
    OK(cudaMalloc(&e, 400));
    OK(cudaMemcpy(d, a.data(), 400, cudaMemcpyHostToDevice));
    add_one<<<1, 128>>>(d, 100);
    OK(cudaMemcpy(e, d, 400, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(b.data(), e, 400, cudaMemcpyDefault));
    EXPECT(b[99] == 100);
    OK(cudaMemcpy(a.data(), b.data(), 400, cudaMemcpyHostToHost));
    EXPECT(a[0] == 1);
    OK(cudaMemset(d, 0x17, 400));
    OK(cudaMemcpyAsync(b.data(), d, 400, cudaMemcpyDeviceToHost, cudaStreamPerThread));
    EXPECT(b[5] == 0x17171717);
    // Sizes and addresses.
    OK(cudaMemcpy(d, a.data(), 0, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
    RESULT(cudaMemcpy(d, a.data(), 404, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    RESULT(cudaMemcpy(d + 1, a.data(), 400, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    RESULT(cudaMemcpy(b.data(), d, static_cast<size_t>(-1), cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    RESULT(cudaMemcpy(nullptr, a.data(), 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    RESULT(cudaMemcpy(d, nullptr, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    RESULT(cudaMemset(d, 0, 401), cudaErrorInvalidValue);
    RESULT(cudaMemset(b.data(), 0, 4), cudaErrorInvalidValue);
    // Directions.
    RESULT(cudaMemcpy(d, a.data(), 400, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    RESULT(cudaMemcpy(b.data(), d, 400, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    RESULT(cudaMemcpy(d, a.data(), 400, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    // A GPU copies device memory whose kind says host.
    RESULT(cudaMemset(d, 7, 400), cudaSuccess);
    RESULT(cudaMemcpy(b.data(), d, 400, cudaMemcpyHostToHost), cudaSuccess);
    RESULT(cudaMemcpy(d, d + 50, 200, cudaMemcpyHostToDevice), cudaSuccess);
    RESULT(cudaMemcpy(d, d + 50, 200, cudaMemcpyDeviceToHost), cudaSuccess);
    RESULT(cudaMemcpy(d, a.data(), 400, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
    RESULT(cudaMemcpyAsync(d, a.data(), 4, cudaMemcpyHostToDevice, reinterpret_cast<cudaStream_t>(0x1234)),
           cudaErrorInvalidResourceHandle);
    OK(cudaMemcpyPeer(e, 0, d, 0, 400));
    RESULT(cudaMemcpyPeer(e, 0, d, 77, 400), cudaErrorInvalidDevice);
    OK(cudaFree(d));
    RESULT(cudaMemcpy(d, a.data(), 400, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaFree(e));
}

void boxes() {
    char* d = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&d, &pitch, 10, 4));
    std::vector<char> host(80), back(80);
    for (int i = 0; i < 80; ++i) host[i] = static_cast<char>(i);
    OK(cudaMemset2D(d, pitch, 7, 10, 4));
    OK(cudaMemcpy2D(d, pitch, host.data(), 20, 8, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back.data(), 10, d, pitch, 10, 4, cudaMemcpyDeviceToHost));
    EXPECT(back[13] == 23 && back[18] == 7 && back[39] == 7 && back[40] == 0);
    RESULT(cudaMemcpy2D(d, pitch, host.data(), 4, 8, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    RESULT(cudaMemcpy2D(d, pitch, host.data(), 20, 8, 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    OK(cudaMemcpy2DAsync(back.data(), 10, d, pitch, 0, 4, cudaMemcpyDeviceToHost));
    cudaPitchedPtr box;
    const cudaExtent extent = make_cudaExtent(5, 4, 3);
    OK(cudaMalloc3D(&box, extent));
    OK(cudaMemset3D(box, 9, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), 5, 5, 4);
    copy.dstPtr = box;
    copy.dstPos = make_cudaPos(1, 1, 1);
    copy.extent = make_cudaExtent(4, 3, 2);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaMemcpy3DParms back_copy = {};
    back_copy.srcPtr = box;
    back_copy.dstPtr = make_cudaPitchedPtr(back.data(), 5, 5, 4);
    back_copy.extent = extent;
    back_copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&back_copy));
    EXPECT(back[0] == 9 && back[20 + 5 + 1] == 0 && back[40 + 10 + 2] == 20 + 5 + 1);
    RESULT(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
    OK(cudaFree(box.ptr));
    OK(cudaFree(d));
}

void host_memory() {
    int *pinned = nullptr, *mapped = nullptr, *device = nullptr;
    OK(cudaMallocHost(&pinned, 64));
    OK(cudaHostAlloc(&mapped, 64, cudaHostAllocMapped | cudaHostAllocWriteCombined));
    for (int i = 0; i < 16; ++i) mapped[i] = pinned[i] = i;
    OK(cudaHostGetDevicePointer(&device, mapped, 0));
    EXPECT(device == mapped);
    add_one<<<1, 16>>>(device, 16);
    OK(cudaDeviceSynchronize());
    EXPECT(mapped[15] == 16);
    unsigned flags = 0;
    OK(cudaHostGetFlags(&flags, mapped));
    EXPECT(flags == (cudaHostAllocMapped | cudaHostAllocWriteCombined));
    RESULT(cudaHostAlloc(&device, 64, 0x100), cudaErrorInvalidValue);
    std::vector<int> own(16, 5);
    RESULT(cudaHostGetDevicePointer(&device, own.data(), 0), cudaErrorInvalidValue);
    OK(cudaHostRegister(own.data(), 64, cudaHostRegisterMapped));
    RESULT(cudaHostRegister(own.data(), 64, 0), cudaErrorHostMemoryAlreadyRegistered);
    OK(cudaHostGetDevicePointer(&device, own.data(), 0));
    add_one<<<1, 16>>>(device, 16);
    OK(cudaDeviceSynchronize());
    EXPECT(own[3] == 6);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, own.data()));
    EXPECT(attributes.type == cudaMemoryTypeHost && attributes.devicePointer == own.data());
    OK(cudaHostUnregister(own.data()));
    RESULT(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
    OK(cudaPointerGetAttributes(&attributes, own.data()));
    EXPECT(attributes.type == cudaMemoryTypeUnregistered && attributes.devicePointer == nullptr);
    OK(cudaMalloc(&device, 64));
    OK(cudaPointerGetAttributes(&attributes, device + 3));
    EXPECT(attributes.type == cudaMemoryTypeDevice && attributes.device == 0 && !attributes.hostPointer);
    RESULT(cudaFree(pinned), cudaErrorInvalidValue);
    RESULT(cudaFreeHost(device), cudaErrorInvalidValue);
    RESULT(cudaFreeHost(own.data()), cudaErrorInvalidValue);
    OK(cudaFree(device));
    OK(cudaFreeHost(pinned));
    OK(cudaFreeHost(mapped));
    OK(cudaFreeHost(nullptr));
}

void managed_memory() {
    int* p = nullptr;
    OK(cudaMallocManaged(&p, 4096));
    for (int i = 0; i < 1024; ++i) p[i] = i;
    add_one<<<8, 128>>>(p, 1024);
    OK(cudaDeviceSynchronize());
    EXPECT(p[1023] == 1024);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, p));
    EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == p);
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPrefetchAsync(p, 2048, device, 0));
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetReadMostly, device));
    OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetAccessedBy, device));
    int value = -5, devices[2] = {7, 7};
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeReadMostly, p, 4096));
    EXPECT(value == 1);
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, p, 2048));
    EXPECT(value == 0);
    OK(cudaMemRangeGetAttribute(&value, 4, cudaMemRangeAttributeLastPrefetchLocation, p, 4096));
    EXPECT(value == cudaInvalidDeviceId);
    OK(cudaMemRangeGetAttribute(devices, 8, cudaMemRangeAttributeAccessedBy, p, 4096));
    EXPECT(devices[0] == 0 && devices[1] == cudaInvalidDeviceId);
    RESULT(cudaMemPrefetchAsync(p, 4097, device, 0), cudaErrorInvalidValue);
    RESULT(cudaMemPrefetchAsync(&value, 4, device, 0), cudaErrorInvalidValue);
    OK(cudaFree(p));
    OK(cudaMallocManaged(&p, 0));
    EXPECT(p == nullptr);

    EXPECT(managed == 17 && managed_table[2] == 2.5f && managed_pair.second == 4.5);
    managed = 30;
    int **where = nullptr, *address = nullptr;
    OK(cudaMalloc(&where, sizeof *where));
    use_managed<<<1, 1>>>(where);
    OK(cudaDeviceSynchronize());
    EXPECT(managed == 31 && managed_table[1] == 3.0f && managed_pair.first == 31);
    OK(cudaMemcpy(&address, where, sizeof address, cudaMemcpyDeviceToHost));
    EXPECT(address == &managed);
    void* symbol = nullptr;
    OK(cudaGetSymbolAddress(&symbol, managed));
    EXPECT(symbol == &managed);
    OK(cudaPointerGetAttributes(&attributes, &managed));
    EXPECT(attributes.type == cudaMemoryTypeManaged);
    OK(cudaMemset(&managed, 0, sizeof managed));
    EXPECT(managed == 0);
    RESULT(cudaFree(&managed), cudaErrorInvalidValue);
    OK(cudaFree(where));
}

void symbols() {
    double value = 10, *result = nullptr;
    OK(cudaMemcpyToSymbol(factor, &value, sizeof value));
    const float third = 30;
    OK(cudaMemcpyToSymbol(table, &third, sizeof third, 8));
    OK(cudaMalloc(&result, sizeof *result));
    use_symbols<<<1, 1>>>(result);
    OK(cudaMemcpy(&value, result, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 5 + 300 + 40);
    int count = 0;
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(count == 99 && counter != 99);
    OK(cudaMemcpyFromSymbolAsync(&count, hidden, sizeof count, 0, cudaMemcpyDeviceToHost));
    EXPECT(count == 40);
    size_t bytes = 0;
    OK(cudaGetSymbolSize(&bytes, table));
    EXPECT(bytes == 16);
    float* address = nullptr;
    OK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), table));
    float read = 0;
    OK(cudaMemcpy(&read, address + 2, sizeof read, cudaMemcpyDeviceToHost));
    EXPECT(read == 30);
    RESULT(cudaMemcpyToSymbol(table, &value, 8, 12), cudaErrorInvalidValue);
    RESULT(cudaMemcpyToSymbol(table, &value, 8, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    RESULT(cudaGetSymbolSize(&bytes, value), cudaErrorInvalidSymbol);
    OK(cudaFree(result));
}

void pools() {
    cudaStream_t stream = cudaStreamPerThread;
    int *p = nullptr, value = 0;
    OK(cudaMallocAsync(&p, 400, stream));
    OK(cudaMemsetAsync(p, 1, 400, stream));
    add_one<<<1, 128, 0, stream>>>(p, 100);
    OK(cudaMemcpyAsync(&value, p + 99, 4, cudaMemcpyDeviceToHost, stream));
    EXPECT(value == 0x01010102);
    OK(cudaFreeAsync(p, stream));
    RESULT(cudaFreeAsync(p, stream), cudaErrorInvalidValue);
    cudaMemPool_t pool = nullptr, other = nullptr;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t threshold = 12345, got = 0;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    EXPECT(got == threshold);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&other, &properties));
    OK(cudaDeviceSetMemPool(0, other));
    OK(cudaDeviceGetMemPool(&pool, 0));
    EXPECT(pool == other);
    OK(cudaMallocFromPoolAsync(&p, 64, other, stream));
    OK(cudaMemPoolGetAttribute(other, cudaMemPoolAttrUsedMemCurrent, &got));
    EXPECT(got == 64);
    OK(cudaFree(p));
    OK(cudaMemPoolTrimTo(other, 0));
    OK(cudaMemPoolDestroy(other));
    RESULT(cudaMemPoolDestroy(other), cudaErrorInvalidValue);
    RESULT(cudaDeviceGetMemPool(&pool, 99), cudaErrorInvalidDevice);
}

void arrays() {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaArray_t array = nullptr, other = nullptr;
    OK(cudaMallocArray(&array, &format, 6, 4));
    OK(cudaMallocArray(&other, &format, 6, 4));
    std::vector<float> host(24), back(24);
    for (int i = 0; i < 24; ++i) host[i] = i;
    OK(cudaMemcpy2DToArray(array, 0, 0, host.data(), 24, 24, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, 24, 4));
    OK(cudaMemcpy2DFromArray(back.data(), 24, other, 0, 0, 24, 4, cudaMemcpyDeviceToHost));
    EXPECT(back == host);
    OK(cudaMemcpyFromArray(back.data(), other, 8, 1, 48, cudaMemcpyDeviceToHost));
    EXPECT(back[0] == 8 && back[11] == 19);
    RESULT(cudaMemcpy2DToArray(array, 4, 0, host.data(), 24, 24, 4, cudaMemcpyHostToDevice),
           cudaErrorInvalidValue);
    cudaExtent extent;
    cudaChannelFormatDesc got;
    unsigned flags = 9;
    OK(cudaArrayGetInfo(&got, &extent, &flags, array));
    EXPECT(extent.width == 6 && extent.height == 4 && extent.depth == 0 && got.x == 32 && flags == 0);
    OK(cudaFreeArray(array));
    RESULT(cudaFreeArray(array), cudaErrorInvalidValue);
    OK(cudaFreeArray(other));
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(3, 2, 2)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), 12, 3, 2);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(3, 2, 2);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaMemcpy3DParms one = {};
    one.srcArray = array;
    one.srcPos = make_cudaPos(1, 1, 1);
    one.dstPtr = make_cudaPitchedPtr(back.data(), 12, 3, 2);
    one.extent = make_cudaExtent(2, 1, 1);
    one.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&one));
    EXPECT(back[0] == 10 && back[1] == 11);
    OK(cudaFreeArray(array));
}

int main() {
    allocations();
    copies();
    boxes();
    host_memory();
    managed_memory();
    symbols();
    pools();
    arrays();
    std::printf("done\n");
}

// cudaGetDeviceProperties, cudaDeviceGetAttribute, cudaChooseDevice (page "Device Management" of the CUDA
// Runtime API).
#include <cuda_runtime_api.h>

#include <cstring>
#include <string_view>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/older_properties.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/device_attributes.h"
#include "simulator/driver/memory.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/driver/visible_devices.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

constexpr int last_attribute = cudaDevAttrOnlyPartialHostNativeAtomicSupported;

/// Numbers that the driver's table does not have stand for what the simulated devices do not have.
int attribute_of(const driver::Context& device, int number) {
    if (number == cudaDevAttrPciBusId) return static_cast<int>(Process::get().position(device.device())) + 1;
    if (number == cudaDevAttrHostNumaId || number == cudaDevAttrNumaId) return -1;
    return static_cast<int>(driver::device_attribute(device.engine()->device.profile(), number).value_or(0));
}

void write_uuid(const execution::DeviceProfile& profile, std::size_t position, cudaUUID_t& uuid) {
    unsigned index = 0, digits = 0, value = 0;
    const std::string text = driver::device_uuid(profile.key, position);
    for (const char character : std::string_view(text).substr(4)) {  // behind "GPU-"
        if (character == '-') continue;
        value = value * 16 + static_cast<unsigned>(character <= '9' ? character - '0' : character - 'a' + 10);
        if (++digits % 2 == 0 && index < sizeof uuid.bytes)
            uuid.bytes[index++] = static_cast<char>(value), value = 0;
    }
}

void fill(const driver::Context& device, cudaDeviceProp& result) {
    const auto& profile = device.engine()->device.profile();
    const auto value = [&](int number) { return attribute_of(device, number); };
    const auto values = [&](int* target, std::initializer_list<int> numbers) {
        for (const int number : numbers) *target++ = value(number);
    };
    std::memset(&result, 0, sizeof result);
    std::strncpy(result.name, profile.name.c_str(), sizeof result.name - 1);
    write_uuid(profile, Process::get().position(device.device()), result.uuid);
    result.totalGlobalMem = driver::mem_get_info(device).total;
    result.sharedMemPerBlock = profile.shared_per_block;
    result.sharedMemPerMultiprocessor = profile.shared_per_multiprocessor;
    result.sharedMemPerBlockOptin = profile.shared_per_block_optin;
    result.reservedSharedMemPerBlock = profile.shared_reserved_per_block;
    result.totalConstMem = profile.constant_memory;
    result.memPitch = static_cast<size_t>(value(cudaDevAttrMaxPitch));
    result.textureAlignment = static_cast<size_t>(value(cudaDevAttrTextureAlignment));
    result.texturePitchAlignment = static_cast<size_t>(value(cudaDevAttrTexturePitchAlignment));
    result.surfaceAlignment = static_cast<size_t>(value(cudaDevAttrSurfaceAlignment));
    values(result.maxThreadsDim, {cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ});
    values(result.maxGridSize, {cudaDevAttrMaxGridDimX, cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ});
    values(result.maxTexture2D, {cudaDevAttrMaxTexture2DWidth, cudaDevAttrMaxTexture2DHeight});
    values(result.maxTexture2DMipmap,
           {cudaDevAttrMaxTexture2DMipmappedWidth, cudaDevAttrMaxTexture2DMipmappedHeight});
    values(result.maxTexture2DLinear,
           {cudaDevAttrMaxTexture2DLinearWidth, cudaDevAttrMaxTexture2DLinearHeight,
            cudaDevAttrMaxTexture2DLinearPitch});
    values(result.maxTexture2DGather,
           {cudaDevAttrMaxTexture2DGatherWidth, cudaDevAttrMaxTexture2DGatherHeight});
    values(result.maxTexture3D,
           {cudaDevAttrMaxTexture3DWidth, cudaDevAttrMaxTexture3DHeight, cudaDevAttrMaxTexture3DDepth});
    values(result.maxTexture3DAlt, {cudaDevAttrMaxTexture3DWidthAlt, cudaDevAttrMaxTexture3DHeightAlt,
                                    cudaDevAttrMaxTexture3DDepthAlt});
    values(result.maxTexture1DLayered,
           {cudaDevAttrMaxTexture1DLayeredWidth, cudaDevAttrMaxTexture1DLayeredLayers});
    values(result.maxTexture2DLayered,
           {cudaDevAttrMaxTexture2DLayeredWidth, cudaDevAttrMaxTexture2DLayeredHeight,
            cudaDevAttrMaxTexture2DLayeredLayers});
    values(result.maxTextureCubemapLayered,
           {cudaDevAttrMaxTextureCubemapLayeredWidth, cudaDevAttrMaxTextureCubemapLayeredLayers});
    values(result.maxSurface2D, {cudaDevAttrMaxSurface2DWidth, cudaDevAttrMaxSurface2DHeight});
    values(result.maxSurface3D,
           {cudaDevAttrMaxSurface3DWidth, cudaDevAttrMaxSurface3DHeight, cudaDevAttrMaxSurface3DDepth});
    values(result.maxSurface1DLayered,
           {cudaDevAttrMaxSurface1DLayeredWidth, cudaDevAttrMaxSurface1DLayeredLayers});
    values(result.maxSurface2DLayered,
           {cudaDevAttrMaxSurface2DLayeredWidth, cudaDevAttrMaxSurface2DLayeredHeight,
            cudaDevAttrMaxSurface2DLayeredLayers});
    values(result.maxSurfaceCubemapLayered,
           {cudaDevAttrMaxSurfaceCubemapLayeredWidth, cudaDevAttrMaxSurfaceCubemapLayeredLayers});
    result.memoryPoolSupportedHandleTypes =
        static_cast<unsigned>(value(cudaDevAttrMemoryPoolSupportedHandleTypes));
    result.gpuDirectRDMAFlushWritesOptions =
        static_cast<unsigned>(value(cudaDevAttrGPUDirectRDMAFlushWritesOptions));
#define PROPERTY(member, attribute) result.member = value(cudaDevAttr##attribute);
#include "frontend/cuda_cpp/runtime/device_properties.def"
#undef PROPERTY
}

/// How much of what is asked for a device has; more is better.
int merit(const cudaDeviceProp& wanted, const cudaDeviceProp& has) {
    int points = 0;
    const auto at_least = [&](auto want, auto have) { points += want != 0 && have >= want ? 1 : 0; };
    points += wanted.name[0] != '\0' && std::strncmp(wanted.name, has.name, sizeof has.name) == 0 ? 8 : 0;
    const int capability = 10 * has.major + has.minor, least = 10 * wanted.major + wanted.minor;
    if (least > 0) points += capability == least ? 4 : (capability > least ? 2 : -4);
    at_least(wanted.totalGlobalMem, has.totalGlobalMem);
    at_least(wanted.sharedMemPerBlock, has.sharedMemPerBlock);
    at_least(wanted.multiProcessorCount, has.multiProcessorCount);
    at_least(wanted.maxThreadsPerBlock, has.maxThreadsPerBlock);
    at_least(wanted.clockRate, has.clockRate);
    at_least(wanted.canMapHostMemory, has.canMapHostMemory);
    at_least(wanted.concurrentKernels, has.concurrentKernels);
    at_least(wanted.integrated, has.integrated);
    return points;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    constexpr auto name = "cudaGetDeviceProperties";
    return call(name, [&] {
        require_argument(name, properties, "what the properties are written to");
        fill(*Process::get().device(device, name), *properties);
    });
}

/// What executables built with CUDA 12 call; those of CUDA 11 call it without "_v2" and have less room.
cudaError_t cudaGetDeviceProperties_v2(PropertiesOfCuda12* properties, int device) {
    constexpr auto name = "cudaGetDeviceProperties_v2";
    return call(name, [&] {
        require_argument(name, properties, "what the properties are written to");
        cudaDeviceProp current;
        fill(*Process::get().device(device, name), current);
        convert(current, *properties);
    });
}

cudaError_t cudasim_properties_of_cuda_11(void* properties, int device) {
    PropertiesOfCuda12 whole;
    const auto result = cudaGetDeviceProperties_v2(properties == nullptr ? nullptr : &whole, device);
    if (result == cudaSuccess) std::memcpy(properties, &whole, bytes_of_properties_of_cuda_11);
    return result;
}
__asm__(".symver cudasim_properties_of_cuda_11, cudaGetDeviceProperties@libcudart.so.12");

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    constexpr auto name = "cudaDeviceGetAttribute";
    return call(name, [&] {
        require_argument(name, value, "what the value is written to");
        const auto context = Process::get().device(device, name);
        const int number = static_cast<int>(attribute);
        if (number < 1 || number > last_attribute)
            fail(name, cudaErrorInvalidValue, "there is no attribute " + std::to_string(number));
        *value = attribute_of(*context, number);
    });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* properties) {
    constexpr auto name = "cudaChooseDevice";
    return call(name, [&] {
        require_argument(name, device, "what the number is written to");
        require_argument(name, properties, "the properties");
        const int count = Process::get().device_count();
        int best = 0, most = 0;
        for (int i = 0; i < count; ++i) {
            cudaDeviceProp has;
            fill(*Process::get().device(i, name), has);
            const int points = merit(*properties, has);
            if (i == 0 || points > most) best = i, most = points;
        }
        *device = best;
    });
}
}

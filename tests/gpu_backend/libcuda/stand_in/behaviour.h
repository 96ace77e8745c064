// What the stand-in's functions do: a static member for each function of functions.def that it has, under its
// name. Functions that it does not have answer CUDA_ERROR_NOT_SUPPORTED.
#pragma once

#include "gpu_backend/libcuda/types.h"

namespace cudasim::stand_in {

using libcuda::Attribute;
using libcuda::DeviceOrdinal;
using libcuda::Result;

struct Behaviour {
    static Result cuInit(unsigned flags);
    static Result cuDriverGetVersion(int* version);
    static Result cuGetErrorName(Result result, const char** name);
    static Result cuGetErrorString(Result result, const char** text);
    static Result cuDeviceGetCount(int* count);
    static Result cuDeviceGet(DeviceOrdinal* device, int ordinal);
    static Result cuDeviceGetName(char* name, int bytes, DeviceOrdinal device);
    static Result cuDeviceGetAttribute(int* value, Attribute attribute, DeviceOrdinal device);
    static Result cuDeviceTotalMem(std::size_t* bytes, DeviceOrdinal device);
};

}  // namespace cudasim::stand_in

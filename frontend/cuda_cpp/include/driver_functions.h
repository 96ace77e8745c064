// make_cudaPitchedPtr() and its kin are declared in cuda_runtime.h.
#ifndef __DRIVER_FUNCTIONS_H__
#define __DRIVER_FUNCTIONS_H__

#include "driver_types.h"

#ifndef __cplusplus
static __inline__ struct cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width,
                                                            size_t height) {
    struct cudaPitchedPtr pitched;
    pitched.ptr = pointer, pitched.pitch = pitch, pitched.xsize = width, pitched.ysize = height;
    return pitched;
}
static __inline__ struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    struct cudaPos position;
    position.x = x, position.y = y, position.z = z;
    return position;
}
static __inline__ struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    struct cudaExtent extent;
    extent.width = width, extent.height = height, extent.depth = depth;
    return extent;
}
#endif

#endif

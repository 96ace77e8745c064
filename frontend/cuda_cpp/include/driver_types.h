// Types of the runtime API (CUDA Runtime API, "Data types used by CUDA Runtime").
#ifndef __DRIVER_TYPES_H__
#define __DRIVER_TYPES_H__

// clang-format off
#include <limits.h>
#include <stddef.h>
#include "host_defines.h"
#include "vector_types.h"
#ifndef CUDART_CB
#define CUDART_CB
#endif
#include "cudasim/runtime_errors.h"
#include "cudasim/runtime_device_types.h"
#include "cudasim/runtime_memory_types.h"
#include "cudasim/runtime_launch_types.h"
#include "cudasim/runtime_graph_types.h"
#include "surface_types.h"
#include "texture_types.h"
// clang-format on

#endif

// What the stand-in's functions do: a static member for each function of functions.def, under its name and
// without the version. Pages of the "CUDA Driver API" reference have a file each.
#pragma once

#include "gpu_backend/libcuda/types.h"

namespace cudasim::stand_in {

using namespace libcuda;  // NOLINT: the types of functions.def, under their names there

struct Behaviour {
#define FUNCTION(name, version, need, parameters) static Result name parameters;
#include "gpu_backend/libcuda/functions.def"
#undef FUNCTION
};

}  // namespace cudasim::stand_in

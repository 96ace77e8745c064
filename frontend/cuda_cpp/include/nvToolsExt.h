// NVTX where CUDA 12 has it.
#include "nvtx3/nvToolsExt.h"

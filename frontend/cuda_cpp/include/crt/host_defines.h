#ifndef __CUDASIM_CRT_HOST_DEFINES_H__
#define __CUDASIM_CRT_HOST_DEFINES_H__
#include "../host_defines.h"
#endif

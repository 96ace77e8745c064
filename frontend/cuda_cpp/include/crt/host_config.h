#ifndef __CUDASIM_CRT_HOST_CONFIG_H__
#define __CUDASIM_CRT_HOST_CONFIG_H__
#include "../host_config.h"
#endif

// What the toolkit says of host compilers: nothing is needed of it here.
#ifndef __HOST_CONFIG_H__
#define __HOST_CONFIG_H__
#endif

// The integer types of C99, by the name that headers of a CUDA toolkit include.
#ifndef __cuda_stdint_h__
#define __cuda_stdint_h__

#include <stdint.h>

#endif

// Part of mma.h.
#include "../mma.h"

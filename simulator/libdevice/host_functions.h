// Everything that functions.def names.
#pragma once

#include <cmath>

#include "simulator/libdevice/bits.h"
#include "simulator/libdevice/rounding.h"
#include "simulator/libdevice/special_functions.h"

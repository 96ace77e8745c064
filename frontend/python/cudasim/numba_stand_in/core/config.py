"""numba.core.config: the values that scripts read or set."""

import os as _os

from cudasim import options as _options

ENABLE_CUDASIM = int(_options.get("report_as_simulator"))
DISABLE_JIT = int(_os.environ.get("NUMBA_DISABLE_JIT", "0") or 0)
NUMBA_DEFAULT_NUM_THREADS = _os.cpu_count() or 1
NUMBA_NUM_THREADS = int(_os.environ.get("NUMBA_NUM_THREADS", "0") or 0) or NUMBA_DEFAULT_NUM_THREADS
THREADING_LAYER = "default"
CUDA_LOW_OCCUPANCY_WARNINGS = 1
CUDA_WARN_ON_IMPLICIT_COPY = 1
DEBUG = 0

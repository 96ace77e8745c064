"""numba.cuda.api_util's name that belongs to arrays."""

from cudasim.memory.array_functions import prepare_shape_strides_dtype  # noqa: F401

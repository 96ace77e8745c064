"""numba.cuda.api_util's name that belongs to arrays."""

from cudasim.cuda.array_functions import prepare_shape_strides_dtype  # noqa: F401

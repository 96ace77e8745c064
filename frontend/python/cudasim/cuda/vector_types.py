"""numba.cuda.vector_types: the vector types by name, `vector_types["float32x4"]`."""

from cudasim.compile.intrinsics import TOP_LEVEL, VECTOR_TYPES

vector_types = {name: TOP_LEVEL[name] for name in VECTOR_TYPES}

"""numba.cuda.np.numpy_support."""
# ruff: noqa: F401

from cudasim.type_system.numpy_support import (
    array_type,
    as_dtype,
    carray,
    farray,
    from_dtype,
    from_struct_dtype,
    is_array,
    is_contiguous,
    is_fortran,
    map_arrayscalar_type,
    map_layout,
    numpy_version,
)

"""numba.cuda.compiler."""
# ruff: noqa: F401

from cudasim.launch.device_code import (
    compile,
    compile_all,
    compile_for_current_device,
    compile_ptx,
    compile_ptx_for_current_device,
)

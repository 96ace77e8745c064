"""numba.cuda.launchconfig."""
# ruff: noqa: F401

from cudasim.launch.current_launch import (
    capture_compile_config,
    compiling_for,
    current_launch_config,
    ensure_current_launch_config,
    note_compilation,
)

"""numba.cuda.api: the host side of numba.cuda, under the name of the module where Numba has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import cuda as _cuda

if TYPE_CHECKING:
    from typing import Any

_NAMES = """
    as_cuda_array close current_context default_stream defer_cleanup detect device_array device_array_like event
    event_elapsed_time external_stream from_cuda_array_interface get_current_device gpus is_bfloat16_supported
    is_cuda_array is_float16_supported is_fp8_supported legacy_default_stream list_devices managed_array mapped
    mapped_array mapped_array_like open_ipc_array per_thread_default_stream pinned pinned_array pinned_array_like
    prepare_shape_strides_dtype profile_start profile_stop profiling require_context reset select_device stream
    synchronize to_device
""".split()


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(_cuda, name)
    raise AttributeError(f"module 'numba.cuda.api' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [name for name in _NAMES if hasattr(_cuda, name)]

"""The names of numba.cuda that are made when they are asked for: its modules, its types, what little-used modules hold.

`from numba import cuda` stays quick; `cuda.compiler`, `cuda.driver`, `cuda.compile_ptx` work as if they had been imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from cudasim import types
from cudasim._numba_config import config
from cudasim.cuda import absent_modules

if TYPE_CHECKING:
    from typing import Any

#: Name in numba.cuda → module, or "module:attribute".
LAZY = {
    **{
        name: f"cudasim.cuda.{name}"
        for name in (
            "api",
            "api_util",
            "args",
            "cache_hints",
            "compiler",
            "core",
            "device_init",
            "decorators",
            "deviceufunc",
            "dispatcher",
            "errors",
            "extending",
            "initialize",
            "intrinsics",
            "kernels",
            "launchconfig",
            "misc",
            "random",
            "simulator_init",
            "stubs",
            "testing",
            "types",
            "typing",
            "vector_types",
            "vectorizers",
        )
    },
    **{name: f"cudasim.cuda.cudadrv.{name}" for name in ("devicearray", "devices", "driver", "nvvm")},
    "reduction": "cudasim.cuda.kernels.reduction",
    "runtime": "cudasim.cuda.cudadrv.runtime:runtime",
    **{
        name: f"cudasim.cuda.cudadrv.linkable_code:{name}"
        for name in ("Archive", "CUSource", "Cubin", "Fatbin", "LTOIR", "LinkableCode", "Object", "PTXSource")
    },
    **{name: f"cudasim.ufuncs.vectorizers:{name}" for name in ("guvectorize", "vectorize")},
    "prepare_shape_strides_dtype": "cudasim.memory.array_functions:prepare_shape_strides_dtype",
    **{
        name: f"cudasim.launch.device_code:{name}"
        for name in (
            "compile",
            "compile_all",
            "compile_for_current_device",
            "compile_ptx",
            "compile_ptx_for_current_device",
        )
    },
    "KernelRuntimeError": "cudasim.cuda.errors:KernelRuntimeError",
    "literal_unroll": "cudasim.cuda.misc.special:literal_unroll",
    **{
        name: f"cudasim.cuda.types:{name}" for name in ("Dim3", "GridGroup", "dim3", "grid_group", "optional")
    },
}


#: Modules that are there where numba is installed: its registers, and those that numba-cuda has copied.
_WITH_NUMBA = {
    **{
        name: f"cudasim.cuda.{name}"
        for name in (
            "cudadecl",
            "cudaimpl",
            "cudamath",
            "descriptor",
            "libdevicedecl",
            "libdeviceimpl",
            "mathimpl",
            "models",
            "nvvmutils",
            "printimpl",
            "target",
        )
    },
    **{name: f"numba.{name}" for name in ("cloudpickle", "cpython")},
    **{
        name: f"numba.core.{name}"
        for name in ("cgutils", "datamodel", "debuginfo", "itanium_mangler", "serialize", "typeconv", "utils")
    },
}


def find(name: str) -> Any:
    """The value of a name that cudasim.cuda does not hold itself, or None."""
    if name == "config":
        return config()
    if name in types.ALIASES:
        # numba.cuda exports the types as well (cuda.float32): Numba's own, once numba has been imported.
        return types.public(types.ALIASES[name])
    if name in _WITH_NUMBA:
        try:
            return importlib.import_module(_WITH_NUMBA[name])
        except ImportError:
            return None
    where = LAZY.get(name)
    if where is None:
        return absent_modules.named(f"numba.cuda.{name}")
    module, _, attribute = where.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found

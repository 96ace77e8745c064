"""What a kernel may name: `cuda.grid`, `cuda.threadIdx`, `cuda.shared.array`, …

On the host these are objects that only carry the name by which the kernel compiler knows them
(`__cudasim_intrinsic__`); using one outside a kernel raises an error that says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.errors import KernelOnlyError

if TYPE_CHECKING:
    from typing import Any, NoReturn


class Intrinsic:
    """A function, value or group of functions that exists only inside kernels."""

    aliases: list[str]  # of a vector's type only: its other names

    def __init__(self, name: str, description: str = "") -> None:
        self.__cudasim_intrinsic__ = name
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = description

    def __repr__(self) -> str:
        return f"<{self.__cudasim_intrinsic__}, for use in kernels>"

    # On a simulated thread Python mode answers instead: cudasim.python_mode replaces these two.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.host_call(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return self.host_attribute(name)

    def host_call(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuses: kernels only."""
        raise NotImplementedError(
            f"{self.__cudasim_intrinsic__}() works in a kernel only: call it from a "
            "function decorated with @cuda.jit"
        )

    def host_attribute(self, name: str) -> NoReturn:
        """Refuses, with the reason."""
        # Only reached for attributes that do not exist: threadIdx.x on the host, cuda.atomic.nand anywhere.
        intrinsic = self.__dict__.get("__cudasim_intrinsic__", "this")
        if name.startswith("__"):
            raise AttributeError(f"{intrinsic} has no attribute {name!r}")
        if intrinsic in _VALUES:
            raise KernelOnlyError(
                f"{intrinsic}.{name} has a value in a kernel only: use it in a function "
                "decorated with @cuda.jit"
            )
        raise AttributeError(f"{intrinsic} has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.__cudasim_intrinsic__,)


# cuda.<name> → what it is
_FUNCTIONS = {
    "grid": "The thread's position in the grid: an int for grid(1), a tuple for grid(2) and grid(3).",
    "gridsize": "The number of threads of the grid, per dimension.",
    "literal_unroll": "In `for x in literal_unroll(t)`: one copy of the loop's body for each element of a tuple.",
    "syncthreads": "Waits for all threads of the block.",
    "syncthreads_count": "Waits for all threads of the block; how many passed a true predicate.",
    "syncthreads_and": "Waits for all threads of the block; whether all passed a true predicate.",
    "syncthreads_or": "Waits for all threads of the block; whether any passed a true predicate.",
    "syncwarp": "Waits for the lanes of a mask of the warp.",
    "all_sync": "Whether the predicate holds in all lanes of a mask.",
    "any_sync": "Whether the predicate holds in any lane of a mask.",
    "eq_sync": "Whether the predicate is the same in all lanes of a mask.",
    "ballot_sync": "The lanes of a mask in which the predicate holds, as a mask.",
    "shfl_sync": "The value of another lane, by its number.",
    "shfl_up_sync": "The value of the lane that is so many below.",
    "shfl_down_sync": "The value of the lane that is so many above.",
    "shfl_xor_sync": "The value of the lane whose number differs in these bits.",
    "match_any_sync": "The lanes of a mask that have the same value, as a mask.",
    "match_all_sync": "The mask, and whether all its lanes have the same value.",
    "activemask": "The lanes of the warp that are at this call, as a mask.",
    "lanemask_lt": "The lanes of the warp below this one, as a mask.",
    "threadfence": "Orders memory accesses as other threads of the device see them.",
    "threadfence_block": "Orders memory accesses as other threads of the block see them.",
    "threadfence_system": "Orders memory accesses as host and all devices see them.",
    "popc": "The number of bits that are set.",
    "brev": "The bits in reverse order.",
    "clz": "The number of leading zero bits.",
    "ffs": "The position of the lowest set bit, from 1; 0 for none.",
    "selp": "b if a else c, without a branch.",
    "fma": "a * b + c with one rounding.",
    "cbrt": "The cube root.",
    "ldca": "array[i], cached at all levels (ld.global.ca).",
    "ldcg": "array[i], cached at the global level (ld.global.cg).",
    "ldcs": "array[i], which is not read again soon (ld.global.cs).",
    "ldlu": "array[i], for the last time (ld.global.lu).",
    "ldcv": "array[i], fetched again (ld.global.cv).",
    "stcg": "array[i] = value, cached at the global level (st.global.cg).",
    "stcs": "array[i] = value, which is not read again soon (st.global.cs).",
    "stwb": "array[i] = value, written back at all levels (st.global.wb).",
    "stwt": "array[i] = value, written through (st.global.wt).",
    "nanosleep": "Suspends the thread for about so many nanoseconds.",
}
_VALUES = {
    "cuda.threadIdx": "The thread's index in its block: x, y, z.",
    "cuda.blockIdx": "The block's index in the grid: x, y, z.",
    "cuda.blockDim": "The number of threads of the block: x, y, z.",
    "cuda.gridDim": "The number of blocks of the grid: x, y, z.",
    "cuda.laneid": "The thread's lane in its warp.",
    "cuda.warpsize": "The number of lanes of a warp.",
}
_GROUPS = {
    "cuda.shared": ("Memory of the block.", ("array",)),
    "cuda.local": ("Memory of the thread.", ("array",)),
    "cuda.const": ("Constant memory.", ("array_like",)),
    "cuda.atomic": (
        "Read-modify-write operations that no other thread can divide.",
        (
            "add",
            "sub",
            "and_",
            "or_",
            "xor",
            "inc",
            "dec",
            "exch",
            "max",
            "min",
            "nanmax",
            "nanmin",
            "cas",
            "compare_and_swap",
        ),
    ),
}


_IN_MODULES = {
    "cuda.cg.this_grid": "The group of all threads of a cooperative launch; its sync() waits for all of them."
}
_BASES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
#: CUDA's vector types: "float32x4" → ("float32", 4)
VECTOR_TYPES = {f"{base}x{count}": (base, count) for base in _BASES for count in (1, 2, 3, 4)}
_C_NAMES = {"char": "int8", "short": "int16", "int": "int32", "long": "int64", "longlong": "int64", "uchar": "uint8",
            "ushort": "uint16", "uint": "uint32", "ulong": "uint64", "ulonglong": "uint64", "float": "float32",
            "double": "float64"}  # fmt: skip
#: CUDA C++'s names of them: "float4" → "float32x4"
VECTOR_ALIASES = {
    f"{c_name}{count}": f"{base}x{count}" for c_name, base in _C_NAMES.items() for count in (1, 2, 3, 4)
}


def _make():
    made = {name: Intrinsic(name, description) for name, description in _IN_MODULES.items()}
    for name, description in _FUNCTIONS.items():
        made["cuda." + name] = Intrinsic("cuda." + name, description)
    for name, description in _VALUES.items():
        made[name] = Intrinsic(name, description)
    for name, (description, members) in _GROUPS.items():
        group = made[name] = Intrinsic(name, description)
        for member in members:
            full = f"{name}.{member}"
            made[full] = Intrinsic(full)
            setattr(group, member, made[full])
    for name, (base, count) in VECTOR_TYPES.items():
        vector = made["cuda." + name] = Intrinsic("cuda." + name, f"A vector of {count} {base}: x, y, z, w.")
        vector.aliases = [alias for alias, meant in VECTOR_ALIASES.items() if meant == name]
    for name, parameters, results in _native.libdevice_functions():
        full = f"cuda.libdevice.{name}"
        made[full] = Intrinsic(
            full, f"({', '.join(parameters)}) -> {', '.join(results)}: CUDA's __nv_{name}."
        )
    for name in _native.half_functions():
        made[f"cuda.{name}"] = Intrinsic(
            f"cuda.{name}", "CUDA's intrinsic of this name for floats of 16 bits."
        )
    return made


ALL = _make()


def _by_name(name):
    return ALL[name]


def members_of(group: str) -> dict[str, Intrinsic]:
    """Name → intrinsic, of those that a module of numba.cuda holds ("cuda.libdevice")."""
    return {name[len(group) + 1 :]: made for name, made in ALL.items() if name.startswith(group + ".")}


#: What cudasim.cuda exports: the names without a group in front.
TOP_LEVEL = {name.partition(".")[2]: intrinsic for name, intrinsic in ALL.items() if name.count(".") == 1}
TOP_LEVEL |= {alias: ALL["cuda." + name] for alias, name in VECTOR_ALIASES.items()}

"""What a kernel may name: `cuda.grid`, `cuda.threadIdx`, `cuda.shared.array`, …

On the host these are objects that only carry the name by which the kernel compiler knows them
(`__cudasim_intrinsic__`); using one outside a kernel raises an error that says so.
"""


class _InKernelsOnly(NotImplementedError, AttributeError):
    """A value that exists only in kernels was asked for; an AttributeError, so that hasattr() can ask."""


class Intrinsic:
    """A function, value or group of functions that exists only inside kernels."""

    def __init__(self, name, description=""):
        self.__cudasim_intrinsic__ = name
        self.__name__ = self.__qualname__ = name.rpartition(".")[2]
        self.__doc__ = description

    def __repr__(self):
        return f"<{self.__cudasim_intrinsic__}, for use in kernels>"

    # On a simulated thread Python mode answers instead: cudasim.python_mode replaces these two.
    def __call__(self, *args, **kwargs):
        return self.host_call(*args, **kwargs)

    def __getattr__(self, name):
        return self.host_attribute(name)

    def host_call(self, *args, **kwargs):
        """Refuses: kernels only."""
        raise NotImplementedError(
            f"{self.__cudasim_intrinsic__}() works in a kernel only: call it from a "
            "function decorated with @cuda.jit"
        )

    def host_attribute(self, name):
        """Refuses, with the reason."""
        # Only reached for attributes that do not exist: threadIdx.x on the host, cuda.atomic.nand anywhere.
        intrinsic = self.__dict__.get("__cudasim_intrinsic__", "this")
        if name.startswith("__"):
            raise AttributeError(f"{intrinsic} has no attribute {name!r}")
        if intrinsic in _VALUES:
            raise _InKernelsOnly(
                f"{intrinsic}.{name} has a value in a kernel only: use it in a function "
                "decorated with @cuda.jit"
            )
        raise AttributeError(f"{intrinsic} has no attribute {name!r}")

    def __reduce__(self):
        return _by_name, (self.__cudasim_intrinsic__,)


# cuda.<name> → what it is
_FUNCTIONS = {
    "grid": "The thread's position in the grid: an int for grid(1), a tuple for grid(2) and grid(3).",
    "gridsize": "The number of threads of the grid, per dimension.",
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


def _make():
    made = {}
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
    return made


ALL = _make()


def _by_name(name):
    return ALL[name]


#: What cudasim.cuda exports: the names without a group in front.
TOP_LEVEL = {name.partition(".")[2]: intrinsic for name, intrinsic in ALL.items() if name.count(".") == 1}

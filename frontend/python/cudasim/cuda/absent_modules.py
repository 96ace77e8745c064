"""Modules of numba.cuda that have no meaning here. They can be imported, as programs do that use them on a GPU only; whoever takes a name
of theirs learns why there is none."""

from __future__ import annotations

import functools
import types

from cudasim.cuda import numbas_target

_COMPILER = "it is a part of Numba's compiler, and kernels are compiled by cudasim's own here"
#: Module of numba.cuda, with those inside it → why it has no names.
_WHY = {
    "_compat": "it tells which version of NVIDIA's cuda.core is installed, which cudasim does not use",
    "_internal": "it holds what Numba's compiler makes of CUDA's headers; numba.cuda.fp16 and numba.cuda.bf16 have their functions",
    "cext": "it is the compiled part of Numba's dispatcher, and cudasim has its own",
    "codegen": _COMPILER,
    "core.removerefctpass": _COMPILER,
    "cuda_paths": "it looks for a CUDA toolkit, and cudasim needs none: `cudasim info` tells which one it has found",
    "cudadrv.mappings": "it maps numbers of NVIDIA's bindings of the driver, which is cudasim's own here",
    "flags": "it holds options of Numba's compiler, and kernels are compiled by cudasim's own here",
    "fp8": "kernels cannot have floats of 8 bits yet",
    "locks": "it guards the loading of CUDA modules by Numba, and cudasim loads kernels itself",
    "lowering": _COMPILER,
    "memory_management": "it holds Numba's run-time memory for lists and new arrays, which kernels do not have here",
    "simulator": "it is Numba's simulator, in whose place cudasim is",
    "typing.npdatetime": "it holds Numba's own rules for dates and durations, and cudasim has its own; register rules with numba.cuda.cudadecl",
    "ufuncs": "it is Numba's table of ufuncs, and cudasim has its own: overload() adds ufuncs for a type",
}


@functools.cache
def named(name: str) -> types.ModuleType | None:
    """The module that stands for one of these, or for a module inside one; None for any other name.

    :param name: "numba.cuda.flags"
    """
    inside = name.removeprefix("numba.cuda.")
    why = next((_WHY[each] for each in _WHY if inside == each or inside.startswith(each + ".")), None)
    if why is None:
        return None
    made = types.ModuleType(name, f"No names: {why}.")
    vars(made).update(__path__=[], __cudasim_absent__=why)
    vars(made)["__getattr__"] = numbas_target.refusing(name, why)
    return made

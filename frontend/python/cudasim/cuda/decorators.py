"""`cuda.jit`, with numba.cuda's arguments."""

import inspect

from cudasim import types
from cudasim.cuda.dispatcher import CUDADispatcher

# Accepted because they change nothing that a simulator shows: name → why.
_WITHOUT_EFFECT = {
    "inline": "the compiler decides",
    "lineinfo": "line information is always there",
    "max_registers": "there are no registers to run out of",
    "cache": "compiling takes milliseconds",
    "forceinline": "the compiler decides",
    "launch_bounds": "there are no registers to run out of",
    "func_or_sig": "",
    "nopython": "kernels are always compiled",
    "shared_memory_carveout": "the simulator has no cache to divide",
    "fastmath": "",
    "debug": "",
    "opt": "",
    "device": "",
}
_REFUSED = {
    "boundscheck": "every access is always checked; leave the argument out (numba.cuda refuses it too)",
    "link": "device code of other languages cannot be linked in yet",
    "extensions": "argument extensions are not there yet; convert the arguments before the launch",
    "argtypes": 'numba.cuda has removed it; give a signature, @cuda.jit("void(float32[:])")',
    "restype": 'numba.cuda has removed it; give a signature, @cuda.jit("int32(int32)", device=True)',
    "bind": "numba.cuda has removed it",
}


def jit(
    func_or_sig=None,
    device=False,
    inline="never",
    link=(),
    debug=None,
    opt=None,
    lineinfo=False,
    cache=False,
    **kws,
):
    """Makes a function a kernel (or, with device=True, a function for kernels to call).

    Use it as `@cuda.jit`, `@cuda.jit(debug=True, …)` or with signatures, `@cuda.jit("void(float32[:])")`,
    which compile at once and accept only arguments that convert to the declared types.

    :param debug: float division by zero raises ZeroDivisionError (everything else always raises)
    :param opt: False compiles without optimisation
    :param fastmath: allow the GPU's approximate maths
    """
    if link:
        kws["link"] = link
    _check_options(kws)
    target_options = {
        "debug": bool(debug),
        "opt": True if opt is None else bool(opt),
        "fastmath": bool(kws.get("fastmath", False)),
        "lineinfo": lineinfo,
        "inline": inline,
    }

    def make(function, signatures=()):
        if isinstance(function, CUDADispatcher):
            function = function.py_func
        if not inspect.isfunction(function):
            raise TypeError(f"@cuda.jit decorates functions, got {function!r}")
        return CUDADispatcher(function, target_options, signatures, device)

    if func_or_sig is None:
        return make
    if not types.is_signature(func_or_sig):
        if isinstance(func_or_sig, types.Type):
            func_or_sig = (func_or_sig,)
        elif not callable(func_or_sig):
            raise TypeError(f"{func_or_sig!r} is neither a function nor a signature")
        else:
            return make(func_or_sig)
    given = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
    signatures = [types.parse_signature(signature) for signature in given]
    if not device:
        _check_void(signatures)
    return lambda function: make(function, signatures)


def _check_void(signatures):
    for argument_types, returns in signatures:
        if returns not in (None, "none"):
            raise TypeError(
                f"a kernel returns nothing: write void({', '.join(argument_types)}), not {returns}(…)"
            )


def _check_options(given):
    for name, value in given.items():
        if name in _REFUSED and value not in (None, False, (), []):
            raise NotImplementedError(f"@cuda.jit({name}=…): {_REFUSED[name]}")
        if name not in _REFUSED and name not in _WITHOUT_EFFECT:
            raise TypeError(f"@cuda.jit() has no argument {name!r}")


def declare_device(name, sig):
    """Device functions from other languages cannot be called yet."""
    raise NotImplementedError("declare_device(): device code of other languages cannot be linked in yet")

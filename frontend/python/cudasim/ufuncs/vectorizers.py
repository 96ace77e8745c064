"""`@vectorize` and `@guvectorize` for the CUDA target: kernels made around a function of the user's.

numba.vectorize(…, target="cuda") of a real numba finds the two builders here by their names (numba.cuda.vectorizers).
What they build is in elementwise_ufunc.py and generalized_ufunc.py. The kernel is a few lines of source text that call
the function as a device function, one thread per element; errors and debuggers name the function's own lines.
"""

from __future__ import annotations

import linecache
import sys
import warnings
import zlib
from typing import TYPE_CHECKING

from cudasim import errors, types
from cudasim.compile.compiler import compile_kernel
from cudasim.launch.cuda_module import cuda_module
from cudasim.launch.decorators import jit
from cudasim.launch.function_state import function_from, state_of
from cudasim.reports.tracebacks import OWN_CODE
from cudasim.ufuncs.elementwise_ufunc import CUDAUFuncDispatcher
from cudasim.ufuncs.generalized_ufunc import CUDAGeneralizedUFunc
from cudasim.ufuncs.ufunc_engine import GUFuncEngine

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_IDENTITIES = (0, 1, None, "reorderable")


def _check_identity(identity):
    if identity not in _IDENTITIES:
        raise ValueError(f"Invalid identity value {identity!r}; it is one of {_IDENTITIES}")


def _stager(source, core):
    """The kernel that a text defines around a device function, as a plain function that has its name."""
    function = core.py_func
    # The name stands in angle brackets, so that debuggers take it as it is and find its lines.
    file = f"{OWN_CODE}<ufunc {function.__name__} {zlib.crc32(source.encode()):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = {
        name: function.__globals__[name] for name in ("__name__", "__file__") if name in function.__globals__
    }
    namespace = {**module, "__core__": core, "__cuda__": cuda_module(), "__min__": min}
    exec(compile(source, file, "exec"), namespace)
    stager = namespace.pop("__stager__")
    stager.__wrapped__ = function
    stager.__name__ = stager.__qualname__ = function.__name__
    stager.__module__ = function.__module__
    return stager


def _checked_number(kind: Any, function: Any) -> types.Scalar:
    """A type of a signature, which has to be one element's."""
    if not isinstance(kind, types.Scalar):
        raise TypeError(
            f"@vectorize: {function.__name__}() is called with the elements of arrays, so its signature has numbers: "
            f"write float32, not {kind}"
        )
    return kind


class Recipe:
    """What a ufunc is made of, to be pickled. :param layout: of a generalised one"""

    def __init__(
        self, py_func: Callable[..., Any], signatures: list[tuple[Any, ...]], layout: str | None = None
    ) -> None:
        self.py_func, self.signatures, self.layout = py_func, signatures, layout

    def reduced(self, ufunc: Any) -> Any:
        """What pickle makes the ufunc of again: its name where its module has it, as with functions."""
        module = sys.modules.get(self.py_func.__module__)
        if getattr(module, self.py_func.__qualname__, None) is ufunc:
            return self.py_func.__qualname__
        return _made_again, (state_of(self.py_func), self.signatures, self.layout)


def _made_again(state, signatures, layout):
    function = function_from(state)
    builder = CUDAVectorize(function) if layout is None else CUDAGUFuncVectorize(function, layout)
    for arguments, returns in signatures:
        builder.add(types.Signature(returns, arguments))
    return builder.build_ufunc()


class CUDAVectorize:
    """Builds the ufunc of one function, signature by signature."""

    def __init__(
        self,
        func: Callable[..., Any],
        identity: Any = None,
        cache: bool = False,
        targetoptions: dict[str, bool] | None = None,
    ) -> None:
        if cache:
            raise TypeError("caching is not supported")
        for option in targetoptions or {}:
            if option != "nopython":
                raise KeyError(
                    f"Unrecognized options. cuda vectorize target does not support option: '{option}'"
                )
            warnings.warn("nopython kwarg for cuda target is redundant", RuntimeWarning, stacklevel=3)
        _check_identity(identity)
        self.py_func = self.pyfunc = func
        self.identity = identity
        self.signatures: list[Any] = []  # (types of arguments, of the result)
        #: dtypes of the arguments → (dtype of the result, kernel)
        self.kernelmap: dict[Any, Any] = {}

    def add(self, sig: Any = None) -> None:
        """Compiles for a signature such as "float32(float32, float32)"."""
        given, returns = types.parse_signature(sig)
        arguments = tuple(_checked_number(kind, self.py_func) for kind in given)
        core = jit(types.Signature(returns, arguments), device=True)(self.py_func)
        if returns is None:
            returns = self._inferred_result(core, arguments)
        result = _checked_number(returns, self.py_func)
        self.signatures.append((arguments, returns))
        kernel = self._kernel(core, len(arguments))
        kernel._kernel_for(tuple(types.Array(kind, 1, "C") for kind in (*arguments, result)))
        self.kernelmap[tuple(kind.dtype for kind in arguments)] = result.dtype, kernel

    def _kernel(self, core, count):
        names = [f"a{number}" for number in range(count)]
        source = (
            f"def __stager__({', '.join((*names, 'out'))}):\n"
            "    i = __cuda__.grid(1)\n"
            "    if i < out.shape[0]:\n"
            f"        out[i] = __core__({', '.join(name + '[i]' for name in names)})\n"
        )
        return jit(_stager(source, core))

    def _inferred_result(self, core, arguments):
        names = ", ".join(f"a{number}" for number in range(len(arguments)))
        source = f"def __stager__({names}):\n    __core__({names})\n"
        probe = _stager(source, core)
        return compile_kernel(probe, arguments).result_types[core.py_func, arguments]

    def disable_compile(self) -> None:
        """Called after the last signature; there is nothing to do."""

    def build_ufunc(self) -> CUDAUFuncDispatcher:
        """The ufunc."""
        return CUDAUFuncDispatcher(self.kernelmap, self.py_func, Recipe(self.py_func, self.signatures))


class CUDAGUFuncVectorize:
    """Builds the generalised ufunc of one function, signature by signature."""

    def __init__(
        self,
        func: Callable[..., Any],
        signature: str,
        identity: int | None = None,
        cache: bool = False,
        targetoptions: dict[str, bool] | None = None,
        writable_args: tuple[int, ...] = (),
    ) -> None:
        if cache:
            raise TypeError("caching is not supported")
        if writable_args:
            raise TypeError("writable_args are not supported")
        options = dict(targetoptions or {})
        if not options.pop("nopython", True):
            raise TypeError("nopython flag must be True")
        if options:
            raise TypeError(
                f"The following target options are not supported: {', '.join(map(repr, options))}"
            )
        _check_identity(identity)
        self.py_func = self.pyfunc = func
        self.identity, self.signature = identity, signature
        self.signatures: list[Any] = []
        self._engine = GUFuncEngine.from_signature(signature)
        #: dtypes of the inputs → (dtypes of the outputs, kernel)
        self.kernelmap: dict[Any, Any] = {}

    def add(self, sig: Any = None) -> None:
        """Compiles for a signature such as "void(float32[:], float32[:])": types of the core arrays, outputs last."""
        arguments, returns = types.parse_signature(sig)
        if returns not in (None, types.none):
            raise TypeError(
                f"guvectorized functions cannot return values: signature {sig} specifies {returns} return type"
            )
        dimensions = [len(symbols) for symbols in (*self._engine.sin, *self._engine.sout)]
        if len(arguments) != len(dimensions):
            raise TypeError(
                f"the signature {sig} has {len(arguments)} arguments, the layout {self.signature!r} {len(dimensions)}"
            )
        self.signatures.append((arguments, types.none))
        outer = [self._outer(*pair) for pair in zip(arguments, dimensions)]
        core = jit(types.Signature(types.none, arguments), device=True)(self.py_func)
        kernel = self._kernel(core, arguments, dimensions, outer)
        dtypes = [array.dtype.dtype for array in outer]
        inputs = self._engine.nin
        self.kernelmap[tuple(dtypes[:inputs])] = tuple(dtypes[inputs:]), kernel

    @staticmethod
    def _outer(declared, dimensions):
        """The array that holds a core argument for every call."""
        if isinstance(declared, types.Array):
            return types.Array(declared.dtype, dimensions + 1, declared.layout)
        if dimensions:
            raise ValueError(
                f"gufunc signature mismatch: ndim>0 for scalar: {declared} is declared for an argument with "
                f"{dimensions} core dimensions"
            )
        return types.Array(declared, 1, "A")

    def _kernel(self, core, declared, dimensions, outer):
        names = [f"a{number}" for number in range(len(declared))]
        items = [name + self._index(*pair) for name, *pair in zip(names, declared, dimensions)]
        extents = ", ".join(f"{name}.shape[0]" for name in names)
        source = (
            f"def __stager__({', '.join(names)}):\n"
            "    i = __cuda__.grid(1)\n"
            f"    if i < {f'__min__({extents})' if len(names) > 1 else extents}:\n"
            f"        __core__({', '.join(items)})\n"
        )
        stager = _stager(source, core)
        return jit(types.Signature(types.none, outer))(stager)

    @staticmethod
    def _index(declared, dimensions):
        if dimensions:
            return f"[i{', :' * dimensions}]"
        # A scalar of the layout that the function takes as an array of one
        # element: outputs are written there.
        return "[i : i + 1]" if isinstance(declared, types.Array) and declared.ndim == 1 else "[i]"

    def disable_compile(self) -> None:
        """Called after the last signature; there is nothing to do."""

    def build_ufunc(self) -> CUDAGeneralizedUFunc:
        """The generalised ufunc."""
        recipe = Recipe(self.py_func, self.signatures, self.signature)
        return CUDAGeneralizedUFunc(self.kernelmap, self._engine, self.py_func, recipe)


def _check_target(target):
    if target != "cuda":
        raise ValueError(f"Unsupported target: {target}; cuda.vectorize makes ufuncs of the CUDA target")


def _signature_list(given):
    """Signatures, of which one may stand by itself."""
    return given if isinstance(given, (list, tuple)) or not types.is_signature(given) else [given]


def vectorize(
    ftylist_or_function: Any = (), target: str = "cuda", identity: Any = None, cache: bool = False, **kws: Any
) -> Callable[..., Any]:
    """Makes a function of numbers a ufunc that runs on the device: `@cuda.vectorize(["float32(float32, float32)"])`.

    :param ftylist_or_function: signatures, or one as a string; as with a GPU there is none without signatures
    """
    _check_target(target)
    if callable(ftylist_or_function) and not isinstance(ftylist_or_function, types.Type):
        raise errors.NumbaTypeError(
            "@cuda.vectorize compiles for signatures that it is given: write "
            '@cuda.vectorize(["float32(float32, float32)"])'
        )

    def decorate(function):
        builder = CUDAVectorize(function, identity, cache, kws)
        for signature in _signature_list(ftylist_or_function):
            builder.add(signature)
        return builder.build_ufunc()

    return decorate


def guvectorize(
    *args: Any,
    target: str = "cuda",
    identity: int | None = None,
    cache: bool = False,
    writable_args: tuple[int, ...] = (),
    **kws: Any,
) -> Callable[..., Any]:
    """Makes a function of arrays a generalised ufunc that runs on the device:
    `@cuda.guvectorize(["void(float32[:], float32[:])"], "(n)->()")`."""
    _check_target(target)
    if len(args) not in (1, 2):
        raise TypeError("guvectorize() takes one or two positional arguments: signatures and a layout")
    signatures, layout = args if len(args) == 2 else ((), args[0])

    def decorate(function):
        options = kws if len(args) == 2 else {**kws, "is_dynamic": True}
        builder = CUDAGUFuncVectorize(function, layout, identity, cache, options, writable_args)
        for signature in _signature_list(signatures):
            builder.add(signature)
        return builder.build_ufunc()

    return decorate

"""Runs what a test launches in both modes and compares: values bit for bit, errors, warnings.

While `comparing()` is in force a launch runs in Python mode first; what it did to its arrays is noted and undone, then
it runs natively, as the test wants it. Every disagreement of the two becomes a line of `Comparison.differences`.
tests/conftest.py does this for the folders of the kernel compiler's tests; known disagreements are in
tests/mode_differences.py.
"""

import contextlib
import io
import re
import warnings

import numpy as np
from cudasim import _native, errors, options
from cudasim.launch import arguments, dispatcher
from cudasim.memory.device_contents import DeviceContents

#: Larger launches are left to native mode: CPython takes microseconds per thread.
MOST_THREADS = 20_000


class Comparison:
    """What the launches of one test gave."""

    def __init__(self):
        self.launches, self.differences = 0, []


class _Memory:
    """The arrays among a launch's arguments: what they hold, and putting it back."""

    def __init__(self, args):
        self.arrays = list(_arrays_in(args))
        self.before = self.contents()

    def contents(self):
        return [_content(array) for array in self.arrays]

    def restore(self):
        for array, before in zip(self.arrays, self.before):
            if isinstance(array, DeviceContents):
                _native.memcpy_htod_buffer(array.device.driver_context, _lowest_address(array), before)
            elif array.flags.writeable:
                array[...] = before


def _arrays_in(value):
    if isinstance(value, (tuple, list)):
        for element in value:
            yield from _arrays_in(element)
    elif isinstance(value, arguments.Intent):
        yield from _arrays_in(value.value)
    elif isinstance(value, (np.ndarray, DeviceContents)):
        if value.size:
            yield value
    elif isinstance(value, np.void) and value.base is not None:
        yield value.base
    elif arguments.is_cuda_array(value):
        yield from _arrays_in(arguments.as_cuda_array(value))


def _lowest_address(array):
    return array.parameters[0] + sum(min(0, step * (n - 1)) for n, step in zip(array.shape, array.strides))


def _content(array):
    if not isinstance(array, DeviceContents):
        return array.copy(order="K")
    held = np.empty(array.alloc_size, np.uint8)
    _native.memcpy_dtoh_buffer(array.device.driver_context, held, _lowest_address(array))
    return held


#: CPython's own warnings. A ResourceWarning comes when garbage of an earlier test
#: happens to be collected here.
NOT_FROM_LAUNCHES = (DeprecationWarning, ResourceWarning)


def _outcome(launch):
    """(exception or None, [(category, text, line)] of warnings, printed text)"""
    printed = io.StringIO()
    raised = None
    with warnings.catch_warnings(record=True) as heard, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            launch()
        except Exception as error:  # noqa: BLE001 - compared with the other mode's
            raised = error
    told = [(w.category.__name__, str(w.message), w.lineno) for w in heard
            if "Python mode" not in str(w.message) and w.category not in NOT_FROM_LAUNCHES]  # fmt: skip
    return raised, told, printed.getvalue(), heard


def _described(raised):
    """Class, message and innermost kernel line of an exception."""
    if raised is None:
        return "no error"
    line = None
    traceback = raised.__traceback__
    while traceback is not None:
        line = traceback.tb_lineno
        traceback = traceback.tb_next
    return f"{type(raised).__name__}: {raised} (line {line})"


def _bits(array):
    """One NaN is like another; what lies between the fields of records does not count."""
    if array.dtype.names is not None:
        return b"".join(_bits(array[name]) for name in array.dtype.names)
    if array.dtype.kind == "c":
        array = np.ascontiguousarray(array).view(array.real.dtype)
    if array.dtype.kind != "f":
        return array.tobytes()
    return np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array).tobytes()


def _plain_sites(text):
    return re.sub(r"0x[0-9a-f]+", "0x…", text)


def _compare(found, python, native, after_python, after_native, memory):
    if getattr(native[0], "standing", "never") != "never":
        return  # Python mode is there to run it
    ours, theirs = _described(python[0]), _described(native[0])
    if _plain_sites(ours) != _plain_sites(theirs):
        found.append(f"error: Python mode {ours!r}, native {theirs!r}")
        return
    if native[0] is not None and isinstance(native[0], errors.NumbaError):
        return
    for position, (mine, its) in enumerate(zip(after_python, after_native)):
        dtype = memory.arrays[position].dtype
        mine, its = (held.view(dtype) if held.dtype == np.uint8 and held.nbytes % dtype.itemsize == 0 and isinstance(
            memory.arrays[position], DeviceContents) else held for held in (mine, its))  # fmt: skip
        if _bits(mine) != _bits(its):
            found.append(f"array {position}: Python mode {_first_difference(mine, its)}")
    if sorted(python[1]) != sorted(native[1]):
        found.append(f"warnings: Python mode {python[1]}, native {native[1]}")
    if python[2] != native[2]:
        found.append(f"printed: Python mode {python[2]!r}, native {native[2]!r}")


def _first_difference(mine, its):
    mine, its = mine.ravel(), its.ravel()
    for index in range(mine.size):
        if _bits(mine[index : index + 1]) != _bits(its[index : index + 1]):
            return f"{mine[index]!r}, native {its[index]!r} (element {index} of {mine.dtype})"
    return "the same elements"


@contextlib.contextmanager
def comparing():
    """Launches of the calling test, in both modes. Gives a Comparison."""
    comparison = Comparison()
    launch = dispatcher.ConfiguredKernel._run
    inside = []

    def run_both(self, *args, **keywords):
        threads = np.prod(self.griddim, dtype=float) * np.prod(self.blockdim, dtype=float)
        if inside or keywords or threads > MOST_THREADS or options.get("mode") == "python":
            return launch(self, *args, **keywords)
        inside.append(True)
        try:
            return _run_both(self, args)
        finally:
            inside.pop()

    def _run_both(self, args):
        comparison.launches += 1
        memory = _Memory(args)
        with options.override(mode="python"):
            python = _outcome(lambda: launch(self, *args))
        for types, kernel in list(self.dispatcher._overloads.items()):
            if kernel.mode == "python":
                del self.dispatcher._overloads[types]
        after_python = memory.contents()
        memory.restore()
        native = None
        try:
            native = _outcome(lambda: launch(self, *args))
        finally:
            if native is not None:
                _compare(comparison.differences, python, native, after_python, memory.contents(), memory)
        print(native[2], end="")
        if native[0] is not None:
            raise native[0]
        for warning in native[3]:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)

    dispatcher.ConfiguredKernel._run = run_both
    try:
        yield comparison
    finally:
        dispatcher.ConfiguredKernel._run = launch

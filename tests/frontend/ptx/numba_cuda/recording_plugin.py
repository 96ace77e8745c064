"""A plug-in for pytest: what tests launch, as files for test_numba_cuda_oracle.py.

    NUMBA_CUDA_ORACLE=FOLDER NUMBA_CUDA_LIBDEVICE=FILE pytest -p recording_plugin tests/frontend/pykernel/...

Every kernel that runs without an error is recorded once for each combination of argument types: the function
(function_data.py), its arguments before the launch, and what the arrays hold when it has run natively with fused
multiplications and additions, as numba-cuda's compiler does, and with that libdevice.
"""

import collections
import contextlib
import hashlib
import os
import pathlib
import pickle

import numpy as np
import pytest
from function_data import ArrayData, NotDescribable, described

#: Of one test function: parametrised ones differ in little.
MOST_OF_A_TEST = 3
MOST_THREADS = 4_096
MOST_BYTES = 1 << 20

_folder = pathlib.Path(os.environ["NUMBA_CUDA_ORACLE"])
_counts = collections.Counter()
_known = set()
_left_out = collections.Counter()
_test = "none"


class _Unsuitable(Exception):
    pass


def _without_comparison():
    import both_modes

    @contextlib.contextmanager
    def comparing():
        yield both_modes.Comparison()

    both_modes.comparing = comparing


def _as_data(value):
    if type(value) in (tuple, list) and type(value) is tuple:
        return tuple(map(_as_data, value))
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufcmMV" or value.dtype.hasobject:
            raise _Unsuitable(f"array of {value.dtype}")
        if value.nbytes > MOST_BYTES:
            raise _Unsuitable("large array")
        return ArrayData(value)
    if hasattr(value, "copy_to_host") and hasattr(value, "strides"):
        host = value.copy_to_host()
        if host.strides != value.strides:
            raise _Unsuitable("strided device array")
        return _as_data(host)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    raise _Unsuitable(f"argument {type(value).__name__}")


def _arrays(values):
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays(value)
        elif isinstance(value, ArrayData):
            yield value


def _made(value):
    if isinstance(value, tuple):
        return tuple(map(_made, value))
    return value.array() if isinstance(value, ArrayData) else value


def _check_ranges(values):
    ranges = sorted(each.range for each in _arrays(values) if each.bytes)
    if any(low < before for (_, before), (low, _) in zip(ranges, ranges[1:])):
        raise _Unsuitable("arrays that share memory")


def _case(configured, args):
    from cudasim.type_system.typeof import typeof
    from cudasim.types import name_of

    dispatcher = configured.dispatcher
    if dispatcher.links or dispatcher.extensions:
        raise _Unsuitable("linked code or extensions")
    if not dispatcher._can_compile:
        raise _Unsuitable("declared signatures")
    if np.prod(configured.griddim) * np.prod(configured.blockdim) > MOST_THREADS:
        raise _Unsuitable("many threads")
    names = tuple(name_of(typeof(value)) for value in args)
    function = described(dispatcher.py_func)
    key = hashlib.sha256(pickle.dumps((function, names))).hexdigest()
    if key in _known:
        return None
    _known.add(key)
    if _counts[_test] >= MOST_OF_A_TEST:
        raise _Unsuitable("further ones of a test")
    data = tuple(map(_as_data, args))
    _check_ranges(data)
    return {"key": key, "test": _test, "function": function, "types": names, "arguments": data,
            "grid": configured.griddim, "block": configured.blockdim, "shared": configured.sharedmem,
            "fastmath": bool(dispatcher.targetoptions.get("fastmath"))}  # fmt: skip


def _results(launch, configured, case):
    """What the arrays hold afterwards."""
    from cudasim import options

    arguments = tuple(map(_made, case["arguments"]))
    with options.override(mode="native", fma=True, workers=1, libdevice=os.environ["NUMBA_CUDA_LIBDEVICE"]):
        launch(configured, *arguments)

    def memory(value):
        if isinstance(value, tuple):
            return tuple(map(memory, value))
        return ArrayData(value).memory if isinstance(value, np.ndarray) else None

    return tuple(map(memory, arguments))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    _folder.mkdir(parents=True, exist_ok=True)


def pytest_collection_finish(session):
    _without_comparison()
    from cudasim.launch import dispatcher

    launch = dispatcher.ConfiguredKernel._run
    inside = []

    def recorded(self, *args, **keywords):
        if inside or keywords:
            return launch(self, *args, **keywords)
        case = None
        try:
            case = _case(self, args)
        except (NotDescribable, _Unsuitable) as reason:
            _left_out[str(reason)] += 1
        launch(self, *args)
        if case is None:
            return None
        inside.append(True)
        try:
            case["results"] = _results(launch, self, case)
            (_folder / f"{case['key'][:24]}.case").write_bytes(pickle.dumps(case))
            _counts[_test] += 1
        except Exception as error:  # noqa: BLE001 - it is the test's business
            _left_out[f"{type(error).__name__} when repeated"] += 1
        finally:
            inside.pop()

    dispatcher.ConfiguredKernel._run = recorded


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    global _test
    _test = f"{item.path.name}::{item.originalname}"


def pytest_sessionfinish(session):
    (_folder / "left_out.txt").write_text(
        "".join(f"{count} {reason}\n" for reason, count in _left_out.most_common())
    )

"""Test cases and conditions for skipping tests, as test suites of numba.cuda programs import them: numba.cuda.testing.

The conditions ask what numba.config says (`config.ENABLE_CUDASIM`, the option report_as_simulator) and what the simulated
device can do. No test framework is needed besides Python's unittest.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import shutil
import sys
import unittest
import warnings
from typing import TYPE_CHECKING

import numpy as np

from cudasim._numba_config import config as _config
from cudasim.compile import toolkit_files
from cudasim.driver import device_selection
from cudasim.unit_testing.precise_equality import assert_precisely_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    from cudasim.memory.device_array import DeviceNDArray

#: The warning of Numba's deprecated device array API.
DeprecatedDeviceArrayApiWarning = DeprecationWarning


class TestCase(unittest.TestCase):
    """unittest's, with Numba's additions."""

    def assertPreciseEqual(  # noqa: N802 - Numba's name
        self,
        first: Any,
        second: Any,
        prec: str = "exact",
        ulps: int = 1,
        msg: Any = None,
        ignore_sign_on_zero: bool = False,
        abs_tol: float | None = None,
    ) -> None:
        """Fails unless both have the same type and the same value: 1 is not 1.0, 0.0 is not -0.0, NaN is NaN.

        :param prec: "exact", or "single" or "double" for floats that may differ in the last bits
        """
        try:
            assert_precisely_equal(first, second, prec, ulps, ignore_sign_on_zero, abs_tol)
        except AssertionError as error:
            self.fail(self._formatMessage(msg, str(error)))

    @contextlib.contextmanager
    def assertNotWarns(self, category: type) -> Iterator[None]:  # noqa: N802
        """Fails when a warning of the category comes."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        unexpected = [warning for warning in caught if issubclass(warning.category, category)]
        self.assertEqual([str(warning.message) for warning in unexpected], [])

    @staticmethod
    def random_array(shape: Any, dtype: Any = np.float64, seed: int = 0) -> Any:
        """An array of random numbers."""
        return np.random.default_rng(seed).random(shape).astype(dtype)


class CUDATestCase(TestCase):
    """Tests that launch kernels: without warnings about small grids and host arrays."""

    FLOAT16_RTOL = np.finfo(np.float16).eps
    _SWITCHES = ("CUDA_LOW_OCCUPANCY_WARNINGS", "CUDA_WARN_ON_IMPLICIT_COPY")

    def setUp(self) -> None:
        super().setUp()
        now = _config()
        self._kept = {name: getattr(now, name, 1) for name in self._SWITCHES}
        for name in self._SWITCHES:
            setattr(now, name, 0)

    def tearDown(self) -> None:
        for name, value in self._kept.items():
            setattr(_config(), name, value)
        super().tearDown()

    def assertFileCheckAsm(
        self, ir_producer: Any, signature: Any = None, check_prefixes: Any = ("ASM",), **options: Any
    ) -> None:  # noqa: N802
        """Compares the kernel's PTX with the FileCheck lines of its docstring."""
        self._check_stage(ir_producer, ir_producer.inspect_asm(signature), check_prefixes, options)

    def assertFileCheckLLVM(
        self, ir_producer: Any, signature: Any = None, check_prefixes: Any = ("LLVM",), **options: Any
    ) -> None:  # noqa: N802
        """Compares the kernel's LLVM IR with the FileCheck lines of its docstring."""
        self._check_stage(ir_producer, ir_producer.inspect_llvm(signature), check_prefixes, options)

    def _check_stage(self, dispatcher, found, prefixes, options):
        self.assertIsNotNone(dispatcher.__doc__, "the kernel has no docstring with FileCheck lines")
        for text in [found] if isinstance(found, str) else found.values():
            self.assertFileCheckMatches(text, dispatcher.__doc__, prefixes, **options)

    def assertFileCheckMatches(
        self, ir_content: Any, check_patterns: Any, check_prefixes: Any = ("CHECK",), **options: Any
    ) -> None:  # noqa: N802
        """Compares a text with FileCheck lines; the package `filecheck` does it, without it the test is skipped."""
        try:
            from filecheck.finput import FInput  # filecheck may be absent
            from filecheck.matcher import Matcher
            from filecheck.options import Options
            from filecheck.parser import Parser, pattern_for_opts
        except ImportError:
            self.skipTest("the package filecheck is not installed")
        chosen = Options(match_filename="-", check_prefixes=list(check_prefixes), **options)
        parser = Parser(chosen, io.StringIO(check_patterns), *pattern_for_opts(chosen))
        matcher = Matcher(chosen, FInput(fname="-", content=ir_content), parser)
        matcher.stderr = io.StringIO()
        if matcher.run() != 0:
            self.fail(f"FileCheck failed:\n{matcher.stderr.getvalue()}")


class ContextResettingTestCase(CUDATestCase):
    """Tests after which the device is as at the start."""

    def tearDown(self) -> None:
        super().tearDown()
        device_selection.close()


class ForeignArray:
    """An array of another library: a device array of which only `__cuda_array_interface__` is to be seen."""

    def __init__(self, arr: DeviceNDArray) -> None:
        self._arr = arr
        self.__cuda_array_interface__ = arr.__cuda_array_interface__


# -- conditions -------------------------------------------------------------------------------------------


def _reason(text):
    if not isinstance(text, str):
        raise TypeError(f'a reason is a str: @skip_on_cudasim("why"), not {text!r}')
    return text


def _is_simulator():
    return bool(getattr(_config(), "ENABLE_CUDASIM", 0))


def skip_on_cudasim(reason: Callable[..., Any]) -> Any:
    """Skips the test where numba.config.ENABLE_CUDASIM is true."""
    return unittest.skipIf(_is_simulator(), _reason(reason))


def skip_unless_cudasim(reason: Any) -> Any:
    """Skips the test where numba.config.ENABLE_CUDASIM is false."""
    return unittest.skipUnless(_is_simulator(), _reason(reason))


def xfail_unless_cudasim(fn: Any) -> Any:
    """Expects the test to fail where numba.config.ENABLE_CUDASIM is false."""
    return fn if _is_simulator() else unittest.expectedFailure(fn)


def skip_unless_conda_cudatoolkit(reason: Any) -> Any:
    """Skips the test: cudasim uses no CUDA toolkit of conda's."""
    return unittest.skipUnless(
        os.path.isdir(os.path.join(sys.prefix, "conda-meta", "cuda-toolkit")), _reason(reason)
    )


def skip_if_external_memmgr(reason: Any) -> Any:
    """Skips the test where NUMBA_CUDA_MEMORY_MANAGER names a memory manager."""
    return unittest.skipIf(getattr(_config(), "CUDA_MEMORY_MANAGER", "default") != "default", _reason(reason))


def skip_under_cuda_memcheck(reason: Any) -> Any:
    """Skips the test where CUDA_MEMCHECK is set."""
    return unittest.skipIf(os.environ.get("CUDA_MEMCHECK") is not None, _reason(reason))


def skip_without_nvdisasm(reason: Any) -> Any:
    """Skips the test where there is no nvdisasm."""
    return unittest.skipIf(shutil.which("nvdisasm") is None, _reason(reason))


def skip_with_nvdisasm(reason: Any) -> Any:
    """Skips the test where there is an nvdisasm."""
    return unittest.skipIf(shutil.which("nvdisasm") is not None, _reason(reason))


def skip_with_cuda_python(reason: Any) -> Any:
    """Skips the test where NVIDIA's Python bindings are in use: never, cudasim is its own driver."""
    return unittest.skipIf(False, _reason(reason))


def skip_if_mvc_enabled(reason: Any) -> Any:
    """Skips the test where minor version compatibility is on."""
    enabled = getattr(_config(), "CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY", 0)
    return unittest.skipIf(bool(enabled), _reason(reason))


def skip_if_mvc_libraries_unavailable(reason: Any) -> Any:
    """Skips the test: there is nothing to link for minor version compatibility."""
    return unittest.skip(_reason(reason))


def skip_if_nvjitlink_missing(reason: Any) -> Any:
    """Skips the test: there is no nvJitLink."""
    return unittest.skip(_reason(reason))


def skip_on_nvjitlink_13_1_sm_120(reason: Any) -> Any:
    """Skips nothing: there is no nvJitLink."""
    return unittest.skipIf(False, _reason(reason))


def skip_on_arm(reason: Any) -> Any:
    """Skips the test on ARM processors."""
    return unittest.skipIf(platform.machine().lower().startswith(("arm", "aarch")), _reason(reason))


def skip_on_wsl2(reason: Any) -> Any:
    """Skips the test under the Windows Subsystem for Linux."""
    release = platform.release().lower()
    return unittest.skipIf("microsoft-standard" in release or "wsl2" in release, _reason(reason))


#: Skips nothing: cudasim has what numba-cuda needs numba for.
skip_on_standalone_numba_cuda = unittest.skipUnless(True, "requires numba")


def _missing_file(find):
    try:
        return not os.path.exists(find())
    except FileNotFoundError:
        return True


def _in_include_folder(header):
    return lambda: os.path.join(toolkit_files.get_cuda_include_dir(), header)


def skip_if_cuda_includes_missing(fn: Any) -> Any:
    """Skips the test where there is no cuda.h."""
    return unittest.skipIf(_missing_file(_in_include_folder("cuda.h")), "there are no CUDA headers")(fn)


def skip_if_curand_kernel_missing(fn: Any) -> Any:
    """Skips the test where there is no curand_kernel.h."""
    return unittest.skipIf(
        _missing_file(_in_include_folder("curand_kernel.h")), "there is no curand_kernel.h"
    )(fn)


def cudadevrt_missing() -> bool:
    """False: a grid's synchronisation needs no library here."""
    return False


def skip_if_cudadevrt_missing(fn: Any) -> Any:
    """Skips nothing: see cudadevrt_missing."""
    return fn


def cc_X_or_above(major: Any, minor: Any) -> Any:  # noqa: N802 - Numba's name
    """Whether the current device has at least this compute capability; true where cudasim reports as a simulator."""
    return _is_simulator() or device_selection.get_current_device().compute_capability >= (major, minor)


def _skip_unless_capability(major, minor):
    def decorate(fn):
        return unittest.skipUnless(cc_X_or_above(major, minor), f"requires cc >= {major}.{minor}")(fn)

    return decorate


skip_unless_cc_50 = _skip_unless_capability(5, 0)
skip_unless_cc_53 = _skip_unless_capability(5, 3)
skip_unless_cc_60 = _skip_unless_capability(6, 0)
skip_unless_cc_75 = _skip_unless_capability(7, 5)
skip_unless_cc_80 = _skip_unless_capability(8, 0)
skip_unless_cc_89 = _skip_unless_capability(8, 9)
skip_unless_cc_90 = _skip_unless_capability(9, 0)


# -- what kernels print -----------------------------------------------------------------------------------


@contextlib.contextmanager
def captured_cuda_stdout() -> Iterator[Any]:
    """What kernels (and the host) print inside goes to the io.StringIO that `with … as` gives."""
    device_selection.synchronize()
    with contextlib.redirect_stdout(io.StringIO()) as captured:
        yield captured
        device_selection.synchronize()


#: Kernels print through sys.stdout here; where Numba needs the C library's output, that is enough.
redirect_c_stdout = captured_cuda_stdout


def test(*args: Any, **kwargs: Any) -> NoReturn:
    """Numba's own test suite, which cudasim has no copy of."""
    raise NotImplementedError("numba.cuda's own tests are not part of cudasim")


vars(test)["__test__"] = False  # pytest: not a test of the module that imports it

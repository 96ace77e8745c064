"""numba.cuda.testing: what test suites of numba.cuda programs import from it."""

import unittest
import warnings

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda import testing


def outcome(test_class):
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(test_class).run(result)
    return result


def test_conditions_follow_what_config_reports(run):
    code = """
        from numba import config, cuda
        from numba.cuda.testing import CUDATestCase, cc_X_or_above, skip_on_cudasim, skip_unless_cudasim, unittest
        from numba.cuda.testing import skip_unless_cc_53, skip_unless_cc_90, xfail_unless_cudasim
        import numpy as np

        @cuda.jit
        def fill(x):
            x[cuda.grid(1)] = 3

        class Programs(CUDATestCase):
            def test_kernel(self):
                x = np.zeros(4)
                fill[2, 2](x)
                self.assertPreciseEqual(list(x), [3.0] * 4)

            @skip_on_cudasim("needs a GPU")
            def test_on_gpu(self):
                pass

            @skip_unless_cudasim("needs the simulator")
            def test_on_simulator(self):
                pass

            @skip_unless_cc_53
            def test_half(self):
                pass

            @skip_unless_cc_90
            def test_hopper(self):
                pass

            @xfail_unless_cudasim
            def test_differs(self):
                self.assertTrue(config.ENABLE_CUDASIM)

        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Programs).run(result)
        skipped = sorted(test.id().rpartition(".")[2] for test, _ in result.skipped)
        print(result.testsRun, skipped, len(result.expectedFailures), len(result.failures + result.errors))
    """
    as_simulator = run.script(code, ENABLE_CUDASIM="1", CUDASIM_DEVICE="a10")
    assert as_simulator.stdout == "6 ['test_on_gpu'] 0 0\n", as_simulator.stderr
    as_gpu = run.script(code, ENABLE_CUDASIM="1", CUDASIM_REPORT_AS_SIMULATOR="0", CUDASIM_DEVICE="a10")
    assert as_gpu.stdout == "6 ['test_hopper', 'test_on_simulator'] 1 0\n", as_gpu.stderr


@pytest.mark.parametrize(
    "first, second",
    [(1, 1.0), (0.0, -0.0), (True, 1), (np.float32(1), 1.0), ([1, 2], [1, 3]), ((1,), [1]), ({"a": 1}, {"a": 2}),
     (np.zeros(2), np.zeros(3)), (np.zeros(2, "f4"), np.zeros(2)), (1 + 0j, 1 + 1j), (float("nan"), 1.0)],
)  # fmt: skip
def test_precise_equality_sees_the_difference(first, second):
    with pytest.raises(AssertionError):
        testing.TestCase().assertPreciseEqual(first, second)


@pytest.mark.parametrize(
    "first, second, options",
    [(np.int32(1), 1, {}), (float("nan"), float("nan"), {}), (0.0, -0.0, {"ignore_sign_on_zero": True}),
     (1.0, 1.0 + 2**-24, {"prec": "single"}), (1.0, 1.0 + 2**-52, {"prec": "double"}), (1.0, 1.01, {"abs_tol": 0.1}),
     ([np.ones(2), (1, 2.0)], [np.ones(2), (1, 2.0)], {}), (np.float64(2), 2.0, {})],
)  # fmt: skip
def test_precise_equality_holds(first, second, options):
    testing.TestCase().assertPreciseEqual(first, second, **options)


def test_precise_equality_of_floats_ends_at_the_precision_asked_for():
    with pytest.raises(AssertionError):
        testing.TestCase().assertPreciseEqual(1.0, 1.0 + 2**-50, prec="double")
    testing.TestCase().assertPreciseEqual(1.0, 1.0 + 2**-50, prec="double", ulps=4)


def test_what_kernels_print_can_be_captured():
    @cuda.jit
    def greet():
        print("hello from", cuda.threadIdx.x)

    with testing.captured_cuda_stdout() as captured:
        greet[1, 2]()
    assert captured.getvalue() == "hello from 0\nhello from 1\n"


def test_foreign_arrays_reach_kernels():
    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = 7

    array = cuda.to_device(np.zeros(4))
    foreign = testing.ForeignArray(array)
    assert not cuda.cudadrv.devicearray.is_cuda_ndarray(foreign) and cuda.is_cuda_array(foreign)
    fill[1, 4](foreign)
    assert (array.copy_to_host() == 7).all()


def test_a_reason_is_a_text():
    with pytest.raises(TypeError, match="reason"):
        testing.skip_on_cudasim(lambda: None)


def test_unexpected_warnings_fail():
    class Programs(testing.CUDATestCase):
        def test_warns(self):
            with self.assertNotWarns(DeprecationWarning):
                warnings.warn("old", DeprecationWarning, stacklevel=1)

    assert len(outcome(Programs).failures) == 1

"""Absurd values in calls of the API: errors in CUDA's or Numba's words, none of the binding's own."""

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.cuda.cudadrv import driver
from cudasim.errors import CudaAPIError, TypingError


class Foreign:
    def __init__(self, **interface):
        self.__cuda_array_interface__ = {"version": 3, "typestr": "<f8", **interface}


@pytest.fixture
def device():
    return cuda.device_array(10)


@cuda.jit
def copy(source, target):
    i = cuda.grid(1)
    target[i] = source[i]


@pytest.mark.parametrize(
    "shape, strides",
    [((4,), (2**61,)), ((16,), (2**61,)), ((16,), (-(2**61),)), ((2**60,), None), ((4,), (1000,))],
)
def test_arrays_of_others_that_span_no_memory_are_refused_where_they_are_used(device, shape, strides):
    address = device.__cuda_array_interface__["data"][0]
    array = cuda.as_cuda_array(Foreign(shape=shape, strides=strides, data=(address, False)))
    if strides is None or strides[0] > 0:
        with pytest.raises(
            CudaAPIError,
            match=r"cuMemcpyDtoH .*CUDA_ERROR_INVALID_VALUE: the array .* is not in device memory",
        ):
            array.copy_to_host()
    with pytest.raises(CudaAPIError, match="is not in device memory that is allocated"):
        copy[1, 4](array, np.zeros(4))


@pytest.mark.parametrize("size, code", [(-1, 1), (2**63, 1), (2**64, 1), (2**200, 1), (81, 1)])
def test_sizes_that_no_memory_has_are_the_drivers_error(device, size, code):
    host = np.zeros(200)
    for call, run in {
        "cuMemsetD8": lambda: driver.device_memset(device, 0, size),
        "cuMemcpyHtoD": lambda: driver.host_to_device(device, host, size),
        "cuMemcpyDtoH": lambda: driver.device_to_host(host, device, size),
        "cuMemcpyDtoD": lambda: driver.device_to_device(device, device, size),
    }.items():
        with pytest.raises(
            CudaAPIError, match=f"Call to {call} results in CUDA_ERROR_INVALID_VALUE"
        ) as caught:
            run()
        assert caught.value.code == code
        if size == -1:
            assert "-1 bytes: a size is 0 or more" in str(caught.value)


def test_null_pointers_to_host_memory_are_the_drivers_error(device):
    address = driver.device_pointer(device)
    for call, arguments in {"cuMemcpyHtoD": (address, 0, 8), "cuMemcpyDtoH": (0, address, 8)}.items():
        with pytest.raises(
            CudaAPIError, match=f"Call to {call} results in CUDA_ERROR_INVALID_VALUE: .* null pointer"
        ):
            getattr(driver.driver, call)(*arguments)


@pytest.mark.parametrize("size", [1.5, "8", None])
def test_sizes_are_integers(device, size):
    with pytest.raises(TypeError, match="cuMemsetD8: a size is a number of bytes, an integer; got"):
        driver.device_memset(device, 0, size)


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("operation, name", [(lambda x: cuda.atomic.add(x, 0, 1j), "add"), (lambda x: cuda.atomic.max(x, 0, x[1]), "max"),
                                             (lambda x: cuda.atomic.exch(x, 0, 1), "exch")])  # fmt: skip
def test_atomic_operations_have_no_complex_numbers(mode, operation, name):
    kernel = cuda.jit(operation)
    with options.override(mode=mode), pytest.raises(TypingError) as caught:
        kernel[1, 1](np.zeros(3, np.complex128))
    assert f"atomic.{name}" in str(caught.value) and "No implementation of function" in str(caught.value)
    assert f"{name}(array(complex128, 1d, C), " in str(caught.value)


def test_atomic_operations_on_parts_of_an_array_still_say_what_is_wrong():
    @cuda.jit
    def kernel(x):
        cuda.atomic.add(x, 0, 1)

    with pytest.raises(TypingError, match="the index must name one element of"):
        kernel[1, 1](np.zeros((3, 3)))


@pytest.mark.parametrize("tasks", [1.5, 2.0, "a", None, np.float64(3)])
def test_forall_takes_a_whole_number(tasks):
    with pytest.raises(
        TypeError, match="ntasks is the number of threads that forall.. is to start, an integer; got"
    ):
        copy.forall(tasks)
    with pytest.raises(TypeError, match="tpb is the number of threads per block, an integer; got"):
        copy.forall(3, tpb=tasks)


DEFERRED = """
    import atexit, sys
    import numpy as np
    from numba import cuda

    @cuda.jit
    def overruns(x):
        x[cuda.grid(1)] = 1

    atexit.register(lambda: print("others are called"))
    x = cuda.to_device(np.zeros(3))
    overruns[1, 4](x)
    {then}
    """


@pytest.mark.parametrize(
    "then, status", [("", 1), ("sys.exit(0)", 1), ("sys.exit(3)", 3), ("raise KeyError('x')", 1)]
)
@pytest.mark.parametrize("mode", ["native", "python"])
def test_a_program_ends_with_a_status_when_a_deferred_launch_failed(run, then, status, mode):
    done = run.script(DEFERRED.format(then=then), ENABLE_CUDASIM="1", CUDASIM_DEFERRED="1", CUDASIM_MODE=mode)
    assert done.returncode == status and done.stdout == "others are called\n", done.stderr
    assert (
        "IndexError: tid=[3, 0, 0] ctaid=[0, 0, 0]: index 3 is out of bounds for axis 0 with size 3"
        in done.stderr
    )
    assert (
        "script.py:12" in done.stderr
        and "Exception ignored" not in done.stderr
        and "atexit" not in done.stderr
    )
    assert "stream_work" not in done.stderr


@pytest.mark.parametrize(
    "then", ["cuda.synchronize()", "try: cuda.synchronize()\n    except IndexError: pass"]
)
def test_the_status_is_the_programs_where_it_was_told(run, then):
    done = run.script(DEFERRED.format(then=then), ENABLE_CUDASIM="1", CUDASIM_DEFERRED="1")
    assert done.returncode == (0 if "except" in then else 1) and done.stderr.count("IndexError: tid") == (
        done.returncode == 1
    )


def test_a_program_without_faults_ends_with_0(run):
    code = DEFERRED.replace("overruns[1, 4]", "overruns[1, 3]").format(then="")
    assert run.script(code, ENABLE_CUDASIM="1", CUDASIM_DEFERRED="1").returncode == 0

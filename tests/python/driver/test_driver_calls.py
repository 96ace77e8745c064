"""The driver's calls for contexts, modules and streams, beside numba.cuda's own objects."""

import ctypes
import gc

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.cuda.cudadrv import driver as module
from cudasim.cuda.cudadrv import enums
from cudasim.cuda.cudadrv.driver import driver
from ptx_texts import COUNTED_ADD


@pytest.fixture
def no_context():
    """A host thread's stack of contexts, empty at the start."""
    while driver.pop_active_context() is not None:
        pass


def test_a_context_of_the_driver_is_numbas(no_context):
    handle = driver.cuDevicePrimaryCtxRetain(0)
    cuda.gpus[0].get_primary_context()  # numba.cuda retains it, too
    driver.cuDevicePrimaryCtxRelease(0)
    assert driver.cuCtxGetCurrent().value is None
    with pytest.raises(module.CudaAPIError, match="CUDA_ERROR_INVALID_CONTEXT"):
        driver.cuCtxGetDevice()
    driver.cuCtxPushCurrent(handle)
    assert driver.cuCtxGetCurrent() == handle == cuda.current_context().handle
    assert driver.cuCtxGetDevice() == 0 and cuda.device_array(3).size == 3
    assert driver.cuCtxPopCurrent() == handle and cuda.gpus.current is None
    with pytest.raises(module.CudaAPIError, match="CUDA_ERROR_INVALID_CONTEXT"):
        driver.cuCtxPopCurrent()
    driver.cuCtxSetCurrent(handle)
    driver.cuCtxSetCurrent(handle)
    assert driver.cuCtxPopCurrent() == handle and cuda.gpus.current is None


def test_a_context_lives_while_somebody_retains_it(no_context):
    """CUDA Driver API, "Primary Context Management": the last release destroys it."""
    cuda.close()
    array = cuda.to_device(np.arange(3))  # numba.cuda retains it, too
    context = cuda.current_context()
    handle = driver.cuDevicePrimaryCtxRetain(0)
    assert handle == context.handle
    cuda.gpus[0].release_primary_context()
    cuda.gpus[0].release_primary_context()  # numba.cuda has released it already
    assert array.copy_to_host().tolist() == [0, 1, 2] and cuda.current_context() is context
    driver.cuDevicePrimaryCtxRelease(0)
    with pytest.raises(module.CudaAPIError):
        array.copy_to_host()
    with pytest.raises(module.CudaAPIError, match="CUDA_ERROR_INVALID_CONTEXT") as caught:
        driver.cuDevicePrimaryCtxRelease(0)
    assert caught.value.code == 201
    with pytest.raises(module.CudaAPIError, match="there is no context"):
        driver.cuCtxSetCurrent(handle)
    assert cuda.current_context().handle != handle
    cuda.close()


def test_modules():
    handle = driver.cuModuleLoadData(COUNTED_ADD.encode())
    address, size = driver.cuModuleGetGlobal(handle, b"counter")
    stored, bytes_ = ctypes.c_size_t(), ctypes.c_size_t()
    driver.cuModuleGetGlobal(ctypes.byref(stored), ctypes.byref(bytes_), handle, b"counter")
    assert (stored.value, bytes_.value) == (int(address), size) and size == 4
    values = cuda.to_device(np.zeros(2, np.float32))
    function = driver.cuModuleGetFunction(handle, b"add")
    module.launch_kernel(function, 1, 1, 1, 2, 1, 1, 0, 0, [values, ctypes.c_float(2), np.zeros(2)])
    assert values.copy_to_host().tolist() == [2, 2]
    driver.cuModuleUnload(handle)
    with pytest.raises(module.CudaAPIError, match="CUDA_ERROR_INVALID_HANDLE"):
        driver.cuModuleGetGlobal(handle, b"counter")


def test_streams_of_the_driver():
    handle = driver.cuStreamCreate(0)
    values = cuda.to_device(np.arange(3), stream=cuda.external_stream(int(handle)))
    driver.cuStreamSynchronize(handle)
    driver.cuStreamDestroy(handle)
    assert values.copy_to_host().tolist() == [0, 1, 2]


def test_a_stream_is_queried_and_destroyed_once():
    handle = driver.cuStreamCreate(0)
    driver.cuStreamQuery(handle)
    with options.override(deferred=True):
        values = cuda.to_device(np.arange(3))
        driver.cuMemsetD8Async(values.device_ctypes_pointer, 255, 8, handle)
        driver.cuStreamQuery(handle)  # runs what can be run
        assert values.copy_to_host().tolist() == [-1, 1, 2]
        driver.cuMemsetD8Async(values.device_ctypes_pointer, 0, 8, handle)
        driver.cuStreamDestroy(handle)
    assert values.copy_to_host().tolist() == [0, 1, 2]
    with pytest.raises(module.CudaAPIError, match="there is no stream"):
        driver.cuStreamDestroy(handle)


def test_functions_live_as_long_as_their_module():
    loaded = driver.cuModuleLoadData(COUNTED_ADD.encode())
    number = int(driver.cuModuleGetFunction(loaded, b"add"))
    gc.collect()
    values = cuda.to_device(np.zeros(2, np.float32))
    arguments = [values, ctypes.c_float(2), np.zeros(2)]
    module.launch_kernel(number, 1, 1, 1, 2, 1, 1, 0, 0, arguments)
    assert values.copy_to_host().tolist() == [2, 2]
    driver.cuModuleUnload(loaded)
    with pytest.raises(module.CudaAPIError, match="there is no function") as caught:
        module.launch_kernel(number, 1, 1, 1, 2, 1, 1, 0, 0, arguments)
    assert caught.value.code == 400


def test_cooperative_launches_have_to_fit():
    """CUDA Driver API, cuLaunchCooperativeKernel: all blocks are on the device at once."""
    function = cuda.current_context().create_module_ptx(COUNTED_ADD).get_function("add")
    device = cuda.get_current_device()
    blocks = device.MULTIPROCESSOR_COUNT * (device.MAX_THREADS_PER_MULTIPROCESSOR // 1024)
    values = cuda.to_device(np.zeros(1024, np.float32))
    arguments = [values, ctypes.c_float(1), np.zeros(2)]
    with pytest.raises(module.CudaAPIError, match="COOPERATIVE_LAUNCH_TOO_LARGE") as caught:
        module.launch_kernel(function.handle, blocks + 1, 1, 1, 1024, 1, 1, 0, 0, arguments, cooperative=True)
    assert caught.value.code == 720
    module.launch_kernel(function.handle, 1, 1, 1, 1024, 1, 1, 0, 0, arguments, cooperative=True)
    assert values.copy_to_host().sum() == 1024


def test_the_end_of_a_context_frees_memory_that_nobody_has_freed(no_context):
    cuda.close()
    before = cuda.current_context().get_memory_info().free
    pointer = driver.cuMemAlloc(1 << 20)
    assert cuda.current_context().get_memory_info().free < before
    cuda.close()
    assert cuda.current_context().get_memory_info().free == before
    with pytest.raises(module.CudaAPIError, match="CUDA_ERROR_INVALID_VALUE"):
        driver.cuMemFree(pointer)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: driver.cuDeviceGet(9), 101),
        (lambda: driver.cuCtxPushCurrent(1234), 201),
        (lambda: driver.cuDeviceGet(1 << 70), 101),
        (lambda: driver.cuDeviceTotalMem(-1), 101),
        (lambda: driver.cuDeviceGetAttribute(0, 0), 1),
        (lambda: driver.cuModuleUnload(1234), 400),
        (lambda: module.launch_kernel(1234, 1, 1, 1, 1, 1, 1, 0, 0, []), 400),
        (lambda: driver.cuStreamDestroy(1234), 400),
        (lambda: cuda.current_context().can_access_peer(9), 101),
    ],
)
def test_unknown_handles(call, code):
    with pytest.raises(module.CudaAPIError) as caught:
        call()
    assert caught.value.code == code


def test_versions_and_counts():
    assert driver.cuDriverGetVersion() == 12060 and driver.cuDeviceGetCount() == len(cuda.gpus)
    device = cuda.get_current_device()
    assert driver.cuDeviceTotalMem(0) == cuda.current_context().get_memory_info().total
    for name in ("WARP_SIZE", "MULTIPROCESSOR_COUNT", "COMPUTE_CAPABILITY_MAJOR"):
        number = getattr(enums, f"CU_DEVICE_ATTRIBUTE_{name}")
        assert driver.cuDeviceGetAttribute(number, 0) == getattr(device, name)
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    assert version.value == 12060

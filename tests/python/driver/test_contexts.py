"""Contexts, device attributes, the driver's modules: Numba's documentation ("CUDA Device Management", "CUDA Host API") and
NVIDIA's CUDA Driver API ("Device Management", "Context Management", "Peer Context Memory Access").
"""

import importlib
import threading

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda.cudadrv import devices, driver, drvapi, enums, error, runtime
from cudasim.device.device_attributes import numbers
from cudasim.errors import CudaAPIError


@pytest.fixture(autouse=True)
def closed():
    cuda.close()
    yield
    cuda.close()


def test_no_device_is_current_before_the_first_use():
    assert cuda.gpus.current is None
    cuda.to_device(np.zeros(1))
    assert cuda.gpus.current == cuda.gpus[0] and str(cuda.gpus) == "<Managed Device 0>"
    cuda.close()
    assert cuda.gpus.current is None


def test_a_stack_of_contexts():
    with cuda.gpus[0]:
        assert cuda.gpus.current.id == 0
        with cuda.gpus[0]:
            assert cuda.gpus.current.id == 0
        assert cuda.gpus.current.id == 0
    assert cuda.gpus.current is None
    context = cuda.current_context()
    assert context is cuda.current_context() is devices.get_context() is cuda.gpus[0].get_primary_context()
    assert context == cuda.current_context(0) and isinstance(context.handle, int)
    assert repr(context) == f"<CUDA context {context.handle} of device 0>" and context.device == cuda.gpus[0]
    context.pop()
    context.pop()
    assert cuda.gpus.current is None


def test_threads_share_the_context_and_have_their_own_stacks():
    seen = []
    main = cuda.current_context()

    def work():
        seen.append(cuda.gpus.current)
        seen.append(cuda.current_context() is main)
        cuda.close()  # of a thread that is not the main one: only its stack
        seen.append(cuda.gpus.current)

    d = cuda.to_device(np.arange(3))
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None, True, None] and d.copy_to_host().tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrong", [1.5, 0.0, np.float32(0), "one", None, []])
def test_a_device_is_chosen_by_a_whole_number(wrong):
    with pytest.raises((TypeError, ValueError)):
        cuda.select_device(wrong) if wrong is not None else cuda.gpus[wrong]
    assert cuda.gpus.current is None


def test_select_device_gives_the_device():
    for number in (0, np.int32(0), "0"):
        assert cuda.select_device(number) is cuda.gpus[0]


def test_require_context_gives_a_context_and_keeps_it():
    @cuda.require_context
    def inside(a, b=2):
        """What it does."""
        return a + b, cuda.gpus.current.id

    assert inside(1) == (3, 0) and inside.__doc__ == "What it does." and inside.__name__ == "inside"


def test_memory_is_destroyed_with_the_context():
    d = cuda.to_device(np.arange(1 << 16))
    context = cuda.current_context()
    before = context.get_memory_info()
    context.reset()
    assert context.get_memory_info().free - before.free == d.nbytes
    with pytest.raises(CudaAPIError) as caught:
        d.copy_to_host()
    assert caught.value.code == 1
    fresh = cuda.to_device(np.arange(1 << 16))
    del d  # frees nothing of others
    assert fresh.copy_to_host()[5] == 5
    for destroy in (
        cuda.close,
        cuda.gpus[0].reset,
        cuda.gpus[0].release_primary_context,
        driver.driver.reset,
    ):
        array = cuda.to_device(np.zeros(10))
        old = cuda.current_context()
        destroy()
        with pytest.raises(CudaAPIError):
            array.copy_to_host()
        assert cuda.gpus[0].get_primary_context() is not old


def test_kernels_work_after_the_context_was_closed():
    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = 3

    for _ in range(3):
        x = np.zeros(4)
        fill[1, 4](x)
        assert x.tolist() == [3] * 4
        cuda.close()


def test_every_attribute_of_the_driver_has_a_value():
    device = cuda.get_current_device()
    for name, number in numbers().items():
        assert isinstance(getattr(device, name), int), name
        assert getattr(enums, f"CU_DEVICE_ATTRIBUTE_{name}") == number
    # CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", for 9.0
    assert (device.MAX_BLOCK_DIM_X, device.MAX_BLOCK_DIM_Y, device.MAX_BLOCK_DIM_Z) == (1024, 1024, 64)
    assert (device.MAX_GRID_DIM_X, device.MAX_GRID_DIM_Y, device.MAX_GRID_DIM_Z) == (2**31 - 1, 65535, 65535)
    assert device.TOTAL_CONSTANT_MEMORY == 65536 and device.MAX_REGISTERS_PER_BLOCK == 65536
    assert device.COOPERATIVE_LAUNCH == 1 and device.MANAGED_MEMORY == 1 and device.CAN_MAP_HOST_MEMORY == 1
    assert (device.COMPUTE_CAPABILITY_MAJOR, device.COMPUTE_CAPABILITY_MINOR) == device.compute_capability


def test_a_device_is_found_by_its_identity():
    device = cuda.get_current_device()
    identity = device.get_device_identity()
    assert set(identity) == {"pci_domain_id", "pci_bus_id", "pci_device_id"}
    assert driver.Device.from_identity(identity) is device
    with pytest.raises(RuntimeError, match="No device of"):
        driver.Device.from_identity({**identity, "pci_bus_id": 77})


def test_the_driver_and_runtime_tell_their_versions():
    version = driver.get_version()
    assert version == driver.driver.get_version() == cuda.runtime.get_version() == runtime.get_version()
    assert len(version) == 2 and version[0] >= 12 and cuda.runtime.is_supported_version()
    assert driver.driver.cuDriverGetVersion() == 1000 * version[0] + 10 * version[1]
    assert driver.driver.get_device_count() == driver.driver.cuDeviceGetCount() == 1
    assert driver.driver.is_available and driver.driver.initialization_error is None
    assert cuda.cuda_error() is None and cuda.is_available()
    with pytest.raises(driver.CudaDriverError, match="Driver missing function: cuGraphCreate"):
        driver.driver.cuGraphCreate()


def test_the_active_context_of_the_driver():
    with driver.driver.get_active_context() as active:
        assert not active and active.devnum is None
    assert driver.driver.pop_active_context() is None
    context = cuda.current_context()
    with driver.driver.get_active_context() as active:
        assert active and active.devnum == 0 and active.context_handle == context.handle
    assert driver.driver.pop_active_context() == context.handle and cuda.gpus.current is None


def test_the_modules_of_cudadrv():
    for name in ("driver", "devices", "error", "enums", "drvapi", "runtime", "devicearray"):
        assert importlib.import_module(f"cudasim.cuda.cudadrv.{name}") is getattr(cuda.cudadrv, name)
    assert enums.CUDA_ERROR_INVALID_VALUE == 1 and enums.CUDA_ERROR_NOT_READY == 600
    assert driver.ERROR_MAP[700] == "CUDA_ERROR_ILLEGAL_ADDRESS"
    assert drvapi.CU_STREAM_PER_THREAD == 2 and issubclass(error.CudaSupportError, ImportError)
    assert devices.gpus is cuda.gpus and devices.require_context is cuda.require_context
    assert issubclass(driver.CudaAPIError, error.CudaDriverError)


def test_peers_are_asked_for_by_number_and_enabled_by_context():
    context = cuda.current_context()
    assert context.can_access_peer(0) is False
    with pytest.raises(CudaAPIError, match="INVALID_DEVICE") as caught:
        context.can_access_peer(1)
    assert caught.value.code == 101
    with pytest.raises(TypeError, match="context"):
        context.enable_peer_access(0)
    with pytest.raises(ValueError, match="flags"):
        context.enable_peer_access(context, 1)


VISIBLE = """
    from cudasim import cuda
    print(cuda.is_available(), end=" ")
    print([(d.id, d.name.split(" (")[0].split()[-1], d.PCI_BUS_ID) for d in cuda.gpus])
"""


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("0,1", [(0, "HBM3", 1), (1, "A10", 2)]),
        ("2, 0", [(0, "Ti", 3), (1, "HBM3", 1)]),
        ("1,7,0", [(0, "A10", 2)]),
        ("1,1", [(0, "A10", 2)]),
    ],
)
def test_visible_devices(run, value, seen):
    done = run.script(VISIBLE, CUDASIM_DEVICE="h100,a10,rtx2080ti", CUDA_VISIBLE_DEVICES=value)
    assert done.stdout == f"True {seen}\n", done.stderr


def test_visible_devices_by_uuid(run):
    every = "h100,a10,h100"
    ask = "from cudasim import cuda; print(*(d.uuid for d in cuda.gpus))"
    uuids = run.script(ask, CUDASIM_DEVICE=every).stdout.split()
    assert len(set(uuids)) == 3
    done = run.script(ask, CUDASIM_DEVICE=every, CUDA_VISIBLE_DEVICES=f"{uuids[2]},{uuids[1][:20]}")
    assert done.stdout.split() == [uuids[2], uuids[1]]


@pytest.mark.parametrize("value", ["", "-1", "5", "none"])
def test_no_visible_device(run, value):
    done = run.script(
        """
        import numpy as np
        from cudasim import cuda
        print(cuda.is_available(), "NO_DEVICE" in cuda.cuda_error())
        for use in (lambda: cuda.to_device(np.zeros(1)), lambda: cuda.gpus[0], cuda.detect, cuda.current_context):
            try:
                use()
            except cuda.CudaSupportError as error:
                print("CUDA_VISIBLE_DEVICES" in str(error))
        """,
        CUDA_VISIBLE_DEVICES=value,
    )
    assert done.stdout.split() == ["False", "True"] + ["True"] * 4, done.stderr


def test_streams_and_events_belong_to_devices(run):
    done = run.script(
        """
        import numpy as np
        from cudasim import cuda
        from cudasim.errors import CudaAPIError

        @cuda.jit
        def add(x):
            x[cuda.grid(1)] += 1

        def code(call):
            try:
                call()
            except (CudaAPIError, RuntimeError) as error:
                return getattr(error, "code", type(error).__name__)

        stream, event, d = cuda.stream(), cuda.event(), cuda.to_device(np.zeros(2))
        event.record(stream)
        with cuda.gpus[1]:
            other, e = cuda.stream(), cuda.to_device(np.zeros(2))
            end = cuda.event()
            print(code(lambda: add[1, 2, stream](e)), code(lambda: event.record(other)), code(lambda: end.record(stream)))
            end.record(other)
            print(code(lambda: event.elapsed_time(end)), code(lambda: event.wait(other)), code(event.synchronize))
            add[1, 2, other](e)
            e.copy_to_device(d, stream=other)
            print(e.copy_to_host(stream=other).tolist(), d.device.id, e.device.id)

        @cuda.require_context
        def switches():
            with cuda.gpus[1]:
                pass

        print(code(switches), code(lambda: cuda.require_context(cuda.current_context)(0)))
        print(cuda.current_context(1).device.id, cuda.gpus.current.id, cuda.gpus)
        """,
        CUDASIM_DEVICE="h100,a10",
    )
    assert done.stdout.splitlines() == [
        "400 400 400",
        "400 None None",
        "[0.0, 0.0] 0 1",
        "RuntimeError None",
        "1 1 <Managed Device 0>, <Managed Device 1>",
    ], done.stderr

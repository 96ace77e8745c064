"""Memory managers: what is freed when, plug-ins, the driver's own calls
(Numba documentation, "Memory Management" and "External Memory Management (EMM) Plugin interface")."""

import contextlib
import ctypes
import gc
import weakref

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda.core import config
from cudasim.cuda.cudadrv import devicearray, driver
from cudasim.errors import CudaAPIError


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.fixture
def waiting():
    """The queue of what is to be freed, empty."""
    gc.collect()
    queue = cuda.current_context().memory_manager.deallocations
    queue.clear()
    assert len(queue) == 0
    return queue


@pytest.fixture
def settings(monkeypatch):
    """Assigns to Numba's configuration for the length of a test."""
    return lambda name, value: monkeypatch.setattr(cuda.config, name, value)


def test_memory_is_freed_when_enough_waits(waiting, settings):
    settings("CUDA_DEALLOCS_COUNT", 4)
    free = cuda.current_context().get_memory_info().free
    for count in range(1, 5):
        cuda.to_device(np.zeros(100))
        assert len(waiting) == count
    assert cuda.current_context().get_memory_info().free == free - 4 * 800
    cuda.to_device(np.zeros(100))
    assert len(waiting) == 0 and cuda.current_context().get_memory_info().free == free


def test_memory_is_freed_when_enough_bytes_wait(waiting, settings):
    total = cuda.current_context().get_memory_info().total
    settings("CUDA_DEALLOCS_RATIO", 100_000 / total)
    cuda.to_device(np.zeros(60_000, np.uint8))
    assert len(waiting) == 1
    cuda.to_device(np.zeros(40_000 - 1000, np.uint8))
    assert len(waiting) == 2
    cuda.to_device(np.zeros(2000, np.uint8))
    assert len(waiting) == 0


def test_the_defaults_are_numbas(waiting):
    assert cuda.config.CUDA_DEALLOCS_COUNT == 10 and cuda.config.CUDA_DEALLOCS_RATIO == 0.2
    assert waiting.memory_capacity == cuda.current_context().get_memory_info().total
    for _ in range(10):
        cuda.device_array(1)
    assert len(waiting) == 10
    cuda.device_array(1)
    assert len(waiting) == 0


def test_nothing_is_freed_while_that_is_deferred(waiting):
    free = cuda.current_context().get_memory_info().free
    with cuda.defer_cleanup():
        with cuda.defer_cleanup():
            for _ in range(30):
                cuda.to_device(np.zeros(100))
            waiting.clear()
            assert len(waiting) == 30
        cuda.to_device(np.zeros(100))
        assert len(waiting) == 31 and waiting.is_disabled
    assert len(waiting) == 31 and not waiting.is_disabled
    waiting.clear()
    assert len(waiting) == 0 and cuda.current_context().get_memory_info().free == free


def test_deferring_ends_with_an_exception(waiting):
    with pytest.raises(KeyError), cuda.defer_cleanup():
        raise KeyError
    cuda.to_device(np.zeros(100))
    waiting.clear()
    assert len(waiting) == 0


def test_views_and_empty_arrays_free_nothing(waiting):
    array = cuda.to_device(np.zeros(10))
    for view in (array[2:], array.reshape(5, 2), array.view(np.int32), array.gpu_data.view(8)):
        del view
    cuda.device_array(0)
    assert len(waiting) == 0
    del array
    assert len(waiting) == 1


def test_what_waits_is_freed_when_memory_runs_out(run):
    script = run.write("""
        from numba import cuda
        import numpy as np

        waiting = cuda.current_context().memory_manager.deallocations
        array = cuda.device_array(24 << 20, np.uint8)
        del array
        print(len(waiting))
        array = cuda.device_array(24 << 20, np.uint8)
        print(len(waiting))
        try:
            cuda.device_array(24 << 20, np.uint8)
        except cuda.driver.CudaAPIError as error:
            print(error.code)
    """)
    done = run(
        script,
        ENABLE_CUDASIM="1",
        CUDASIM_DEVICE_MEMORY=str(40 << 20),
        NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO="1",
    )
    assert done.stdout.split() == ["1", "0", "2"], done.stderr


def test_out_of_memory_says_what_the_driver_says():
    for allocate in (
        lambda: cuda.device_array(1 << 45),
        lambda: cuda.device_array((1 << 40, 1 << 40)),
        lambda: cuda.current_context().memalloc(1 << 60),
        lambda: driver.driver.cuMemAlloc(1 << 60),
    ):
        with pytest.raises(CudaAPIError) as caught:
            allocate()
        assert caught.value.code == 2
        assert str(caught.value).startswith("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")


def test_memory_of_the_context_by_hand(waiting):
    context = cuda.current_context()
    memory = context.memalloc(64)
    assert driver.is_device_memory(memory) and driver.device_memory_size(memory) == 64
    begin, end = driver.device_extents(memory.view(8, 24))
    assert (begin, end) == (int(memory.device_pointer), int(memory.device_pointer) + 64)
    host = np.arange(8.0)
    driver.host_to_device(memory, host, host.nbytes)
    part = np.zeros(2)
    driver.device_to_host(part, memory.view(16), 16)
    assert part.tolist() == [2, 3]
    driver.device_to_device(memory, memory.view(32), 32)
    driver.device_memset(memory.view(32), 0, 32)
    driver.device_to_host(host, memory, 64)
    assert host.tolist() == [4, 5, 6, 7, 0, 0, 0, 0]
    with pytest.raises(RuntimeError, match="negative"):
        memory.view(8, 4)
    with pytest.raises(Exception, match="Not a CUDA memory object"):
        driver.device_pointer(host)
    other = memory.view(8)
    del memory
    assert len(waiting) == 0
    del other
    assert len(waiting) == 1


def test_host_memory_is_described():
    host = np.zeros((4, 6), np.int16)
    address = host.ctypes.data
    assert driver.host_pointer(host) == address and driver.host_memory_size(host) == 48
    assert driver.host_memory_extents(host[1:, ::2]) == (address + 12, address + 12 + 36 - 2)
    assert driver.host_memory_extents(host[::-1]) == (address, address + 48)
    record = np.zeros(2, [("a", "i4"), ("b", "f8")])[1]
    assert driver.host_memory_size(record) == 12
    host.flags.writeable = False
    assert driver.host_pointer(host, readonly=True) == address
    with pytest.raises(ValueError, match="read-only"):
        driver.host_pointer(host)
    with pytest.raises(ValueError, match="read-only"):
        driver.device_to_host(host, cuda.to_device(np.zeros((4, 6), np.int16)), 48)
    assert driver.memory_size_from_info((3, 4), (32, 8), 8) == 96


# -- plug-ins ---------------------------------------------------------------------------------------------


class Pool(cuda.GetIpcHandleMixin, cuda.HostOnlyCUDAMemoryManager):
    """Shares out one large piece of memory that the driver gave, as a pool does."""

    size = 1 << 20

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.chunk, self.used, self.live, self.calls = None, 0, {}, []

    def initialize(self):
        self.calls.append("initialize")
        if self.chunk is None:
            self.chunk = driver.driver.cuMemAlloc(self.size)

    def memalloc(self, size):
        address = int(self.chunk) + self.used
        needed = (size + 255) // 256 * 256
        if self.used + needed > self.size:
            raise CudaAPIError(2, "the pool is empty")
        self.used += needed
        self.live[address] = size
        live = self.live
        return cuda.MemoryPointer(
            weakref.proxy(self.context), ctypes.c_uint64(address), size, finalizer=lambda: live.pop(address)
        )

    def get_memory_info(self):
        return cuda.MemoryInfo(free=self.size - self.used, total=self.size)

    def reset(self):
        super().reset()
        self.calls.append("reset")

    @contextlib.contextmanager
    def defer_cleanup(self):
        with super().defer_cleanup():
            self.calls.append("defer")
            yield
            self.calls.append("go on")

    @property
    def interface_version(self):
        return 1


@pytest.fixture
def plug_in():
    def use(manager):
        cuda.close()
        cuda.set_memory_manager(manager)
        return cuda.current_context().memory_manager

    yield use
    cuda.close()
    cuda.set_memory_manager(driver.NumbaCUDAMemoryManager)


def test_a_plug_in_over_a_pool(plug_in):
    pool = plug_in(Pool)
    assert isinstance(pool, Pool) and "initialize" in pool.calls and pool.context.device.id == 0
    a = cuda.to_device(np.arange(10.0))
    b = cuda.device_array_like(a)
    assert sorted(pool.live.values()) == [80, 80]
    b[:] = a
    add_one[1, 32](b)
    assert b.copy_to_host().tolist() == list(range(1, 11)) and a[9] == 9
    assert cuda.current_context().get_memory_info() == cuda.MemoryInfo(free=(1 << 20) - 512, total=1 << 20)
    part = b[3:]
    del a, b
    gc.collect()
    assert len(pool.live) == 1 and part[0] == 4
    del part
    gc.collect()
    assert not pool.live
    with cuda.defer_cleanup():
        assert pool.calls[-1] == "defer"
    assert pool.calls[-1] == "go on"
    with pytest.raises(CudaAPIError, match="the pool is empty"):
        cuda.device_array(1 << 21)
    handle = cuda.to_device(np.arange(3)).get_ipc_handle()
    assert handle._ipc_handle.offset >= 512 and handle._ipc_handle.size == 24
    mapped = cuda.mapped_array(4)  # host memory is the base class's
    mapped[:] = 1
    add_one[1, 32](mapped)
    assert mapped.tolist() == [2] * 4
    cuda.close()
    assert pool.calls[-1] == "reset"
    assert cuda.current_context().memory_manager is not pool


def test_launches_take_copies_of_host_arrays_from_the_plug_in(plug_in):
    pool = plug_in(Pool)
    host = np.zeros(10)
    add_one[1, 32](host)
    assert host.tolist() == [1] * 10 and pool.used >= 80
    gc.collect()
    assert not pool.live


class Bookkeeper(cuda.HostOnlyCUDAMemoryManager):
    """Device memory that exists on paper only."""

    def initialize(self):
        self.ready = True

    def memalloc(self, size):
        return driver.AutoFreePointer(
            weakref.proxy(self.context), ctypes.c_void_p(4096), size, finalizer=lambda: None
        )

    def get_ipc_handle(self, memory):
        return "a handle"

    def get_memory_info(self):
        raise NotImplementedError("nobody knows")

    interface_version = 1


def test_memory_on_paper_is_found_out_when_it_is_used(plug_in):
    manager = plug_in(Bookkeeper)
    assert manager.ready
    array = cuda.device_array(4)
    assert array.device_ctypes_pointer.value == 4096 and array[2:].device_ctypes_pointer.value == 4096 + 16
    with pytest.raises(NotImplementedError, match="nobody knows"):
        cuda.current_context().get_memory_info()
    assert cuda.current_context().get_ipc_handle(array.gpu_data) == "a handle"
    with pytest.raises(CudaAPIError):
        add_one[1, 4](array)
    with pytest.raises(CudaAPIError):
        array.copy_to_host()


def test_memory_of_the_c_library_is_host_memory_until_it_is_registered(plug_in):
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]

    class FromMalloc(Bookkeeper):
        registers = False

        def memalloc(self, size):
            address = libc.malloc(size)
            if self.registers:
                driver.driver.cuMemHostRegister(address, size, driver.binding.CU_MEMHOSTREGISTER_DEVICEMAP)

            def release(registered=self.registers):
                if registered:
                    driver.driver.cuMemHostUnregister(address)
                libc.free(address)

            return cuda.MemoryPointer(self.context, ctypes.c_void_p(address), size, finalizer=release)

    manager = plug_in(FromMalloc)
    array = cuda.device_array(100)
    with pytest.raises(CudaAPIError, match="not in device memory") as caught:
        add_one[1, 4](array)
    assert caught.value.code == 700
    with pytest.raises(CudaAPIError, match="the memory manager gave 800 bytes"):
        add_one[1, 4](np.zeros(100))
    manager.registers = True
    array = cuda.to_device(np.zeros(100))
    add_one[4, 32](array)
    assert array.copy_to_host().tolist() == [1] * 100
    host = np.zeros(100)
    add_one[4, 32](host)
    assert host.tolist() == [1] * 100
    with pytest.raises(CudaAPIError, match="no page-locked memory"):
        cuda.MappedMemory(cuda.current_context(), np.zeros(3).ctypes.data, 24)


def test_the_driver_in_ctypes_style(plug_in):
    class WithCtypes(driver.NumbaCUDAMemoryManager):
        def memalloc(self, size):
            pointer = driver.drvapi.cu_device_ptr() if hasattr(driver, "drvapi") else ctypes.c_size_t()
            driver.driver.cuMemAlloc(ctypes.byref(pointer), size)
            return cuda.MemoryPointer(
                self.context, pointer, size, finalizer=lambda: driver.driver.cuMemFree(pointer)
            )

        def get_memory_info(self):
            free, total = ctypes.c_size_t(), ctypes.c_size_t()
            driver.driver.cuMemGetInfo(ctypes.byref(free), ctypes.byref(total))
            return cuda.MemoryInfo(free.value, total.value)

    plug_in(WithCtypes)
    free = cuda.current_context().get_memory_info().free
    array = cuda.to_device(np.zeros(5))
    add_one[1, 32](array)
    assert array.copy_to_host().tolist() == [1] * 5
    assert cuda.current_context().get_memory_info().free == free - 40
    del array
    gc.collect()
    assert cuda.current_context().get_memory_info().free == free


def test_a_plug_in_must_fit():
    class Old(Pool):
        interface_version = 2

    with pytest.raises(RuntimeError, match="version 2 - version 1 required"):
        cuda.set_memory_manager(Old)
    with pytest.raises(TypeError, match="abstract"):
        cuda.set_memory_manager(cuda.BaseCUDAMemoryManager)
    with pytest.raises(RuntimeError, match="context"):
        Pool()


def test_the_environment_names_a_plug_in(run):
    run.write(
        """
        from cudasim.cuda.cudadrv.driver import NumbaCUDAMemoryManager

        class _numba_memory_manager(NumbaCUDAMemoryManager):
            def memalloc(self, size):
                print("memalloc", size)
                return super().memalloc(size)
        """,
        "my_manager.py",
    )
    script = run.write("from numba import cuda; cuda.device_array(5)")
    done = run(script, ENABLE_CUDASIM="1", NUMBA_CUDA_MEMORY_MANAGER="my_manager")
    assert done.stdout == "memalloc 40\n", done.stderr
    done = run(script, ENABLE_CUDASIM="1", NUMBA_CUDA_MEMORY_MANAGER="no_such_module")
    assert "Failed to use memory manager from no_such_module" in done.stderr


def test_closing_gives_memory_back(plug_in):
    array = cuda.to_device(np.zeros(1000))
    free = cuda.current_context().get_memory_info().free
    cuda.close()
    assert cuda.current_context().get_memory_info().free >= free + 8000
    with pytest.raises(CudaAPIError) as caught:
        array.copy_to_host()
    assert caught.value.code == 1
    others = [cuda.to_device(np.zeros(1000)) for _ in range(3)]
    with pytest.raises(CudaAPIError, match=r"not in device memory.*given back by cuda\.close"):
        add_one[1, 32](array)
    assert not any(other.copy_to_host().any() for other in others)
    del array
    gc.collect()
    assert cuda.to_device(np.ones(3)).copy_to_host().tolist() == [1] * 3


def test_freeing_by_hand():
    calls = driver.driver
    pointer = calls.cuMemAlloc(64)
    array = devicearray.DeviceNDArray(
        8, 8, np.float64, gpu_data=cuda.MemoryPointer(cuda.current_context(), pointer, 64)
    )
    array[:] = 1
    add_one[1, 8](array)
    assert array[7] == 2
    calls.cuMemFree(pointer)
    with pytest.raises(CudaAPIError, match="not in device memory"):
        add_one[1, 8](array)
    for wrong in (pointer, 12345, 0):
        with pytest.raises(CudaAPIError) as caught:
            calls.cuMemFree(wrong)
        assert caught.value.code == 1 and "cuMemFree" in str(caught.value)
    with pytest.raises(CudaAPIError) as caught:
        calls.cuMemAlloc(0)
    assert caught.value.code == 1
    assert config.CUDA_MEMORY_MANAGER == "default"

"""Device memory of one process used by others: handles, their pickles, errors
(Numba documentation, "Sharing CUDA Memory")."""

import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda.cudadrv import devicearray, driver
from cudasim.errors import CudaAPIError


@cuda.jit
def add(x, n):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += n


def _in_child(work, arguments, results):
    try:
        results.put(("value", work(*arguments)))
    except BaseException as error:
        results.put(("error", f"{type(error).__name__}: {error}"))


def in_another_process(method, work, *arguments):
    context = multiprocessing.get_context(method)
    results = context.Queue()
    process = context.Process(target=_in_child, args=(work, arguments, results))
    process.start()
    kind, value = results.get(timeout=120)
    process.join()
    if kind == "error":
        raise RuntimeError(value)
    return value


def add_through_handle(handle):
    with handle as array:
        before = array.copy_to_host().tolist()
        add[1, 64](array, 10)
        array[0] = -1
        cuda.synchronize()
    return before


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_kernels_of_another_process_write_the_same_memory(method):
    array = cuda.to_device(np.arange(20, dtype=np.int32))
    handle = array.get_ipc_handle()
    assert isinstance(handle, devicearray.IpcArrayHandle)
    assert in_another_process(method, add_through_handle, handle) == list(range(20))
    assert array.copy_to_host().tolist() == [-1, *range(11, 30)]
    add[1, 32](array, 1)
    assert in_another_process(method, add_through_handle, handle) == [0, *range(12, 31)]


def parts(handles):
    return [(a.shape, a.strides, a.copy_to_host().tolist()) for a in (handle.open() for handle in handles)]


def test_views_and_layouts_are_kept():
    flat = cuda.to_device(np.arange(24.0))
    square = cuda.to_device(np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)))
    arrays = [flat[5:9], flat[4:20:3], flat.reshape(4, 6)[1:, 2:4], square, flat]
    expected = [(a.shape, a.strides, a.copy_to_host().tolist()) for a in arrays]
    assert in_another_process("spawn", parts, [a.get_ipc_handle() for a in arrays]) == expected


def write_part(handle):
    array = handle.open()
    array[:] = 100
    handle.close()


def test_only_the_view_is_written():
    array = cuda.to_device(np.arange(10))
    in_another_process("spawn", write_part, array[3:6].get_ipc_handle())
    assert array.copy_to_host().tolist() == [0, 1, 2, 100, 100, 100, 6, 7, 8, 9]


def beyond(handle):
    @cuda.jit
    def store(x):
        x[5] = 1

    array = handle.open()
    wider = cuda.from_cuda_array_interface({**array.__cuda_array_interface__, "shape": (100,)}, owner=array)
    store[1, 1](wider)


def test_kernels_reach_no_more_than_the_allocation():
    array, neighbour = cuda.to_device(np.arange(4)), cuda.to_device(np.arange(40))
    with pytest.raises(RuntimeError, match="not in device memory"):
        in_another_process("spawn", beyond, array.get_ipc_handle())
    assert neighbour.copy_to_host().tolist() == list(range(40))


def raw(content, size):
    with cuda.open_ipc_array(content, shape=size, dtype=np.int32) as array:
        add[1, 64](array, 1)
        first = array.copy_to_host().tolist()
    with cuda.open_ipc_array(tuple(content), (size // 2, 2), np.dtype(np.int32), offset=0) as array:
        return first, array.copy_to_host().tolist()


def test_the_bytes_of_a_handle_are_enough():
    array = cuda.to_device(np.arange(6, dtype=np.int32))
    handle = cuda.current_context().get_ipc_handle(array.gpu_data)
    assert isinstance(handle, cuda.IpcHandle) and len(bytes(handle.handle)) == 64 and handle.size == 24
    first, pairs = in_another_process("spawn", raw, handle.handle.reserved, 6)
    assert first == [1, 2, 3, 4, 5, 6] and pairs == [[1, 2], [3, 4], [5, 6]]
    assert array[0] == 1


def low_level(handle):
    context = cuda.current_context()
    pointer = handle.open(context)
    host = np.zeros(4, np.int64)
    driver.device_to_host(host, pointer, host.nbytes)
    answers = [host.tolist()]
    for wrong in (lambda: handle.open(context), lambda: (handle.close(), handle.close())):
        try:
            wrong()
        except ValueError as error:
            answers.append(str(error))
    staged = handle.open_staged(context)  # a copy
    array = devicearray.DeviceNDArray((4,), (8,), np.int64, gpu_data=staged)
    array[0] = 50
    answers.append(array.copy_to_host().tolist())
    handle.close()
    array = handle.open_array(context, 4, np.int64)
    answers.append(array.copy_to_host().tolist())
    return answers


def test_handles_of_memory_without_an_array():
    array = cuda.to_device(np.arange(8))
    handle = cuda.current_context().get_ipc_handle(array[4:].gpu_data)
    assert handle.offset == 32 and handle.size == 32 and handle.base is not None
    copy = pickle.loads(pickle.dumps(handle))
    assert copy.base is None and copy.handle == handle.handle and copy.source_info == handle.source_info
    answers = in_another_process("spawn", low_level, copy)
    assert answers == [
        [4, 5, 6, 7],
        "IpcHandle is already opened",
        "IpcHandle not opened",
        [50, 5, 6, 7],
        [4, 5, 6, 7],
    ]


def test_the_process_that_has_the_memory_does_not_open_it():
    array = cuda.to_device(np.arange(4))
    handle = array.get_ipc_handle()
    with pytest.raises(ValueError, match="original process"):
        handle.open()
    with pytest.raises(ValueError, match="not opened"):
        handle.close()
    again = pickle.loads(pickle.dumps(handle))
    with pytest.raises(CudaAPIError) as caught:
        again.open()
    assert caught.value.code == 201


def stale(content):
    try:
        with cuda.open_ipc_array(content, 1000, np.float64):
            return "opened"
    except CudaAPIError as error:
        return error.code, str(error)


def test_memory_that_is_gone_is_not_opened():
    array = cuda.device_array(1000)
    content = bytes(array.get_ipc_handle()._ipc_handle.handle)
    del array
    cuda.current_context().memory_manager.deallocations.clear()
    code, message = in_another_process("spawn", stale, content)
    assert code == 1 and "freed" in message
    program = """
        import sys
        from cudasim import cuda
        sys.stdout.buffer.write(bytes(cuda.device_array(1000).get_ipc_handle()._ipc_handle.handle))
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, check=True
    ).stdout
    with pytest.raises(CudaAPIError, match="has ended"), cuda.open_ipc_array(ended, 1000, np.float64):
        pass
    with pytest.raises(CudaAPIError, match="no handle"), cuda.open_ipc_array(bytes(64), 10, np.float64):
        pass
    with pytest.raises(ValueError, match="64 bytes"), cuda.open_ipc_array(b"short", 10, np.float64):
        pass


def use_after_close(handle):
    with handle as array:
        pass
    add[1, 32](array, 1)


def test_memory_is_not_used_after_closing():
    array = cuda.to_device(np.arange(4))
    with pytest.raises(RuntimeError, match="KernelMemoryError.*not in device memory"):
        in_another_process("spawn", use_after_close, array.get_ipc_handle())


def test_what_cannot_be_shared_says_so():
    with pytest.raises(NotImplementedError, match="negative strides"):
        cuda.to_device(np.arange(4))[::-1].get_ipc_handle()
    for array in (cuda.mapped_array(4), cuda.managed_array(4)):
        with pytest.raises(CudaAPIError, match="cannot be shared") as caught:
            array.get_ipc_handle()
        assert caught.value.code == 1
    with pytest.raises(TypeError, match="get_ipc_handle"):
        pickle.dumps(cuda.to_device(np.arange(3)))


def count_up(handle, rounds):
    @cuda.jit
    def count(x):
        cuda.atomic.add(x, 0, 1)

    with handle as array:
        for _ in range(rounds):
            count[4, 32](array)


def test_atomics_hold_between_processes():
    array = cuda.to_device(np.zeros(1, np.int64))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=count_up, args=(array.get_ipc_handle(), 20)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert array[0] == 2 * 20 * 128


def test_a_forked_child_has_its_own_copy_of_shared_arrays():
    array = cuda.to_device(np.arange(2000))
    array.get_ipc_handle()
    child = os.fork()
    if child == 0:
        try:
            add[8, 256](array, 1)
            os._exit(0 if array[5] == 6 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert array[5] == 5


def large(handle):
    with handle as array:
        return float(array.copy_to_host().sum())


def test_large_and_many_arrays():
    big = cuda.to_device(np.ones(5_000_000, np.float32))
    assert in_another_process("spawn", large, big.get_ipc_handle()) == 5_000_000
    small = [cuda.to_device(np.full(10, i)) for i in range(50)]
    values = in_another_process("fork", parts, [array.get_ipc_handle() for array in small])
    assert [value[2] for value in values] == [[i] * 10 for i in range(50)]
    for i, array in enumerate(small):
        assert array.copy_to_host().tolist() == [i] * 10


def other_device(handle):
    cuda.select_device(1)
    array = handle.open()
    before = array.copy_to_host().tolist()
    array[0] = 9
    handle.close()
    return before


@pytest.mark.parametrize("devices, after", [("h100,a10", [0, 1, 2, 3]), ("h100,h100", [9, 1, 2, 3])])
def test_a_device_that_cannot_reach_the_memory_gets_a_copy(devices, after, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import numpy as np
        import test_ipc
        from cudasim import cuda

        if __name__ == "__main__":
            array = cuda.to_device(np.arange(4))
            print(test_ipc.in_another_process("spawn", test_ipc.other_device, array.get_ipc_handle()))
            print(array.copy_to_host().tolist())
        """)
    )
    here = os.path.dirname(os.path.abspath(__file__))
    environment = {**os.environ, "CUDASIM_DEVICE": devices, "PYTHONPATH": here}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines() == ["[0, 1, 2, 3]", str(after)], done.stderr

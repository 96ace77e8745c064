"""The simulated devices: their profiles, which one is current, and several at a time (in processes of their own)."""

import threading

import numpy as np
import pytest
from cudasim import _native, cuda, options
from cudasim.errors import CudaAPIError

# CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", and the devices' data
# sheets: capability, multiprocessors, GiB, threads and blocks per multiprocessor, KiB of shared memory per
# block with opting in and per multiprocessor.
PROFILES = {
    "h100": ((9, 0), 132, 80, 2048, 32, 227, 228),
    "v100": ((7, 0), 80, 32, 2048, 32, 96, 96),
    "t4": ((7, 5), 40, 16, 1024, 16, 64, 64),
    "a100": ((8, 0), 108, 80, 2048, 32, 163, 164),
    "a10": ((8, 6), 72, 24, 1536, 16, 99, 100),
    "l4": ((8, 9), 58, 24, 1536, 24, 99, 100),
    "l40s": ((8, 9), 142, 48, 1536, 24, 99, 100),
    "h200": ((9, 0), 132, 141, 2048, 32, 227, 228),
    "b200": ((10, 0), 148, 180, 2048, 32, 227, 228),
    "rtx2080ti": ((7, 5), 68, 11, 1024, 16, 64, 64),
    "rtx3060": ((8, 6), 28, 12, 1536, 16, 99, 100),
    "rtx3090": ((8, 6), 82, 24, 1536, 16, 99, 100),
    "rtx4060": ((8, 9), 24, 8, 1536, 24, 99, 100),
    "rtx4090": ((8, 9), 128, 24, 1536, 24, 99, 100),
    "rtx5090": ((12, 0), 170, 32, 1536, 24, 99, 100),
    "jetsonorin": ((8, 7), 16, 64, 1536, 16, 163, 164),
}


def test_profiles_have_the_guides_limits():
    assert (
        [profile["key"] for profile in _native.device_profiles()] == list(options.DEVICES) == list(PROFILES)
    )
    for profile in _native.device_profiles():
        assert (
            profile["compute_capability"],
            profile["multiprocessors"],
            profile["total_memory"] >> 30,
            profile["max_threads_per_multiprocessor"],
            profile["max_blocks_per_multiprocessor"],
            profile["shared_per_block_optin"] >> 10,
            profile["shared_per_multiprocessor"] >> 10,
        ) == PROFILES[profile["key"]]
        assert (profile["warp_size"], profile["max_threads_per_block"], profile["max_block"]) == (
            32, 1024, (1024, 1024, 64)
        )  # fmt: skip
        assert (profile["max_grid"], profile["shared_per_block"]) == ((2**31 - 1, 65535, 65535), 48 << 10)
        assert profile["registers_per_block"] == profile["registers_per_multiprocessor"] == 65536


def test_the_default_device_has_numbas_attributes():
    device = cuda.get_current_device()
    assert device.id == 0 and device == cuda.gpus[0] and device.compute_capability == (9, 0)
    assert "H100" in device.name and device.name.decode("utf-8") == device.name
    assert device.MAX_THREADS_PER_BLOCK == 1024 and device.WARP_SIZE == 32
    assert device.MULTIPROCESSOR_COUNT == 132 and device.MAX_SHARED_MEMORY_PER_BLOCK == 49152
    assert device.MAX_BLOCK_DIM_Z == 64 and device.MAX_GRID_DIM_Y == 65535
    assert device.supports_float16 and device.supports_bfloat16
    assert device.uuid.startswith("GPU-") and len(device.uuid) == 40
    with pytest.raises(AttributeError, match="WARP_SIZE"):
        device.NO_SUCH_ATTRIBUTE  # noqa: B018
    assert not hasattr(device, "NO_SUCH_ATTRIBUTE")


def test_the_list_of_devices():
    assert (
        len(cuda.gpus) == len(cuda.list_devices()) == 1 and list(cuda.gpus) == [cuda.gpus[0]] == cuda.gpus.lst
    )
    assert cuda.gpus.current == cuda.gpus[-1] == cuda.gpus["0"] and cuda.gpus[:1] == [cuda.gpus[0]]
    assert cuda.select_device(0) is cuda.get_current_device()
    for wrong in (lambda: cuda.gpus[1], lambda: cuda.select_device(1)):
        with pytest.raises(IndexError, match="no device 1.*has 1.*CUDASIM_DEVICE"):
            wrong()
    cuda.close()


def test_the_driver_object_lists_the_devices():
    from cudasim.cuda.cudadrv.driver import driver

    assert driver.get_device_count() == 1 and driver.list_devices() == [driver.get_device()] == list(
        cuda.gpus
    )


def test_detect_lists_the_devices(capsys):
    assert cuda.detect() is True
    text = capsys.readouterr().out
    assert text.startswith("Found 1 CUDA devices\nid 0    NVIDIA H100")
    assert "Compute Capability: 9.0\n" in text and "UUID: GPU-" in text
    assert text.endswith("Summary:\n\t1/1 devices are supported\n")


def test_the_context_tells_memory():
    with cuda.gpus[0]:
        before = cuda.current_context().get_memory_info()
        array = cuda.device_array(1 << 20, np.uint8)
        after = cuda.current_context().get_memory_info()
    assert before.free - after.free == array.nbytes and before.total == after.total
    context = cuda.current_context()
    cuda.close()
    with pytest.raises(RuntimeError, match="not current"):
        context.pop()


SEVERAL = """
    import threading
    import numpy as np
    from cudasim import cuda
    from cudasim.errors import CudaAPIError

    @cuda.jit
    def add(x, amount):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += amount
"""


def several(run, code, device="h100,a10,rtx2080ti", **variables):
    done = run.script(SEVERAL + code, CUDASIM_DEVICE=device, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_devices_are_those_of_the_option(run):
    out = several(
        run,
        """
    print(*(d.name for d in cuda.gpus), sep="; ")
    print([d.compute_capability for d in cuda.list_devices()], len({d.uuid for d in cuda.gpus}))
    print(cuda.is_bfloat16_supported(), cuda.select_device(2).supports_bfloat16, cuda.is_bfloat16_supported())
    """,
        "H100, A10, RTX 2080 Ti",
    )
    assert out.splitlines() == [
        "NVIDIA H100 80GB HBM3 (simulated); NVIDIA A10 (simulated); NVIDIA GeForce RTX 2080 Ti (simulated)",
        "[(9, 0), (8, 6), (7, 5)] 3",
        "True False False",
    ]
    assert "one of" not in out


def test_unknown_devices_are_refused_with_the_known_ones(run):
    done = run.script("from cudasim import cuda\ncuda.device_array(1)", CUDASIM_DEVICE="h100,v1000")
    assert "OptionError" in done.stderr and "There is no device 'v1000'. Did you mean 'v100'?" in done.stderr


def test_each_device_has_its_memory_and_runs_its_launches(run):
    out = several(
        run,
        """
    arrays = []
    for gpu in cuda.gpus:
        with gpu:
            arrays.append(cuda.to_device(np.arange(4.0)))
            add[1, 4](arrays[-1], gpu.id)
            host = np.zeros(4)
            add[1, 4](host, 10 * gpu.id)
            print(cuda.get_current_device().id, arrays[-1].device.id, host[0], arrays[-1][0])
    print(cuda.get_current_device().id)
    for array in arrays:
        print(array.copy_to_host().tolist())
    arrays[0].copy_to_device(arrays[2])
    arrays[1][:2] = arrays[0][2:]
    print(arrays[0].copy_to_host().tolist(), arrays[1].copy_to_host().tolist())
    """,
    )
    assert out.splitlines() == [
        "0 0 0.0 0.0",
        "1 1 10.0 1.0",
        "2 2 20.0 2.0",
        "0",
        "[0.0, 1.0, 2.0, 3.0]",
        "[1.0, 2.0, 3.0, 4.0]",
        "[2.0, 3.0, 4.0, 5.0]",
        "[2.0, 3.0, 4.0, 5.0] [4.0, 5.0, 3.0, 4.0]",
    ]


def test_with_blocks_nest_and_host_threads_choose_for_themselves(run):
    out = several(
        run,
        """
    def where():
        return cuda.get_current_device().id
    with cuda.gpus[1]:
        with cuda.gpus[2]:
            print(where(), end=" ")
        print(where(), end=" ")
        seen = []
        threads = [threading.Thread(target=lambda n=n: (cuda.select_device(n), seen.append((n, where()))))
                   for n in range(3)]
        threads.append(threading.Thread(target=lambda: seen.append((0, where()))))
        for thread in threads:
            thread.start(); thread.join()
        print(seen, where(), end=" ")
    print(where(), end=" ")
    cuda.select_device(2)
    print(where(), end=" ")
    cuda.close()
    print(where())
    """,
    )
    assert out == "2 1 [(0, 0), (1, 1), (2, 2), (0, 0)] 1 0 2 0\n"


def test_the_memory_of_another_device_is_an_illegal_address(run):
    out = several(
        run,
        """
    with cuda.gpus[1]:
        x = cuda.to_device(np.zeros(4))
        view = x[::2]
    class Foreign:
        __cuda_array_interface__ = x.__cuda_array_interface__
    for array in (x, view, Foreign()):
        try:
            add[1, 4](array, 1)
        except CudaAPIError as error:
            print(error.code, isinstance(error, MemoryError), error)
    cuda.gpus[1].__enter__()
    add[1, 4](x, 1)
    print(x.copy_to_host().tolist())
    """,
    )
    *errors, last = out.splitlines()
    assert len(errors) == 3 and last == "[1.0, 1.0, 1.0, 1.0]"
    assert all(
        line.startswith("700 True the array passed for 'x' is in the memory of device 1") for line in errors
    )


def test_peers_of_one_kind_may_be_allowed_to_share(run):
    out = several(
        run,
        """
    with cuda.gpus[1]:
        peer, x = cuda.current_context(), cuda.to_device(np.zeros(2))
    context = cuda.current_context()
    print(context.can_access_peer(1), context.can_access_peer(2), context.can_access_peer(0))
    context.enable_peer_access(peer)
    add[1, 2](x, 3)
    print(x.copy_to_host().tolist())
    for other in (peer, cuda.gpus[2].get_primary_context()):
        try:
            context.enable_peer_access(other)
        except CudaAPIError as error:
            print(error.code)
    """,
        "h100,h100,a10",
    )
    assert out.splitlines() == ["True False False", "[3.0, 3.0]", "704", "217"]


def test_copies_between_devices_wait_for_the_streams_of_both(run):
    out = several(
        run,
        """
    from cudasim.cuda.cudadrv import driver
    @cuda.jit
    def add(x, value):
        x[0] += value
    arrays, streams = [], []
    for gpu in cuda.gpus:
        with gpu:
            arrays.append(cuda.to_device(np.zeros(2)))
            streams.append(cuda.stream())
            add[1, 1, streams[-1]](arrays[-1], len(arrays))
    first, second = arrays
    driver.device_to_device(second, first, 8)
    print(first.copy_to_host().tolist(), second.copy_to_host().tolist())
    for target, source in ((first, second), (second, first)):
        try:
            driver.device_to_device(target, source, 17)
        except CudaAPIError as error:
            print(error.code, str(error).splitlines()[0])
    """,
        "h100,h100",
        CUDASIM_DEFERRED="1",
    )
    assert (
        out.splitlines()
        == ["[1.0, 0.0] [1.0, 0.0]"]
        + [
            "1 [1] Call to cuMemcpyDtoD results in CUDA_ERROR_INVALID_VALUE: the source of a copy of 17 bytes is not inside one "
            "device allocation: offset 0 of an allocation of 16 bytes"
        ]
        * 2
    )


def test_limits_are_those_of_the_device(run):
    out = several(
        run,
        """
    @cuda.jit
    def dynamic(x):
        shared = cuda.shared.array(0, dtype=np.float64)
        shared[0] = x[0]
        x[0] = shared[0] + 1
    for gpu, most in zip(cuda.gpus, (227, 99, 64)):
        with gpu:
            x = np.zeros(1)
            dynamic[1, 1, 0, most * 1024](x)
            try:
                dynamic[1, 1, 0, most * 1024 + 1](x)
            except CudaAPIError as error:
                print(x[0], error.code, gpu.name.split(" (")[0] in str(error), str(most * 1024) in str(error))
            print(cuda.current_context().get_memory_info().total <= 1 << 28)
    configured = dynamic[1, 1, 0, 100 * 1024]
    configured(np.zeros(1))
    with cuda.gpus[1]:
        try:
            configured(np.zeros(1))
        except CudaAPIError as error:
            print(error.code, "A10" in str(error))
    """,
        CUDASIM_DEVICE_MEMORY="256M",
    )
    assert out.splitlines() == ["1.0 1 True True", "True"] * 3 + ["1 True"]


def test_several_devices_run_at_the_same_time(run):
    out = several(
        run,
        """
    @cuda.jit
    def spin(x, rounds):
        for _ in range(rounds):
            x[0] += 1
        x[1000000 if rounds == 3 else 0] += 0
    failures, results = [], []
    def work(number):
        cuda.select_device(number)
        x = cuda.to_device(np.zeros(1))
        for _ in range(50):
            spin[1, 1](x, 1000)
            try:
                spin[1, 1](x, 3)
            except IndexError:
                failures.append(number)
        results.append(float(x[0]))
    threads = [threading.Thread(target=work, args=(number % 3,)) for number in range(6)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(results, len(failures))
    """,
    )
    assert out == f"{[50 * 1003.0] * 6} 300\n"


# -- occupancy --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key, shared, limit, size",
    [
        ("h100", 0, 1024, 1024),  # 2 blocks of 1024 fill 2048 threads
        ("a10", 0, 1024, 768),  # 2 of 768 fill 1536; one of 1024 does not
        ("rtx2080ti", 0, 1024, 1024),
        ("h100", 0, 100, 64),  # 32 of 64 fill 2048, 21 of 96 do not
        ("h100", 0, 20, 20),
        ("h100", 200 << 10, 1024, 1024),
        ("a10", 24 << 10, 512, 512),  # 4 blocks by shared memory, 3 by threads
    ],
)
def test_the_best_block_fills_a_multiprocessor(key, shared, limit, size):
    profile = next(profile for profile in _native.device_profiles() if profile["key"] == key)
    device = _native.Device(_native.DeviceProfile(profile), 64 << 20)
    shared_bytes = shared if callable(shared) else lambda threads: shared
    assert device.best_block_size(limit, shared_bytes) == size


@cuda.jit
def sizes(out):
    if cuda.grid(1) == 0:
        out[0], out[1] = cuda.gridDim.x, cuda.blockDim.x


def test_forall_takes_the_best_block_unless_told():
    out = np.zeros(2, np.int64)
    sizes.forall(2500)(out)
    assert out.tolist() == [3, 1024]
    sizes.forall(2500, tpb=100)(out)
    assert out.tolist() == [25, 100]
    sizes.forall(np.int32(10), 32, cuda.stream(), 64)(out)
    assert out.tolist() == [1, 32]
    cuda.jit(launch_bounds=128)(sizes.py_func).forall(1000)(out)
    assert out.tolist() == [8, 128]
    with pytest.raises(
        TypeError, match="ntasks is the number of threads .*, an integer; got 10.5; use // or int"
    ):
        sizes.forall(10.5)(out)
    with pytest.raises(ValueError, match="Can't create ForAll with negative task count: -1"):
        sizes.forall(-1)


def test_static_shared_memory_of_a_kernel():
    @cuda.jit("void(float32[:])")
    def tile(x):
        shared = cuda.shared.array((8, 8), dtype=np.float32)
        shared[0, 0] = x[0]
        x[0] = shared[0, 0]

    assert tile.get_shared_mem_per_block() in (256, {("array(float32, 1d, A)",): 256})


def test_selecting_in_a_thread_leaves_the_main_thread_alone():
    cuda.close()
    thread = threading.Thread(target=cuda.select_device, args=(0,))
    thread.start()
    thread.join()
    assert cuda.gpus.current is None
    with pytest.raises(CudaAPIError):
        cuda.current_context().enable_peer_access(cuda.current_context())


def test_devices_are_selected_by_whole_numbers():
    for wrong in (1.5, 0.0):
        with pytest.raises(TypeError, match="integer"):
            cuda.select_device(wrong)
    assert cuda.select_device("0").id == 0
    cuda.close()


def test_programs_reach_the_device_behind_the_list_of_gpus():
    assert cuda.gpus[0]._device.name == cuda.get_current_device().name


def test_devices_are_named_by_their_numbers(run):
    done = several(run, """
    from cudasim.cuda.cudadrv.driver import CudaAPIError, Device
    assert Device(1) is cuda.list_devices()[1] and Device(devnum=2).name == cuda.gpus[2].name
    try:
        Device(3)
    except CudaAPIError as error:
        print(error.code, error)
    """)  # fmt: skip
    assert done.startswith("101 ") and "there is no device 3" in done and "are 0, 1, 2" in done

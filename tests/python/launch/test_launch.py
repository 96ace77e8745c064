"""Launching: configurations, arguments copied in and out, scheduling."""

import gc
import math
import threading

import numpy as np
import pytest
from cudasim import cuda, options, types
from cudasim.errors import CudaAPIError


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def where(out):
    i, j, k = cuda.grid(3)
    out[i, j, k] = i * 10000 + j * 100 + k


@cuda.jit
def two(x, y):
    i = cuda.grid(1)
    x[i] += 1
    y[i] += 10


@cuda.jit
def scalars(out, a, b, c, d):
    out[0] = a
    out[1] = b
    out[2] = c
    out[3] = d


# -- configuration ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "grid, block",
    [(1, 8), ((1,), (8,)), ((2, 1), (4, 1)), ((2, 1, 1), (4, 1, 1)), ([2], [4]), (np.int32(2), np.int64(4))],
)
def test_dimensions_in_every_form(grid, block):
    x = np.zeros(8)
    increment[grid, block](x)
    assert (x == 1).all()


def test_three_dimensional_launch_reaches_every_element():
    out = np.zeros((4, 6, 3), np.int64)
    where[(2, 3, 1), (2, 2, 3)](out)
    i, j, k = np.indices(out.shape)
    np.testing.assert_array_equal(out, i * 10000 + j * 100 + k)


@pytest.mark.parametrize(
    "brackets, error",
    [
        ((1.0, 1), TypeError),
        ((1, 1.0), TypeError),
        (((1, 2.0), 1), TypeError),
        (("a", 1), TypeError),
        (((1, 1, 1, 1), 1), ValueError),
        ((None, 1), ValueError),
        ((1, 1, "stream"), TypeError),
        ((1, np.array([1, 1])), TypeError),
        ((np.float64(1), 1), TypeError),
        (1, ValueError),
        ((1,), ValueError),
        ((1, 1, 0, 0, 0), ValueError),
        ((1, 1, 0, -1), ValueError),
        ((1, 1, 0, 1.5), TypeError),
    ],
)
def test_wrong_configurations_are_refused(brackets, error):
    with pytest.raises(error):
        increment[brackets]


@pytest.mark.parametrize(
    "brackets, words",
    [
        ((1.5, 32), "griddim must be a sequence of integers, got \\[1.5\\]"),
        ((1, (16, 2.0)), "blockdim must be a sequence of integers, got \\[16, 2.0\\]"),
        (((1, 1, 1, 1), 1), "griddim must be a sequence of 1, 2 or 3 integers, got \\[1, 1, 1, 1\\]"),
        ((1,), "must specify at least the griddim and blockdim"),
        ((None, 1), "Kernel launch configuration was not specified"),
    ],
)
def test_wrong_configurations_are_refused_in_numbas_words(brackets, words):
    with pytest.raises((TypeError, ValueError), match=words):
        increment[brackets]


def test_a_float_equal_to_a_cached_int_is_still_refused():
    increment[1, 1]
    with pytest.raises(TypeError):
        increment[1.0, 1]


@pytest.mark.parametrize(
    "brackets, words",
    [
        ((1, 1025), ["1025", "1024"]),
        ((1, (32, 32, 2)), ["2048", "1024"]),
        ((1, (1, 1, 65)), ["65", "64"]),
        ((1, 2048), ["2048", "1024"]),
        ((0, 1), ["griddim.x", "0"]),
        ((1, 0), ["blockdim.x", "0"]),
        ((1, -1), ["-1"]),
        (((1, 65536), 1), ["65536", "65535"]),
        ((1 << 31, 1), ["2147483647"]),
        ((1, 1, 0, 480 * 1024), ["491520", "232448"]),
    ],
)
def test_what_the_device_forbids_is_a_cuda_error_naming_the_limit(brackets, words):
    with pytest.raises(CudaAPIError) as caught:
        increment[brackets](np.zeros(1))
    assert caught.value.code == 1
    assert "cuLaunchKernel" in str(caught.value) and "CUDA_ERROR_INVALID_VALUE" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_kernel_without_configuration_is_refused_with_the_right_form():
    words = r"Kernel launch configuration was not specified.*increment\[blockspergrid, threadsperblock\]"
    with pytest.raises(ValueError, match=words):
        increment(np.zeros(1))


def test_a_device_function_is_not_launched():
    @cuda.jit(device=True)
    def helper(a):
        return a

    with pytest.raises(ValueError, match="device function"):
        helper(1)
    with pytest.raises(RuntimeError, match="Cannot compile a device function as a kernel"):
        helper[1, 1]


def test_streams_are_accepted():
    stream, x = cuda.stream(), np.zeros(4)
    increment[1, 4, stream](x)
    increment[1, 4, stream, 64](x)
    with stream.auto_synchronize():
        increment.configure(1, 4, stream)(x)
    stream.synchronize()
    assert (x == 3).all()


def test_forall_covers_all_tasks():
    x = np.zeros(1000)
    increment.forall(len(x))(x)
    increment.forall(0)(x)
    assert (x == 1).all()
    with pytest.raises(ValueError):
        increment.forall(-1)


def test_many_configurations_do_not_pile_up():
    x = cuda.to_device(np.zeros(1))
    for blocks in range(1, 700):
        increment[blocks, 1](x)
    assert len(increment._configured) <= 2 * 256 + 2


# -- arguments --------------------------------------------------------------------------------------------


def test_host_arrays_come_back_and_device_arrays_stay():
    host, device = np.zeros(4), cuda.to_device(np.zeros(4))
    increment[1, 4](host)
    increment[1, 4](device)
    increment[1, 4](device)
    assert (host == 1).all() and (device.copy_to_host() == 2).all()


@pytest.mark.parametrize("order", "CF")
def test_two_dimensional_arrays_of_both_orders(order):
    @cuda.jit
    def fill(a):
        i, j = cuda.grid(2)
        if i < a.shape[0] and j < a.shape[1]:
            a[i, j] = 10 * i + j

    a = np.zeros((3, 5), order=order)
    fill[(2, 3), (2, 2)](a)
    np.testing.assert_array_equal(a, 10 * np.arange(3)[:, None] + np.arange(5))


def test_strided_device_views_are_written_through():
    device = cuda.to_device(np.zeros(10))
    increment[1, 5](device[::2])
    increment[1, 5](device[::-2])
    assert device.copy_to_host().tolist() == [1] * 10


def test_the_same_array_twice_is_copied_per_argument_and_written_back_in_order():
    x = np.zeros(4)
    two[1, 4](x, x)
    assert x.tolist() == [10] * 4


def test_scalars_arrive_with_their_values():
    out = np.zeros(4)
    scalars[1, 1](out, 3, 2.5, np.float32(0.25), True)
    assert out.tolist() == [3, 2.5, 0.25, 1]
    scalars[1, 1](out, np.int8(-3), np.uint16(65535), np.bool_(False), 2**40)
    assert out.tolist() == [-3, 65535, 0, 2**40]


def test_small_scalars_are_packed_at_their_alignment():
    @cuda.jit
    def mixed(a, out, b, c, d):
        out[0] = a
        out[1] = b
        out[2] = c
        out[3] = d

    out = np.zeros(4)
    mixed[1, 1](np.int8(1), out, np.int16(2), np.float32(3), np.int8(4))
    assert out.tolist() == [1, 2, 3, 4]


def test_tuples_arrive():
    @cuda.jit
    def from_tuple(out, pair):
        out[0] = pair[0]
        out[1] = pair[1]

    out = np.zeros(2)
    from_tuple[1, 1](out, (3, 4))
    assert out.tolist() == [3, 4]
    from_tuple[1, 1](out, (5, 1.5))
    assert out.tolist() == [5, 1.5]


def test_wrong_number_of_arguments_is_a_type_error():
    words = "Signature mismatch: 1 argument types given, but function takes 2 arguments.*two"
    with pytest.raises(TypeError, match=words):
        two[1, 1](np.zeros(1))
    with pytest.raises(TypeError, match="positional arguments only.*two.*got x, y by name"):
        two[1, 1](x=np.zeros(1), y=np.zeros(1))
    with pytest.raises(TypeError, match="positional arguments only.*two.*got y by name"):
        two.forall(1)(np.zeros(1), y=np.zeros(1))
    with pytest.raises(TypeError, match="3 argument types given"):
        two[1, 1](np.zeros(1), np.zeros(1), 1)


def test_defaults_complete_the_arguments():
    @cuda.jit
    def add(x, amount=5):
        x[0] += amount

    x = np.zeros(1)
    add[1, 1](x)
    add[1, 1](x)
    add[1, 1](x, 1)
    assert x[0] == 11


def test_strided_host_arrays_are_refused():
    with pytest.raises(ValueError, match="non-contiguous"):
        increment[1, 1](np.zeros(10)[::2])


def test_read_only_arrays_can_be_read():
    x = np.arange(4.0)
    x.flags.writeable = False
    out = np.zeros(4)

    @cuda.jit
    def copy(source, target):
        i = cuda.grid(1)
        target[i] = source[i]

    copy[1, 4](x, out)
    assert out.tolist() == [0, 1, 2, 3]


def test_writing_to_a_read_only_array_is_an_error_that_names_the_argument():
    x = np.arange(4.0)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="'x'.*read-only"):
        increment[1, 4](x)
    assert x.tolist() == [0, 1, 2, 3]


def test_intents_say_which_way_arrays_are_copied():
    a, b, c = np.zeros(2), np.zeros(2), np.zeros(2)
    two[1, 2](cuda.In(a), cuda.InOut(b))
    assert a.tolist() == [0, 0] and b.tolist() == [10, 10]

    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = 3

    fill[1, 2](cuda.Out(c))
    assert c.tolist() == [3, 3]


def test_empty_arrays_are_arguments():
    increment[1, 4](np.zeros(0))


def test_large_arrays_and_many_blocks():
    x = np.zeros(1_000_003, np.float32)
    increment[(x.size + 255) // 256, 256](x)
    assert (x == 1).all()


def test_launches_do_not_leak_device_memory():
    x = np.zeros(1000)
    increment[1, 1](x)
    gc.collect()
    before = cuda.current_context().get_memory_info().free
    for _ in range(100):
        increment[1, 1](x)
    gc.collect()
    # The engine keeps freed memory in quarantine for a while; it must not grow with the launches.
    assert before - cuda.current_context().get_memory_info().free < 64 * 1000 * 8


# -- signatures and dispatchers ---------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
@pytest.mark.parametrize("carrier", ["automatic", "fiber"])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_way_of_scheduling_gives_the_same(policy, carrier, workers):
    @cuda.jit
    def reverse_in_block(x):
        shared = cuda.shared.array(64, types.float64)
        i = cuda.threadIdx.x
        j = cuda.grid(1)
        shared[i] = x[j]
        cuda.syncthreads()
        x[j] = shared[63 - i]

    x = np.arange(256.0)
    with options.override(policy=policy, carrier=carrier, workers=workers):
        reverse_in_block[4, 64](x)
    np.testing.assert_array_equal(x, np.arange(256.0).reshape(4, 64)[:, ::-1].ravel())


def test_launches_from_several_threads():
    arrays = [np.zeros(1000) for _ in range(8)]

    def work(x):
        for _ in range(50):
            increment[4, 256](x)

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((x == 50).all() for x in arrays)


def test_arrays_may_be_collected_while_another_thread_launches():
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            cuda.to_device(np.zeros(100))

    thread = threading.Thread(target=churn)
    thread.start()
    x = np.zeros(1000)
    for _ in range(200):
        increment[4, 256](x)
    stop.set()
    thread.join()
    assert (x == 200).all()


# -- intrinsics on the host -------------------------------------------------------------------------------


def test_intrinsics_say_that_they_belong_in_kernels():
    with pytest.raises(NotImplementedError, match="kernel only"):
        cuda.grid(1)
    with pytest.raises(NotImplementedError, match="kernel only"):
        cuda.shared.array(3, types.float32)
    with pytest.raises(NotImplementedError, match="kernel only"):
        cuda.threadIdx.x  # noqa: B018
    with pytest.raises(AttributeError, match="nand"):
        cuda.atomic.nand  # noqa: B018


def test_names_that_are_missing_are_said_to_be():
    with pytest.raises(AttributeError, match="cudasim has no cuda.nosuchthing"):
        cuda.nosuchthing  # noqa: B018


def test_events_measure_time():
    start, end = cuda.event(), cuda.event()
    with pytest.raises(CudaAPIError):
        cuda.event_elapsed_time(start, end)
    start.record()
    increment[1, 1](np.zeros(1))
    end.record()
    end.synchronize()
    assert 0 < cuda.event_elapsed_time(start, end) < 60_000
    assert start.elapsed_time(end) == cuda.event_elapsed_time(start, end)


@pytest.mark.parametrize(
    "options, error",
    [
        ({"policy": "sideways"}, ValueError("policy is one of forward, reverse, random, .*, not 'sideways'")),
        ({"carrier": ""}, ValueError("carrier is one of automatic, fiber")),
        ({"wrap": "no"}, ValueError("wrap is one of allow, warn, error")),
        ({"polcy": "forward"}, TypeError("a launch has no option 'polcy'")),
    ],
)
def test_options_of_a_launch_are_taken_by_name_and_value_or_refused(options, error):
    from cudasim import _native

    with pytest.raises(type(error), match=str(error)):
        _native.LaunchOptions(**options)


@cuda.jit
def copy_table(table, out):
    i, j = cuda.grid(2)
    out[i, j] = table[i, j]


@pytest.mark.parametrize("shape", [(3, 1), (1, 4), (1, 1), (3, 4)])
def test_host_arrays_that_repeat_themselves_are_copied_once(shape):
    table = np.broadcast_to(np.arange(1.0, 1 + math.prod(shape)).reshape(shape), (3, 4))
    out = np.zeros((3, 4))
    copy_table[1, (3, 4)](table, out)
    assert np.array_equal(out, table)
    copy_table[1, (3, 4)](cuda.In(np.asfortranarray(table)), out)
    writable = np.lib.stride_tricks.as_strided(np.zeros(4), (3, 4), (0, 8), writeable=True)
    copy_table[1, (3, 4)](np.asfortranarray(table), writable)
    assert np.array_equal(writable[0], writable[2])
    with pytest.raises(ValueError, match="'out'.*read-only"):
        copy_table[1, (3, 4)](out + 1, table)

"""Warp operations in kernels: shuffles, votes, matches, syncwarp, activemask; lanes that never come."""

import numpy as np
import pytest
from cudasim import cuda, errors, options

FULL = 0xFFFFFFFF
LANES = np.arange(32)


@pytest.fixture(autouse=True, params=["auto", "python"])
def mode(request):
    with options.override(mode=request.param):
        yield


def run(kernel, *args, threads=32, blocks=1, shape=None, dtype=np.int64):
    out = np.full(shape or blocks * threads, -99, dtype)
    cuda.jit(kernel)[blocks, threads](out, *args)
    return out


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_shuffles_of_every_type(dtype):
    def kernel(out, values):
        i = cuda.threadIdx.x
        v = values[i]
        out[0, i] = cuda.shfl_sync(FULL, v, 5)
        out[1, i] = cuda.shfl_sync(FULL, v, i * 3)
        out[2, i] = cuda.shfl_up_sync(FULL, v, 2)
        out[3, i] = cuda.shfl_down_sync(FULL, v, 3)
        out[4, i] = cuda.shfl_xor_sync(FULL, v, 5)

    values = (np.arange(32) * 0.1e3 - 1234.5).astype(dtype) * dtype(
        1 if np.dtype(dtype).itemsize == 4 else 1 << 35
    )
    out = run(kernel, values, shape=(5, 32), dtype=dtype)
    sources = [np.full(32, 5), LANES * 3 % 32, np.where(LANES < 2, LANES, LANES - 2),
               np.where(LANES > 28, LANES, LANES + 3), LANES ^ 5]  # fmt: skip
    for row, source in zip(out, sources):
        assert np.array_equal(row, values[source])


def test_the_result_has_the_values_type():
    def kernel(out, x):
        out[0] = cuda.shfl_sync(FULL, x[0], 0) * 3  # float32 times int64: float64 in Numba
        cuda.syncwarp()

    x = np.array([0.1], np.float32)
    assert run(kernel, x, shape=1, dtype=np.float64)[0] == float(x[0]) * 3


def test_integers_of_different_widths_meet():
    def kernel(out, count):
        base = 0  # a wide integer in lanes 1 to 31, a narrow one in lane 0
        if cuda.laneid == 0:
            base = cuda.atomic.add(count, 0, 5)
        out[0, cuda.laneid] = cuda.shfl_sync(FULL, base, 0)
        wide = np.int32(7)
        if cuda.laneid == 3:
            wide = -(1 << 40)
        out[1, cuda.laneid] = cuda.shfl_sync(FULL, wide, 3)

    out = run(kernel, np.full(1, -7, np.int32), shape=(2, 32))
    assert (out[0] == -7).all()
    assert (out[1] == -(1 << 40)).all()


def test_votes():
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = cuda.ballot_sync(FULL, i % 3 == 0)
        out[1, i] = cuda.all_sync(FULL, i < 32)
        out[2, i] = cuda.all_sync(FULL, i < 31)
        out[3, i] = cuda.any_sync(FULL, i == 31)
        out[4, i] = cuda.any_sync(FULL, i == 32)
        out[5, i] = cuda.eq_sync(FULL, i > 40)
        out[6, i] = cuda.eq_sync(FULL, i > 4)
        out[7, i] = cuda.ballot_sync(FULL, True)

    out = run(kernel, shape=(8, 32))
    assert [set(row) for row in out] == [
        {sum(1 << n for n in range(0, 32, 3))},
        {1},
        {0},
        {1},
        {0},
        {1},
        {0},
        {-1},
    ]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint32, np.int64, np.float32, np.float64])
def test_matches(dtype):
    def kernel(out, values):
        i = cuda.threadIdx.x
        out[0, i] = cuda.match_any_sync(FULL, values[i])
        out[1, i], same = cuda.match_all_sync(FULL, values[i])
        out[2, i] = same
        out[3, i], same = cuda.match_all_sync(FULL, values[7])
        out[4, i] = same

    values = (LANES % 4).astype(dtype) * dtype(3)
    out = run(kernel, values, shape=(5, 32)) & FULL
    assert np.array_equal(out[0], 0x11111111 << (LANES % 4))
    assert not out[1].any() and not out[2].any()
    assert set(out[3]) == {FULL} and set(out[4]) == {1}


def test_masks_name_the_lanes_that_wait_for_each_other():
    def kernel(out):
        i = cuda.threadIdx.x
        if i < 16:
            out[i] = cuda.shfl_xor_sync(0xFFFF, i, 15)
        elif i % 2 == 0:
            out[i] = cuda.ballot_sync(0x55550000, i > 20)
        else:
            out[i] = cuda.shfl_sync(0xAAAA0000, i, 31)

    out = run(kernel)
    assert list(out[:16]) == list(range(15, -1, -1))
    assert set(out[16::2]) == {sum(1 << n for n in range(22, 32, 2))} and set(out[17::2]) == {31}


def test_a_warp_reduction_in_many_blocks_and_warps():
    @cuda.jit
    def kernel(out, x):
        i = cuda.grid(1)
        total = x[i]
        offset = 16
        while offset > 0:
            total += cuda.shfl_down_sync(FULL, total, offset)
            offset //= 2
        if cuda.laneid == 0:
            cuda.atomic.add(out, 0, total)

    x = np.arange(7 * 160, dtype=np.float64)
    for policy in ("forward", "reverse", "random"):
        for carrier in ("automatic", "fiber"):
            out = np.zeros(1)
            with options.override(policy=policy, carrier=carrier):
                kernel[7, 160](out, x)
            assert out[0] == x.sum()


def test_an_inclusive_scan_over_warps_and_barriers():
    def kernel(out, x):
        sums = cuda.shared.array(32, np.int64)
        i = cuda.threadIdx.x
        lane, warp = i % 32, i // 32
        value = x[i]
        step = 1
        while step < 32:
            other = cuda.shfl_up_sync(FULL, value, step)
            if lane >= step:
                value += other
            step *= 2
        if lane == 31:
            sums[warp] = value
        cuda.syncthreads()
        for before in range(warp):
            value += sums[before]
        out[i] = value

    x = np.random.default_rng(1).integers(0, 100, 256)
    assert np.array_equal(run(kernel, x, threads=256), x.cumsum())


def test_lanes_that_ended_are_not_waited_for():
    def kernel(out):
        i = cuda.threadIdx.x
        if i >= 20:
            return
        cuda.syncwarp()
        out[i] = cuda.ballot_sync(FULL, True)

    out = run(kernel)
    assert set(out[:20]) == {(1 << 20) - 1} and set(out[20:]) == {-99}


def test_a_warp_that_is_not_full():
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = cuda.ballot_sync(FULL, i % 2 == 0)

    out = run(kernel, threads=40)
    assert set(out[:32]) == {0x55555555} and set(out[32:]) == {0x55}


def test_active_lanes_are_those_at_the_same_call():
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 4 == 1:
            out[i] = cuda.activemask()
        else:
            out[i] = cuda.activemask()
        out[i] |= np.int64(cuda.lanemask_lt()) << 32

    out = run(kernel)
    assert np.array_equal(out & FULL, np.where(LANES % 4 == 1, 0x22222222, 0xDDDDDDDD))
    assert [value >> 32 for value in out.tolist()] == [(1 << lane) - 1 for lane in range(31)] + [
        (1 << 31) - 1
    ]


def test_syncwarp_orders_a_warp():
    def kernel(out):
        seen = cuda.shared.array(64, np.int64)
        i = cuda.threadIdx.x
        seen[i] = i
        cuda.syncwarp()
        out[i] = seen[i ^ 1]
        cuda.syncwarp(FULL)

    assert np.array_equal(run(kernel, threads=64), np.arange(64) ^ 1)


def test_a_lane_that_never_comes_is_reported():
    def kernel(out):
        i = cuda.threadIdx.x
        if i < 16:
            out[i] = cuda.shfl_sync(FULL, i, 0)
        else:
            cuda.syncthreads()

    with pytest.raises(errors.KernelError) as error:
        run(kernel)
    (finding,) = error.value.findings
    assert finding.kind == "missing-lane" and finding.tid == (0, 0, 0)
    assert "a warp operation with mask 0xffffffff waits for lanes 16-31, which never come" in finding.message
    assert finding.location[0].line == kernel.__code__.co_firstlineno + 3
    assert {(group.state, group.thread_ranges) for group in finding.waiting} == {
        ("waiting in a warp operation", "0-15"), ("waiting at barrier", "16-31")}  # fmt: skip


def test_different_operations_and_masks_do_not_meet():
    def kinds(out):
        if cuda.threadIdx.x < 16:
            cuda.syncwarp()
        else:
            cuda.ballot_sync(FULL, True)

    def masks(out):
        if cuda.threadIdx.x < 16:
            cuda.syncwarp(0xFFFFFF)
        else:
            cuda.syncwarp(0xFFFFFFFF)

    with pytest.raises(errors.KernelError, match="never come"):
        run(kinds)
    with pytest.raises(errors.KernelError, match="lane 16 waits in one with mask 0xffffffff") as raised:
        run(masks)
    assert [finding.kind for finding in raised.value.findings] == ["lane-in-two-masks"]


def test_a_mask_without_the_lane_itself_is_refused():
    def kernel(out):
        cuda.syncwarp(0xFF)

    with pytest.raises(errors.KernelError, match=r"tid=\[8, 0, 0\].*does not name the lane"):
        run(kernel)


def test_a_fault_of_one_lane_leaves_the_others_alone():
    def kernel(out, x):
        i = cuda.threadIdx.x
        if i == 3:
            x[100] = 1
        out[i] = cuda.ballot_sync(FULL, True)

    out = cuda.to_device(np.zeros(32, np.int64))
    with pytest.raises(IndexError, match=r"tid=\[3, 0, 0\]"):
        cuda.jit(kernel)[1, 32](out, np.zeros(4))
    assert set(np.delete(out.copy_to_host(), 3)) == {~8}  # lane 3 has ended


@pytest.mark.parametrize("call", ["cuda.shfl_sync(1.5, 1, 0)", "cuda.shfl_sync(-1, np.int16(1), 0)",
                                  "cuda.shfl_sync(-1, True, 0)", "cuda.shfl_sync(-1, np.uint32(1), 0)",
                                  "cuda.all_sync(-1, 1.5)"])  # fmt: skip
def test_types_that_numba_refuses(call):
    namespace = {"cuda": cuda, "np": np}
    source = f"def kernel(x):\n    x[0] = {call}\n"
    exec(source, namespace)
    with options.override(mode="native"), pytest.raises(errors.TypingError, match="No implementation"):
        cuda.jit(namespace["kernel"])[1, 1](np.zeros(1))


laneid, warpsize = cuda.laneid, cuda.warpsize  # as `from numba.cuda import laneid, warpsize` binds them


def test_lane_and_warp_size_under_names_of_their_own():
    def kernel(out):
        i = cuda.threadIdx.x
        out[i] = laneid * 1000 + warpsize + cuda.laneid

    assert np.array_equal(run(kernel, threads=40), np.arange(40) % 32 * 1001 + 32)


def test_shuffles_by_keyword():
    def kernel(out):
        i = cuda.threadIdx.x
        out[0, i] = cuda.shfl_sync(mask=FULL, value=i, src_lane=4)
        out[1, i] = cuda.shfl_up_sync(FULL, i, delta=1)
        out[2, i] = cuda.shfl_down_sync(FULL, value=i, delta=1)
        out[3, i] = cuda.shfl_xor_sync(FULL, lane_mask=1, value=i)

    out = run(kernel, shape=(4, 32))
    assert set(out[0]) == {4} and list(out[1]) == [0, *range(31)]
    assert list(out[2]) == [*range(1, 32), 31] and np.array_equal(out[3], LANES ^ 1)


def test_masks_of_every_form():
    def kernel(out, narrow, wide):
        i = cuda.threadIdx.x
        cuda.syncwarp(wide[0])
        cuda.syncwarp(-1)
        out[0, i] = cuda.ballot_sync(-1, i < 3)
        out[1, i] = cuda.ballot_sync(narrow[0], 1)
        out[2, i] = cuda.ballot_sync(wide[0], i)
        out[3, i] = cuda.match_any_sync(-1, i < 4)

    out = run(kernel, np.array([0xFFFFFFFF], np.uint32), np.array([-1]), shape=(4, 32))
    assert set(out[0]) == {7} and set(out[1]) == {-1} and set(out[2]) == {-2}
    assert set(out[3][:4]) == {15} and set(out[3][4:]) == {-16}


def test_nanosleep_lets_others_run():
    def kernel(out, flag):
        i = cuda.threadIdx.x
        if i == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                cuda.nanosleep(np.uint32(50))
        elif i == 40:
            flag[0] = 1
        out[i] = i

    assert np.array_equal(run(kernel, np.zeros(1, np.int64), threads=64), np.arange(64))

"""Cooperative launches: cuda.cg.this_grid().sync(), what is refused, and who is named when blocks never come."""

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.cuda.cudadrv.driver import CudaAPIError


@pytest.fixture(autouse=True, params=["auto", "python"])
def mode(request):
    with options.override(mode=request.param):
        yield request.param


@cuda.jit
def heat(buffer_0, buffer_1, timesteps, k):
    i = cuda.grid(1)
    if i >= len(buffer_0):
        return
    grid = cuda.cg.this_grid()
    for step in range(timesteps):
        if step % 2 == 0:
            data, next_data = buffer_0, buffer_1
        else:
            data, next_data = buffer_1, buffer_0
        here = data[i]
        if i == 0:
            next_data[i] = here + k * (data[i + 1] - 2 * here)
        elif i == len(data) - 1:
            next_data[i] = here + k * (data[i - 1] - 2 * here)
        else:
            next_data[i] = here + k * (data[i - 1] - 2 * here + data[i + 1])
        grid.sync()


def heat_on_the_host(data, steps, k):
    for _ in range(steps):
        padded = np.concatenate([[0.0], data, [0.0]])
        data = data + k * (padded[:-2] - 2 * data + padded[2:])
    return data


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
@pytest.mark.parametrize("carrier", ["automatic", "fiber"])
def test_heat_equation(workers, policy, carrier, mode):
    blocks, threads, steps = (8, 32, 25) if mode == "python" else (32, 64, 101)
    start = np.random.default_rng(3).random(blocks * threads)
    buffers = cuda.to_device(start), cuda.to_device(np.zeros_like(start))
    with options.override(workers=workers, policy=policy, carrier=carrier):
        heat[blocks, threads](*buffers, steps, 0.25)
    result = buffers[steps % 2].copy_to_host()
    np.testing.assert_allclose(result, heat_on_the_host(start, steps, 0.25), rtol=1e-12)


def test_every_way_to_name_it():
    from cudasim.cuda import cg
    from cudasim.cuda.cg import this_grid

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[0, i] = cuda.cg.this_grid().sync()
        out[1, i] = cg.this_grid().sync()
        group = this_grid()
        out[2, i] = group.sync()
        group.sync()

    out = np.full((3, 64), -1, np.int32)
    kernel[4, 16](out)
    assert not out.any()


def test_device_functions_take_groups_and_make_them():
    @cuda.jit(device=True)
    def wait(group):
        group.sync()

    @cuda.jit(device=True)
    def own():
        return cuda.cg.this_grid()

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = i
        wait(own())
        other = x[(i + 1) % x.size]
        wait(cuda.cg.this_grid())
        x[i] = other

    x = np.zeros(96, np.int64)
    kernel[3, 32](x)
    assert np.array_equal(x, (np.arange(96) + 1) % 96)


def test_shared_and_local_memory_live_across_it():
    @cuda.jit
    def kernel(out):
        shared = cuda.shared.array(32, np.int64)
        local = cuda.local.array(2, np.int64)
        t = cuda.threadIdx.x
        grid = cuda.cg.this_grid()
        shared[t] = cuda.blockIdx.x * 100 + t
        local[0] = t
        grid.sync()
        cuda.syncthreads()
        out[cuda.grid(1)] = shared[31 - t] + local[0]

    out = np.zeros(5 * 32, np.int64)
    kernel[5, 32](out)
    assert np.array_equal(out, np.repeat(np.arange(5) * 100 + 31, 32))


def test_two_dimensional_grids_meet():
    @cuda.jit
    def kernel(a, b):
        row, column = cuda.grid(2)
        a[row, column] = row * 100 + column
        cuda.cg.this_grid().sync()
        b[column, row] = a[row, column] + a[a.shape[0] - 1 - row, a.shape[1] - 1 - column]

    a, b = np.zeros((12, 12)), np.zeros((12, 12))
    kernel[(3, 3), (4, 4)](a, b)
    assert (b == 1111).all()


def test_kernels_know_that_they_are_cooperative(mode):
    @cuda.jit
    def ordinary(x):
        x[0] = 1

    x = np.zeros(4, np.float32)
    ordinary[1, 1](x)
    heat[1, 4](np.zeros(4), np.zeros(4), 1, 0.1)
    ordinary.forall(4)(x)
    assert next(iter(ordinary.overloads.values())).cooperative is False
    assert all(kernel.cooperative for kernel in heat.overloads.values())


def test_more_blocks_than_fit_are_refused(mode):
    @cuda.jit
    def kernel(x):
        cuda.cg.this_grid().sync()
        x[0] = 1

    x = cuda.device_array(1)
    kernel[1, 1](x)
    compiled = next(iter(kernel.overloads.values()))
    most = compiled.max_cooperative_grid_blocks(1024)
    assert most == (132 * 2 if mode == "auto" else 16)
    assert compiled.max_cooperative_grid_blocks((32, 32)) == most
    assert compiled.max_cooperative_grid_blocks(32) == (132 * 32 if mode == "auto" else 512)
    assert compiled.max_cooperative_grid_blocks(256, dynsmemsize=100 * 1024) == (
        132 * 2 if mode == "auto" else 64
    )
    assert compiled.max_cooperative_grid_blocks(2048) == 0
    with pytest.raises(
        CudaAPIError, match=f"COOPERATIVE_LAUNCH_TOO_LARGE.*{most + 1} blocks of 1024 threads"
    ) as error:
        kernel[most + 1, 1024](x)
    assert error.value.code == 720
    if mode == "auto":
        kernel[most, 1024](x)


def test_static_shared_memory_counts(mode):
    if mode == "python":
        pytest.skip("known only when the kernel runs")

    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array(5001, np.float64)
        tile[0] = 1
        cuda.cg.this_grid().sync()
        x[0] = tile[0]

    x = cuda.device_array(1)
    kernel[1, 1](x)
    most = next(iter(kernel.overloads.values())).max_cooperative_grid_blocks(32)
    assert most == 132 * (228 * 1024 // (40016 + 1024))
    kernel[most, 32](x)
    with pytest.raises(CudaAPIError, match="TOO_LARGE"):
        kernel[most + 1, 32](x)


def test_blocks_that_end_early_are_named():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i >= x.size:
            return
        x[i] = i
        cuda.cg.this_grid().sync()

    with pytest.raises(errors.KernelError) as error:
        kernel[4, 32](np.zeros(70))
    text = str(error.value)
    assert (
        "tid=[0, 0, 0] ctaid=[0, 0, 0]: block 3 of 4 blocks ended without reaching the grid barrier" in text
    )
    assert "threads 0-31 waiting at grid barrier at test_cooperative.py" in text
    assert error.value.findings[0].kind == "deadlock"


def test_different_barriers_in_a_block_diverge():
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 8:
            cuda.syncthreads()
        else:
            cuda.cg.this_grid().sync()

    with pytest.raises(
        errors.KernelError,
        match="different barriers.*threads 0-7 waiting at barrier.*threads 8-31 waiting at grid barrier",
    ):
        kernel[2, 32](np.zeros(1))


def test_an_error_in_one_block_is_what_is_raised():
    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = 1
        cuda.cg.this_grid().sync()

    with pytest.raises(IndexError, match=r"tid=\[16, 0, 0\] ctaid=\[1, 0, 0\]: index 48"):
        kernel[3, 32](np.zeros(48))


def test_the_time_limit_ends_blocks_that_go_round():
    @cuda.jit
    def kernel(x):
        grid = cuda.cg.this_grid()
        while x[0] == 0:
            grid.sync()

    with options.override(time_limit=0.2), pytest.raises(TimeoutError, match="time limit"):
        kernel[4, 8](np.zeros(1))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_block_that_spins_for_ever_is_a_livelock(mode, workers):
    if mode == "python":
        pytest.skip("left to the time limit")

    @cuda.jit
    def kernel(flag):
        if cuda.blockIdx.x == 1:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        cuda.cg.this_grid().sync()

    with (
        options.override(workers=workers, time_limit=30),
        pytest.raises(errors.KernelError, match="no thread can ever go on") as error,
    ):
        kernel[4, 32](cuda.to_device(np.zeros(1, np.int32)))
    assert "waiting at grid barrier" in str(error.value)


def test_on_the_host_it_says_that_it_is_for_kernels():
    with pytest.raises(NotImplementedError, match="in a kernel only"):
        cuda.cg.this_grid()


def test_ptx_has_the_barrier(mode):
    if mode == "python":
        pytest.skip("nothing is compiled")
    kernel = heat.compile("void(float64[::1], float64[::1], int64, float64)")
    ptx = kernel.inspect_asm()
    assert ".extern .func" not in ptx and "cudasim_grid_generation" in ptx and "membar.gl" in ptx

"""The measured kernels: numba.cuda code that runs unchanged on cudasim and on Numba's simulator."""

from numba import cuda, float32, float64, int64

TILE = 16


@cuda.jit
def empty():
    pass


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def matmul_naive(a, b, out):
    column, row = cuda.grid(2)
    if row < out.shape[0] and column < out.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        out[row, column] = total


@cuda.jit
def matmul_tiled(a, b, out):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    column, row = cuda.grid(2)
    j = cuda.threadIdx.x
    i = cuda.threadIdx.y
    total = float32(0)
    for first in range(0, a.shape[1], TILE):
        tile_a[i, j] = 0
        tile_b[i, j] = 0
        if row < a.shape[0] and first + j < a.shape[1]:
            tile_a[i, j] = a[row, first + j]
        if first + i < b.shape[0] and column < b.shape[1]:
            tile_b[i, j] = b[first + i, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[i, k] * tile_b[k, j]
        cuda.syncthreads()
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = total


@cuda.jit
def mandelbrot(image, left, top, step, limit):
    column, row = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        real = left + column * step
        imaginary = top + row * step
        x = 0.0
        y = 0.0
        count = 0
        while count < limit and x * x + y * y <= 4.0:
            x, y = x * x - y * y + real, 2.0 * x * y + imaginary
            count += 1
        image[row, column] = count


@cuda.jit
def reduce_tree(x, out):
    shared = cuda.shared.array(256, float64)
    thread = cuda.threadIdx.x
    shared[thread] = x[thread]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if thread < step:
            shared[thread] += shared[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        out[0] = shared[0]


@cuda.jit
def reduce_blocks(x, out):
    shared = cuda.shared.array(256, float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if thread < step:
            shared[thread] += shared[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]


@cuda.jit
def count_values(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def barriers(count, out):
    for _ in range(count):
        cuda.syncthreads()
    out[cuda.threadIdx.x] = count


@cuda.jit
def pass_on(rounds, out):
    shared = cuda.shared.array(256, int64)
    thread = cuda.threadIdx.x
    shared[thread] = thread
    cuda.syncthreads()
    for _ in range(rounds):
        value = shared[(thread + 1) % 256]
        cuda.syncthreads()
        shared[thread] = value
        cuda.syncthreads()
    out[thread] = shared[thread]


@cuda.jit
def warp_means(x, rounds):
    i = cuda.threadIdx.x
    mean = x[i]
    for _ in range(rounds):
        total = mean
        lanes = 16
        while lanes > 0:
            total += cuda.shfl_xor_sync(0xFFFFFFFF, total, lanes)
            lanes //= 2
        mean = total / float32(32)
    x[i] = mean


@cuda.jit
def grid_barriers(count, out):
    grid = cuda.cg.this_grid()
    for _ in range(count):
        grid.sync()
    out[cuda.grid(1)] = count


def add_two(a, b):
    return a + b


@cuda.jit
def twenty_lines(x, y, out, limit):
    row, column = cuda.grid(2)
    if row >= out.shape[0] or column >= out.shape[1]:
        return
    total = 0.0
    smallest = x[row, 0]
    largest = x[row, 0]
    for k in range(x.shape[1]):
        value = x[row, k] * y[k, column]
        if value < 0.0:
            value = -value
        elif value > limit:
            value = limit
        total += value
        smallest = min(smallest, value)
        largest = max(largest, value)
    spread = largest - smallest
    if spread > 0.0:
        out[row, column] = total / spread
    else:
        out[row, column] = 0.0


def multiply_add():
    """A ufunc; made when it is measured, as it is compiled at once."""
    return cuda.vectorize(["float32(float32, float32)"])(lambda x, y: x * y + x)


def pi():
    """The kernel of numba.cuda's tutorial on random numbers."""
    from numba.cuda.random import xoroshiro128p_uniform_float32

    @cuda.jit
    def kernel(states, draws, out):
        thread = cuda.grid(1)
        inside = 0
        for _ in range(draws):
            x = xoroshiro128p_uniform_float32(states, thread)
            y = xoroshiro128p_uniform_float32(states, thread)
            if x * x + y * y <= 1.0:
                inside += 1
        out[thread] = 4.0 * inside / draws

    return kernel

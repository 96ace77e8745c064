"""Kernels with races and their clean twins: what is expected stands beside the lines.

`# race: A` marks both lines of a pair of accesses that race, or the one line that races with itself. `# equal: A` marks lines of
which the accesses race, but write equal values. A kernel without such comments is clean. CASES has kernel, grid, block and
arguments.
"""

# fmt: off
from cudasim import cuda
from cudasim.types import int32, uint8

CASES = {}


def case(grid, block, *arguments):
    """Adds a kernel. Arguments are (shape, dtype): arrays of zeros."""

    def add(function):
        CASES[function.__name__] = (cuda.jit(function), grid, block, arguments)
        return function

    return add


def ints(*shape):
    return shape, "int32"


@case(1, 128, ints(128))
def sum_without_barrier(out):
    tile = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    tile[t] = t  # race: A
    if t == 0:
        total = 0
        for i in range(128):
            total += tile[i]  # race: A
        out[0] = total


@case(1, 128, ints(128))
def sum_with_barrier(out):
    tile = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    if t == 0:
        total = 0
        for i in range(128):
            total += tile[i]
        out[0] = total


@case(2, 64, ints(64))
def reversed_twice(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for _ in range(2):
        tile[t] = out[t]  # race: A, race: B
        cuda.syncthreads()
        if cuda.blockIdx.x == 0:
            out[t] = tile[63 - t]  # race: A, race: B


@case(1, 64, ints(64))
def missing_second_barrier(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for i in range(3):
        tile[t] = i + t  # race: A
        cuda.syncthreads()
        out[t] += tile[63 - t]  # race: A


@case(1, 64, ints(64))
def both_barriers(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    for i in range(3):
        tile[t] = i + t
        cuda.syncthreads()
        out[t] += tile[63 - t]
        cuda.syncthreads()


@case(4, 32, ints(32))
def blocks_share_a_cell(out):
    t = cuda.threadIdx.x
    out[t] += t  # race: A


@case(4, 32, ints(32))
def blocks_add_atomically(out):
    cuda.atomic.add(out, cuda.threadIdx.x, 1)


@case(4, 32, ints(128))
def blocks_have_their_own(out):
    out[cuda.grid(1)] += 1


@case(1, 32, ints(1))
def one_atomic_one_plain(out):
    if cuda.threadIdx.x == 0:
        out[0] = 0  # race: A
    cuda.atomic.add(out, 0, 1)  # race: A


@case(1, 32, ints(1))
def plain_before_barrier(out):
    if cuda.threadIdx.x == 0:
        out[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(out, 0, 1)


@case(1, 64, ints(1))
def all_set_one_flag(out):
    out[0] = 1  # equal: A


@case(1, 64, ints(64))
def neighbours_in_a_warp(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = t  # race: A
    out[t] = tile[t ^ 1]  # race: A


@case(1, 64, ints(64))
def neighbours_after_syncwarp(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncwarp()
    out[t] = tile[t ^ 1]


@case(1, 64, ints(64))
def syncwarp_does_not_reach_the_other_warp(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = t  # race: A
    cuda.syncwarp()
    out[t] = tile[t ^ 32]  # race: A


@case(1, 32, ints(32))
def shuffles_order_no_memory(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    tile[t] = t  # race: A
    other = cuda.shfl_xor_sync(0xFFFFFFFF, t, 1)
    out[t] = tile[other]  # race: A


@case(1, 32, ints(32))
def half_of_the_warp_meets(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    if t < 16:
        tile[t] = t
        cuda.syncwarp(0xFFFF)
        out[t] = tile[15 - t]


@case(3, 64, ints(64), ints(1), ints(1))
def last_block(data, counter, out):
    last = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    cuda.atomic.add(data, t, 1)
    if cuda.blockIdx.x == 0 and t == 0:
        out[0] = 0
    cuda.threadfence()
    cuda.syncthreads()
    if t == 0:
        last[0] = cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and t == 0:
        out[0] = 7


@case(3, 64, ints(3), ints(1), ints(1))
def last_block_without_fence(partial, counter, out):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = 1  # race: A
        if cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1:
            total = 0
            for i in range(cuda.gridDim.x):
                total += partial[i]  # race: A
            out[0] = total


@case(3, 64, ints(3), ints(1), ints(1))
def last_block_with_a_fence_of_the_block(partial, counter, out):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = 1  # race: A
        cuda.threadfence_block()
        if cuda.atomic.add(counter, 0, 1) == cuda.gridDim.x - 1:
            total = 0
            for i in range(cuda.gridDim.x):
                total += partial[i]  # race: A
            out[0] = total


@case(4, 32, ints(1), ints(1))
def lock(mutex, value):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.compare_and_swap(mutex, 0, 1) != 0:
            pass
        cuda.threadfence()
        value[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(mutex, 0, 0)


@case(4, 32, ints(1), ints(1))
def lock_taken_without_fence(mutex, value):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.compare_and_swap(mutex, 0, 1) != 0:
            pass
        value[0] += 1  # race: A
        cuda.threadfence()
        cuda.atomic.exch(mutex, 0, 0)


@case(4, 32, ints(1), ints(1))
def lock_released_without_fence(mutex, value):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.compare_and_swap(mutex, 0, 1) != 0:
            pass
        cuda.threadfence()
        value[0] += 1  # race: A
        cuda.atomic.exch(mutex, 0, 0)


@case(4, 32, ints(2), ints(1))
def ticket_lock(ticket, value):
    if cuda.threadIdx.x == 0:
        mine = cuda.atomic.add(ticket, 0, 1)
        while cuda.atomic.add(ticket, 1, 0) != mine:
            pass
        value[0] += 1
        cuda.threadfence()
        cuda.atomic.add(ticket, 1, 1)


@case(1, 64, ((64,), "uint8"))
def bytes_of_one_word(out):
    out[cuda.threadIdx.x] = uint8(1)


@case(1, 64, ((64,), "uint8"))
def neighbouring_bytes(out):
    t = cuda.threadIdx.x
    out[t] = uint8(t)  # race: A
    if t > 0:
        out[t - 1] = uint8(t + 100)  # race: A


@case(1, 64, ((64,), "float64"))
def doubles(out):
    t = cuda.threadIdx.x
    out[t] = t  # race: A
    out[(t + 1) % 64] = 1.5  # race: A


@case(4, 16, ints(64))
def cooperative_grid(out):
    i = cuda.grid(1)
    out[i] = i
    cuda.cg.this_grid().sync()
    other = out[max(i - 1, 0)]
    cuda.cg.this_grid().sync()
    out[i] = other


@case(4, 16, ints(64))
def stencil_in_place(out):
    i = cuda.grid(1)
    if 0 < i < 63:
        out[i] = out[i - 1] + out[i + 1]  # race: A


@case(2, 64, ints(64), ints(2))
def tree_reduction(data, out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = data[t]
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


@case(2, 64, ints(64), ints(2))
def tree_reduction_with_a_late_barrier(data, out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    tile[t] = data[t]
    cuda.syncthreads()
    step = 32
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]  # race: A
        step //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


@case(1, 32, ((8, 4), "int32"))
def slices(out):
    t = cuda.threadIdx.x
    if t < 8:
        out[t, :] = t


@case(1, 32, ints(33))
def dynamic_index(out):
    t = cuda.threadIdx.x
    out[t] = out[t + 1]  # race: A


@case(2, 64, ints(2), ints(128))
def two_reads_never_race(x, out):
    i = cuda.grid(1)
    before = cuda.atomic.cas(x, 1, 7, 8)
    out[i] = x[1] + before


@case(2, 64, ints(2), ints(128))
def a_swap_that_succeeds_is_a_write(x, out):
    i = cuda.grid(1)
    before = cuda.atomic.cas(x, 1, 0, 8)  # race: A
    out[i] = x[1] + before  # race: A


def add_by_swaps(x, i, value):
    old = x[i]
    while True:
        assumed = old
        old = cuda.atomic.cas(x, i, assumed, assumed + value)
        if old == assumed:
            break
    return old


add_of_device = cuda.jit(device=True)(add_by_swaps)

# What Python mode cannot know: it sees accesses, and not what depends on what they read.
COMPILED = {}


def compiled_case(grid, block, *arguments):
    def add(function):
        COMPILED[function.__name__] = (cuda.jit(function), grid, block, arguments)
        return function

    return add


@compiled_case(2, 64, ints(2))
def compare_and_swap_verifies_a_plain_read(x):
    add_of_device(x, 0, 3)
    add_of_device(x, cuda.threadIdx.x % 2, 1)


@compiled_case(2, 64, ints(64))
def compare_and_swap_in_shared_memory(out):
    counts = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    if t < 4:
        counts[t] = 0
    cuda.syncthreads()
    add_of_device(counts, t % 4, t)
    cuda.syncthreads()
    if t < 4 and cuda.blockIdx.x == 0:
        out[t] = counts[t]


@compiled_case(2, 64, ints(2), ints(128))
def what_is_read_is_used_otherwise_too(x, out):
    old = x[0]  # race: A
    out[cuda.grid(1)] = old
    while True:
        assumed = old
        old = cuda.atomic.cas(x, 0, assumed, assumed + 1)  # race: A
        if old == assumed:
            break


@compiled_case(4, 64, ints(4), ints(1), ints(1))
def the_last_block_resets_the_counter(partial, count, out):
    last = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = 2
        cuda.threadfence()
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and cuda.threadIdx.x == 0:
        total = 0
        for i in range(cuda.gridDim.x):
            total += partial[i]
        out[0] = total
        count[0] = 0

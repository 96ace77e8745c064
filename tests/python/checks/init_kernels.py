"""Kernels that use values nobody wrote, and their clean twins: `# uninitialised` marks the lines that use one.

CASES has kernel, grid, block and arguments.
"""

# fmt: off
from cudasim import cuda
from cudasim.types import float32, int8, int16, int32, int64

CASES = {}


def case(grid, block, *arguments):
    """Adds a kernel. Arguments are (shape, dtype, written): arrays on the device, of zeros or of nothing; or numbers."""

    def add(function):
        CASES[function.__name__] = (cuda.jit(function), grid, block, arguments)
        return function

    return add


def zeros(*shape, dtype="int32"):
    return shape, dtype, True


def empty(*shape, dtype="int32"):
    return shape, dtype, False


@case(2, 32, empty(64), zeros(64))
def an_operand(a, out):
    i = cuda.grid(1)
    out[i] = a[i] + 1  # uninitialised


@case(2, 32, zeros(64), empty(64))
def a_written_operand(a, out):
    i = cuda.grid(1)
    out[i] = a[i] + 1


@case(2, 32, empty(64), empty(64))
def a_copy(a, out):
    i = cuda.grid(1)
    out[i] = a[i]


@case(1, 32, empty(32, dtype="complex128"), empty(32, dtype="complex128"))
def a_copy_of_complex_numbers(a, out):
    i = cuda.grid(1)
    out[i] = a[i]


@case(1, 32, empty(32, dtype="bool"), empty(32, dtype="bool"), empty(32, dtype="int8"), empty(32, dtype="int16"))
def a_copy_of_small_ones(a, out, b, wide):
    i = cuda.grid(1)
    out[i] = a[i]
    wide[i] = b[i]


@case(1, 64, zeros(64))
def swapped_through_a_local(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    if t % 2 == 0:
        tile[t] = t
    cuda.syncthreads()
    if t % 2 == 0:
        kept = tile[t]
        tile[t] = tile[t + 1]
        tile[t + 1] = kept
    cuda.syncthreads()
    if t % 2 == 1:
        out[t] = tile[t] * 2


@case(1, 64, zeros(64))
def carried_to_its_use(out):
    tile = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    kept = tile[t]
    cuda.syncthreads()
    if t < 63:
        kept = t
    tile[63 - t] = kept
    cuda.syncthreads()
    out[t] = tile[t] * 2  # uninitialised


@case(1, 32, empty(1, dtype="float32"), zeros(1))
def a_branch(a, out):
    if a[0] > 0:  # uninitialised
        out[0] = 1


@case(1, 1, empty(4), zeros(8))
def an_index(which, out):
    out[which[2] & 7] = 1  # uninitialised


@case(1, 1, empty(1), zeros(1))
def a_count_of_a_loop(n, out):
    for _ in range(n[0] & 3):  # uninitialised
        out[0] += 1


@case(2, 32, empty(1))
def an_atomic_counter(count):
    cuda.atomic.add(count, 0, 1)  # uninitialised


@case(2, 32, zeros(1))
def a_cleared_counter(count):
    cuda.atomic.add(count, 0, 1)


@case(1, 32, empty(1))
def an_atomic_counter_that_is_cleared_here(count):
    if cuda.threadIdx.x == 0:
        count[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(count, 0, 1)


@case(1, 32, empty(1), zeros(1))
def an_operand_of_an_atomic(a, out):
    cuda.atomic.max(out, 0, a[0])  # uninitialised


@case(1, 1, empty(1))
def exchanged_without_a_look(a):
    cuda.atomic.exch(a, 0, 3)


@case(1, 1, empty(1))
def compared_and_exchanged(a):
    cuda.atomic.cas(a, 0, 0, 3)  # uninitialised


@case(1, 128, zeros(1, dtype="float32"))
def a_tile_with_a_hole(out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    if t != 17:
        tile[t] = t
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for i in range(128):
            total += tile[i]  # uninitialised
        out[0] = total


@case(1, 128, zeros(1, dtype="float32"))
def a_tile_without(out):
    tile = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    tile[t] = t
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for i in range(128):
            total += tile[i]
        out[0] = total


@case(3, 32, zeros(32))
def a_tile_of_the_block_before(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        tile[t] = t
    out[t] = tile[t] + 1  # uninitialised


@case(1, 32, zeros(32), 5)
def a_local_array(out, n):
    values = cuda.local.array(8, int32)
    for i in range(n):
        values[i] = i
    out[cuda.threadIdx.x] = values[cuda.threadIdx.x % 8] + 1  # uninitialised


@case(1, 32, zeros(32), 8)
def a_full_local_array(out, n):
    values = cuda.local.array(8, int32)
    for i in range(n):
        values[i] = i
    out[cuda.threadIdx.x] = values[cuda.threadIdx.x % 8] + 1


@case(1, 4, zeros(4))
def a_local_scalar_array(out):
    values = cuda.local.array(2, int32)
    if cuda.threadIdx.x > 1:
        values[0] = 3
    out[cuda.threadIdx.x] = values[0] * 2  # uninitialised


@case(1, 32, zeros(32))
def shuffled_and_used(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    if t < 16:
        tile[t] = t
    got = cuda.shfl_down_sync(0xFFFFFFFF, tile[t], 1)
    out[t] = got + 1  # uninitialised


@case(1, 32, zeros(32))
def shuffled_and_left(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    if t < 16:
        tile[t] = t
    got = cuda.shfl_down_sync(0xFFFFFFFF, tile[t], 1)
    if t < 15:
        out[t] = got + 1


@case(1, 32, zeros(32, dtype="int64"))
def shuffled_long(out):
    tile = cuda.shared.array(32, int64)
    t = cuda.threadIdx.x
    if t != 5:
        tile[t] = t
    got = cuda.shfl_xor_sync(0xFFFFFFFF, tile[t], 1)
    if t != 4:
        out[t] = got + 1
    else:
        out[t] = got - 1  # uninitialised


@case(1, 16, zeros(32))
def shuffled_from_a_lane_that_is_not_there(out):
    t = cuda.threadIdx.x
    out[t] = cuda.shfl_sync(0xFFFF, t, 20) + 1  # uninitialised


@case(1, 32, zeros(32))
def a_vote(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    if t != 5:
        tile[t] = t
    out[t] = cuda.ballot_sync(0xFFFFFFFF, tile[t] > 3)  # uninitialised


@case(1, 32, zeros(32))
def a_selection(out):
    tile = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    tile[t] = t
    other = cuda.shared.array(32, int32)
    chosen = tile[t] if t < 40 else other[t]
    out[t] = chosen + 1


@case(1, 32, zeros(32, dtype="int64"))
def bytes_of_a_word(out):
    tile = cuda.shared.array(64, int8)
    t = cuda.threadIdx.x
    tile[2 * t] = t
    out[t] = tile[2 * t] * 3
    out[t] += tile[2 * t + 1] * 3  # uninitialised


@case(1, 8, zeros(8), empty(16, dtype="int16"))
def packed_into_a_word(out, halves):
    t = cuda.threadIdx.x
    word = int32(halves[2 * t]) & 0xFFFF | int32(halves[2 * t + 1]) << 16
    out[t] = word


@case(1, 8, zeros(8), zeros(8, 3), empty(8, 3))
def through_views(out, a, b):
    t = cuda.threadIdx.x
    row = b[t]
    row[0] = a[t, 0]
    row[1] = a[t, 1]
    out[t] = row[0] + row[1]
    out[t] += row[2]  # uninitialised


@case(1, 1, empty(2, dtype="float32"))
def an_argument_of_a_function(a):
    a[1] = abs(a[0])  # uninitialised


@case(1, 32, empty(32), zeros(32))
def a_short_circuit(a, out):
    t = cuda.threadIdx.x
    if t > 100 and a[t] > 0:
        out[t] = 1


@case(4, 64, empty(4), zeros(256, dtype="int64"))
def partial_sums(sums, x):
    tile = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    tile[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    s = 32
    while s > 0:
        if t < s:
            tile[t] += tile[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


@case(1, 8, zeros(8))
def dynamic_shared_memory(out):
    whole = cuda.shared.array(0, int16)
    t = cuda.threadIdx.x
    out[t] = whole[t] + 1  # uninitialised

"""More kernels that use values nobody wrote, beside clean twins, in the form of init_kernels: what Python mode has seams for."""

# fmt: off
import math

import numpy as np
from cudasim import cuda
from cudasim.types import boolean, complex64, float32, float64, int8, int32, int64, uint8, uint16
from init_kernels import empty, zeros

CASES = {}
#: Numba's CUDA target refuses them, so that they run in Python mode only.
PYTHON_ONLY = {"a_copy_of_a_slice", "a_wider_copy_of_a_slice"}
PAIR = np.dtype([("a", np.int32), ("b", np.float64), ("c", np.int16, (3,))], align=True)


def case(grid, block, *arguments):
    """Adds a kernel, as init_kernels.case()."""

    def add(function):
        CASES[function.__name__] = (cuda.jit(function), grid, block, arguments)
        return function

    return add


@case(1, 4, empty(4, dtype=PAIR), zeros(4, dtype="float64"))
def a_field_of_a_record(records, out):
    t = cuda.threadIdx.x
    records[t].a = t
    out[t] = records[t].a * 2
    out[t] += records[t].b * 2  # uninitialised


@case(1, 4, empty(4, dtype=PAIR), zeros(4, dtype="float64"))
def an_element_of_a_field(records, out):
    t = cuda.threadIdx.x
    records[t].c[1] = 5
    out[t] = records[t].c[1] + 1
    out[t] += records[t].c[2] + 1  # uninitialised


@case(1, 2, empty(4, dtype=PAIR), zeros(4, dtype="float64"))
def a_copy_of_a_record(records, out):
    t = cuda.threadIdx.x
    records[t].b = 3.0
    records[t + 2] = records[t]
    out[t] = records[t + 2].b + 1
    out[t] += records[t + 2].a + 1  # uninitialised


@case(1, 1, empty(8), zeros(8))
def a_copy_of_a_slice(a, out):
    tile = cuda.shared.array(8, int32)
    for i in range(4):
        tile[i] = i
    a[:] = tile[::-1]
    for i in range(4, 8):
        out[i] = a[i] + 1
    out[0] = a[0] + 1  # uninitialised


@case(1, 1, zeros(8), zeros(4, dtype="int64"))
def a_wider_copy_of_a_slice(out, wide):
    tile = cuda.shared.array(4, int8)
    tile[0] = 3
    wide[:] = tile
    out[0] = wide[0] + 1
    out[1] = wide[1] + 1  # uninitialised


@case(1, 1, empty(1), empty(4), zeros(4))
def one_number_for_a_slice(a, b, out):
    b[:2] = a[0]
    b[2:] = 5
    out[0] = b[2] + b[3]
    out[1] = b[0] + 1  # uninitialised


@case(1, 1, empty(4, dtype="complex64"), zeros(4, dtype="float32"))
def parts_of_a_complex_number(a, out):
    parts = cuda.local.array(2, float32)
    parts[0] = 2
    b = a[0]
    out[0] = b.real  # a copy
    out[1] = b.imag + 1  # uninitialised


@case(1, 1, empty(4, dtype="complex64"), zeros(4, dtype="complex64"))
def arithmetic_of_complex_numbers(a, out):
    out[0] = out[1] * complex64(2)
    out[1] = a[1] * a[0]  # uninitialised


@case(1, 1, empty(1, dtype="float32"), zeros(4, dtype="float32"))
def a_function_of_the_library(a, out):
    out[0] = math.sin(out[1])
    out[1] = math.sqrt(a[0])  # uninitialised


@case(1, 1, empty(1, dtype="float64"), zeros(4, dtype="float64"))
def a_function_of_libdevice(a, out):
    out[0] = cuda.libdevice.hypot(out[1], out[2])
    out[1] = cuda.libdevice.hypot(out[0], a[0])  # uninitialised


@case(1, 1, empty(1), zeros(4))
def the_smaller_of_two(a, out):
    out[0] = min(out[1], 3)
    out[1] = min(a[0], 3)  # uninitialised


@case(1, 1, empty(4, dtype="uint8"), zeros(4, dtype="int64"))
def bytes_packed_into_a_word(a, out):
    word = int64(a[0]) | int64(a[1]) << 8 | int64(a[2]) << 16
    out[0] = word


@case(1, 1, empty(4, dtype="uint8"), zeros(4, dtype="int64"))
def a_written_byte_of_a_packed_word(a, out):
    a[0] = 3
    word = int64(a[0]) | int64(a[1]) << 8
    out[0] = (word & 0xFF) + 1
    out[1] = (word >> 8 & 0xFF) + 1  # uninitialised


@case(1, 1, empty(4, dtype="int64"), zeros(4))
def narrowed_on_the_way(a, out):
    out[0] = int32(a[0])
    out[1] = uint16(a[1])
    out[2] = int32(uint8(a[2])) + 1  # uninitialised


@case(1, 1, empty(4), zeros(4, dtype="float64"))
def made_a_float(a, out):
    out[0] = float64(out[1])
    out[1] = float64(a[1])  # uninitialised


@case(1, 1, empty(4), zeros(4, dtype="float64"))
def stored_as_a_float(a, out):
    out[0] = a[1]  # uninitialised


@case(1, 1, empty(4, dtype="float32"), zeros(4))
def stored_as_an_integer(a, out):
    out[0] = a[1]  # uninitialised


@case(1, 1, empty(4, dtype="bool"), empty(4, dtype="bool"), zeros(4))
def a_flag(a, b, out):
    b[0] = a[0]
    b[1] = True
    if b[1]:
        out[0] = 1
    if b[0]:  # uninitialised
        out[1] = 1


@case(1, 1, empty(4), zeros(4))
def a_condition_that_is_a_number(a, out):
    if not a[3]:  # uninitialised
        out[0] = 1


@case(1, 1, empty(4), zeros(4))
def a_loop_until(a, out):
    i = 0
    while a[0] != i and i < 1:  # uninitialised
        i += 1
    out[0] = i


@case(1, 1, empty(4), zeros(4))
def a_selection_of_a_hole(a, out):
    chosen = a[0] if out[0] == 0 else out[1]
    out[2] = chosen
    out[3] = cuda.selp(out[0] == 1, a[1], out[1])
    out[0] = cuda.selp(out[0] == 0, a[1], out[1])
    out[1] = chosen + 1  # uninitialised


@case(1, 1, empty(4), zeros(4))
def an_exchange_whose_result_is_used(a, out):
    cuda.atomic.exch(a, 1, 3)
    out[0] = a[1] + 1
    out[1] = cuda.atomic.exch(a, 0, 3)  # uninitialised


@case(1, 1, empty(4), zeros(4))
def an_operand_of_an_exchange(a, out):
    cuda.atomic.exch(out, 0, 4)
    cuda.atomic.exch(out, 0, a[0])  # uninitialised


@case(1, 1, empty(4), zeros(4))
def a_swap_of_a_written_element(a, out):
    a[1] = 3
    cuda.atomic.cas(a, 1, 3, 4)
    out[0] = a[1] + 1


@case(1, 2, zeros(2))
def a_swap_that_finds_something_else(out):
    a = cuda.shared.array(2, int32)
    out[cuda.threadIdx.x] = cuda.atomic.cas(a, cuda.threadIdx.x, 7, 8)  # uninitialised
    out[cuda.threadIdx.x] += a[cuda.threadIdx.x]


@cuda.jit
def doubled(x):
    return x * 2  # uninitialised


@cuda.jit
def handed_back(x):
    return x


@case(1, 1, empty(4), zeros(4))
def passed_to_a_function(a, out):
    out[0] = doubled(out[1])
    out[1] = handed_back(a[1])
    out[2] = doubled(a[2])


@case(1, 32, zeros(32))
def a_local_array_of_the_thread_before(out):
    values = cuda.local.array(4, int32)
    if cuda.threadIdx.x == 0:
        values[2] = 1
    out[cuda.threadIdx.x] = values[2] + 1  # uninitialised


@case(1, 32, zeros(32, dtype="float32"))
def local_arrays_of_calls(out):
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(3):
        total += filled(i)
    out[t] = total


@cuda.jit
def filled(n):
    values = cuda.local.array(8, float32)
    for i in range(8):
        values[i] = n
    return values[n]


@case(1, 1, zeros(4))
def other_dimensions(out):
    tile = cuda.shared.array((2, 3), int32)
    tile[1, 1] = 3
    out[0] = tile[1][1] + 1
    out[1] = tile.reshape(6)[4] + 1
    out[2] = tile.T[1, 1] + 1
    out[3] = tile.T[0, 1] + 1  # uninitialised


@case(1, 1, empty(4, dtype="float32"), zeros(4))
def seen_as_another_type(a, out):
    a[1] = 2.0
    out[0] = a.view(np.int32)[1] + 1
    out[1] = a.view(np.int32)[0]
    out[2] = a.view(np.int32)[0] + 1  # uninitialised


@case(1, 1, empty(4, dtype="float16"), empty(4, dtype="float16"))
def halves(a, b):
    a[0] = b[0]
    a[1] = 2.0
    b[1] = a[1] + a[1]
    b[2] = a[0] + a[1]  # uninitialised


@case(1, 1, empty(2, dtype="datetime64[s]"), empty(2, dtype="datetime64[s]"), zeros(2))
def dates(a, b, out):
    a[0] = b[0]
    if a[0] == b[1]:  # uninitialised
        out[0] = 1


@case(1, 4, zeros(4, dtype="float64"))
def shuffled_doubles(out):
    tile = cuda.shared.array(4, float64)
    t = cuda.threadIdx.x
    if t > 0:
        tile[t] = t
    got = cuda.shfl_up_sync(0xF, tile[t], 1)
    if t > 1:
        out[t] = got + 1
    elif t == 1:
        out[t] = got + 2  # uninitialised


@case(1, 4, zeros(4))
def votes_and_counts(out):
    tile = cuda.shared.array(4, boolean)
    t = cuda.threadIdx.x
    tile[t] = t > 1
    cuda.syncthreads()
    out[t] = cuda.syncthreads_count(int32(tile[t]))
    other = cuda.shared.array(4, boolean)
    out[t] += cuda.syncthreads_count(int32(other[t]))  # uninitialised


@case(1, 1, empty(4, dtype="int8"), zeros(4), zeros(4, dtype="int8"))
def through_an_index(a, out, written):
    out[written[0]] = 3
    out[a[0] & 1] = 3  # uninitialised

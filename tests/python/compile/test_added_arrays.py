"""Arrays of types of a program's own as arguments of kernels: what typeof_impl says of an object, and what an extension of @cuda.jit
makes of it."""

import pytest
from test_added_operations import BOTH_MODES, TYPEOF
from test_added_types import CONSTRUCTOR, PRELUDE, run

SPANS = """
class Spans:
    def __init__(self, array):
        self.array = array

@typeof_impl.register(Spans)
def typeof_spans(value, context):
    return types.Array(span, 1, "C")

class OfTheirArrays:
    def prepare_args(self, kind, value, stream, retr):
        return (types.Array(span, 1, "C"), value.array) if isinstance(value, Spans) else (kind, value)

records = np.dtype([("begin", np.float64), ("open", np.bool_), ("end", np.float64)], align=True)
host = np.zeros(3, records)
host["begin"], host["end"] = [1, 2, 3], [4, 5, 6]
"""


@BOTH_MODES
def test_an_extension_gives_the_array_of_an_object(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, SPANS, """
@cuda.jit(extensions=[OfTheirArrays()])
def kernel(out, given, pair):
    i = cuda.grid(1)
    out[i] = given[i].begin + pair[1][i].end
    given[i] = given[0]

on_device, out = cuda.to_device(host), np.zeros(3)
kernel[1, 2](out, Spans(on_device), (1, Spans(on_device)))
print(out.tolist(), on_device.copy_to_host().tolist())
kernel[1, 2](out, Spans(host), (1, Spans(on_device)))
print(host.tolist(), {tuple(map(str, kinds))[1] for kinds in kernel.signatures})
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == (
        "[5.0, 7.0, 0.0] [(1.0, False, 4.0), (1.0, False, 4.0), (3.0, False, 6.0)]\n"
        "[(1.0, False, 4.0), (1.0, False, 4.0), (3.0, False, 6.0)] {'array(Span, 1d, C)'}\n"
    ), done.stderr


@BOTH_MODES
def test_values_of_the_type_are_stored(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, SPANS, """
Span.open = True

@cuda.jit(extensions=[OfTheirArrays()])
def kernel(given):
    for i in range(len(given)):
        given[i] = Span(given[i].end, 10 * i)

on_device = cuda.to_device(host)
kernel[1, 1](Spans(on_device))
print(on_device.copy_to_host().tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[(4.0, True, 0.0), (5.0, True, 10.0), (6.0, True, 20.0)]\n", done.stderr


@BOTH_MODES
def test_arrays_of_which_a_program_says_what_they_hold(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, SPANS, """
from numba.cuda.cudadrv.devicearray import DeviceNDArray

class Library:
    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__

@typeof_impl.register(Library)
@typeof_impl.register(DeviceNDArray)
def typeof_array(value, context):
    if isinstance(value, Library) or value.dtype == records:
        return types.Array(span, 1, "C")

@cuda.jit
def kernel(out, given, others, plain):
    out[0] = given[1].begin + others[2].end + plain[0].x

out, on_device = np.zeros(1), cuda.to_device(host)
kernel[1, 1](out, on_device, Library(on_device), cuda.to_device(np.ones(1, [("x", np.float32)])))
print(out, [str(kind).partition("(")[2] for kind in kernel.signatures[0][1:]])
try:
    kernel[1, 1](out, on_device, Library(cuda.to_device(np.zeros(1))), on_device)
except TypeError as error:
    print(error)
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == (
        "[9.] ['Span, 1d, C)', 'Span, 1d, C)', 'Record(x[type=float32;offset=0];4;False), 1d, C)']\n"
        "array(Span, 1d, C) has 1 dimensions and elements of 24 bytes, as the data model of Span lays them out; the array that was given "
        "for it has 1, and elements of 8 bytes\n"
    ), done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("host[:, None]", "the array that was given for it has 2, and elements of 24 bytes"),
        ("3", "an argument of type array(Span, 1d, C) is an array; prepare_args() of the kernel's extensions has given a int"),
    ],
)  # fmt: skip
def test_what_is_no_such_array(run_with_numba, given, said):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, SPANS, f"""
@cuda.jit(extensions=[OfTheirArrays()])
def kernel(given):
    given[0] = given[1]

kernel[1, 1](Spans({given}))
""")  # fmt: skip
    assert "TypeError: " in done.stderr
    assert said in done.stderr


@BOTH_MODES
def test_numbers_have_the_type_that_an_extension_says(run_with_numba, mode):
    done = run(run_with_numba, """
import numpy as np
from numba import cuda, types
from numba.cuda.extending import typeof_impl

class Weight:
    value = 0.1

@typeof_impl.register(Weight)
def typeof_weight(value, context):
    return types.float32

class OfWeights:
    def prepare_args(self, kind, value, stream, retr):
        return (types.float32, value.value) if isinstance(value, Weight) else (kind, value)

@cuda.jit(extensions=[OfWeights()])
def kernel(out, given):
    out[0] = given

out = np.zeros(1)
kernel[1, 1](out, Weight())
print(out[0] == np.float32(0.1))
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "True\n", done.stderr


@BOTH_MODES
def test_what_overloads_give_shared_and_local_arrays(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, """
from numba.cuda.extending import overload_attribute

@overload_method(types.Array, "least")
def least(array):
    def method(array):
        found = array[0].begin
        for i in range(len(array)):
            found = min(found, array[i].begin)
        return found
    return method if array.dtype == span else None

@overload_attribute(types.Array, "last")
def last(array):
    return (lambda array: array[-1].begin) if array.dtype == span else None

def described(of):
    pass

@overload(described)
def described_array(of):
    kinds = [types.Array(span, 1, "C"), types.Array(span, 1, "A"), types.Array(span, 2, "C")]
    number = kinds.index(of)
    return lambda of: number

@cuda.jit
def kernel(out):
    local, shared = cuda.local.array(3, span), cuda.shared.array((2, 4), span)
    for i in range(3):
        local[i] = shared[0, i] = shared[1, i] = Span(5 - i, 9)
    out[0], out[1], out[2] = local.least(), local.last, shared[0, :3].least()
    out[3], out[4], out[5] = described(local), described(shared[:, 1]), described(shared)

out = np.zeros(6)
kernel[1, 1](out)
print(out.tolist())
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[3.0, 3.0, 3.0, 0.0, 1.0, 2.0]\n", done.stderr


@BOTH_MODES
def test_elements_are_values_of_the_type(run_with_numba, mode):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, SPANS, """
@overload_method(SpanType, "reach")
def reach(self):
    return lambda self: self.end - self.begin

@overload(operator.add)
def plus(a, b):
    return (lambda a, b: a.begin + b.begin) if isinstance(a, SpanType) and isinstance(b, SpanType) else None

@overload_method(types.Array, "first")
def first(array):
    return (lambda array: array[0].reach()) if array.dtype == span else None

@cuda.jit(device=True)
def began(of):
    return of.begin

@cuda.jit(extensions=[OfTheirArrays()])
def kernel(out, given):
    out[0], out[1], out[2] = given[1].reach(), given[1] + given[2], began(given[-1])
    for each in given[1:]:
        out[3] += each.reach()
    given[0] = given[2]
    out[4], out[5] = given.first(), given.size + given[::-1].shape[0]

out = np.zeros(6)
host["end"] = [4, 15, 26]
kernel[1, 1](out, Spans(host))
print(out.tolist(), host.tolist()[0])
""", CUDASIM_MODE=mode)  # fmt: skip
    assert done.stdout == "[13.0, 5.0, 3.0, 36.0, 23.0, 6.0] (3.0, False, 26.0)\n", done.stderr


def test_elements_without_a_class_are_records_in_python_mode(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, TYPEOF, SPANS, """
class OtherType(SpanType):
    def __init__(self):
        types.Type.__init__(self, "Other")

other = OtherType()

class OfOthers:
    def prepare_args(self, kind, value, stream, retr):
        return (types.Array(other, 1, "C"), value.array) if isinstance(value, Spans) else (kind, value)

@cuda.jit(extensions=[OfOthers()])
def kernel(out, given):
    out[0] = given[1].end

register_model(OtherType)(SpanModel)
out = np.zeros(1)
kernel[1, 1](out, Spans(host))
print(out)
""", CUDASIM_MODE="python")  # fmt: skip
    assert done.stdout == "[5.]\n", done.stderr

"""Arrays and statements: what is refused, with the class that Numba 0.68 and numba-cuda 0.30 raise for the same
kernel, and where the message points (the text between the `«»` of the comment)."""

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import refusal
from test_refusals import expected_place

A1, A2 = "array(float64, 1d, C)", "array(float64, 2d, C)"
FROZEN = np.arange(6.0).reshape(2, 3)
LENGTH = 3


def index_of_only_dots(a):
    a[0] = a[...][0]  # «a[...]»


def index_of_only_none(a):
    a[0] = a[None][0, 0]  # «a[None]»


def two_ellipses(b):
    b[0, 0] = b[..., ...][0, 0]  # «b[..., ...]»


def more_slices_than_axes(b):
    v = b[:, :, :]  # noqa: F841 «b[:, :, :]»


def boolean_index(a):
    a[0] = a[a[1] > 0]  # «a[a[1] > 0]»


def text_index(a):
    a[0] = a["x"]  # «a["x"]»


def index_of_floats(b):
    b[0, 0] = b[0, 1.0]  # «b[0, 1.0]»


def nested_tuple_index(b):
    b[0, 0] = b[(0, (1,))]  # «b[(0, (1,))]»


def slice_with_text(a):
    v = a["x":]  # noqa: F841 «"x":»


def array_into_a_row(b):
    b[0] = b[1]  # «b[0]»


def array_into_an_element(a):
    a[0] = a  # «a[0]»


def none_into_a_slice(a):
    a[:] = None  # «a[:]»


def tuple_into_a_matrix(b):
    b[:] = (1, 2)  # «b[:]»


def write_to_a_frozen_slice(a):
    FROZEN[0, :] = a[0]  # «FROZEN[0, :]»


def write_through_a_frozen_view(a):
    row = FROZEN[1]
    row[0] = a[0]  # «row[0]»


def deletes_a_name(a):
    del a  # «del a»


def deletes_an_element(a):
    del a[0]  # «del a[0]»


def imports(a):
    import math  # noqa: F401 «import math»


def defines_a_class(a):
    class C:  # «class C:  # «class»
        pass


def assigns_a_global(a):
    global LENGTH
    LENGTH = 4  # «LENGTH»


def starred_target(a):
    first, *rest = (1, 2, 3)  # noqa: F841 «*rest»


def loops_backwards_over_pairs(a):
    for x in reversed(enumerate(a)):  # «reversed(enumerate(a))»
        a[0] = x


def loop_over_a_mixed_tuple(a):
    for x in (1, 2.5):  # «(1, 2.5)»
        a[0] = x


def keyword_of_enumerate(a):
    for i, x in enumerate(a, start=1):  # «enumerate(a, start=1)»
        a[i] = x


def counts_from_a_float(a):
    for i, x in enumerate(a, 1.5):  # «enumerate(a, 1.5)»
        a[0] = x + i


def copies(a):
    v = a.copy()  # noqa: F841 «a.copy()»


def sums_along_an_axis(b):
    v = b.sum(axis=0)  # noqa: F841 «b.sum(axis=0)»


def largest_along_an_axis(b):
    v = b.argmax(1)  # noqa: F841 «b.argmax(1)»


def largest_by_its_method(a):
    a[0] = a.max()  # «a.max()»


def smallest_by_numpy(a):
    a[0] = np.min(a)  # «np.min(a)»


def ufunc_of_an_array(a):
    v = np.sin(a)  # noqa: F841 «np.sin(a)»


def ufunc_of_bits_of_floats(a):
    a[0] = np.bitwise_and(a[0], 1)  # «np.bitwise_and(a[0], 1)»


def ufunc_that_cuda_does_not_have(a):
    a[0] = np.sqrt(a[0])  # «np.sqrt(a[0])»


def searches_for_a_tuple(a):
    a[0] = (1, 2) in a  # «(1, 2) in a»


def view_of_another_width(a):
    a[0] = a[0].view(np.int32)  # «a[0].view(np.int32)»


def view_as_a_string(a):
    v = a.view("int32")  # noqa: F841 «a.view("int32")»


def index_in_a_mixed_tuple(a):
    a[0] = (1, 2.5).index(1)  # «(1, 2.5).index(1)»


def reshapes_a_strided_view(a):
    v = a[::2].reshape(2, 1)  # noqa: F841 «a[::2].reshape(2, 1)»


def empty_local_array(a):
    v = cuda.local.array(0, np.float32)  # noqa: F841 «cuda.local.array(0, np.float32)»


def empty_axis_of_a_shared_array(a):
    v = cuda.shared.array((0, 2), np.float32)  # noqa: F841 «cuda.shared.array((0, 2), np.float32)»


def crooked_alignment(a):
    v = cuda.local.array(4, np.float32, alignment=12)  # noqa: F841 «cuda.local.array(4, np.float32, alignment=12)»


def small_alignment(a):
    v = cuda.local.array(4, np.float32, alignment=4)  # noqa: F841 «cuda.local.array(4, np.float32, alignment=4)»


def computed_shape(a):
    v = cuda.local.array(LENGTH * 2, np.float32)  # noqa: F841 «cuda.local.array(LENGTH * 2, np.float32)»


def builtin_type_as_dtype(a):
    v = cuda.local.array(3, float)  # noqa: F841 «cuda.local.array(3, float)»


def unknown_dtype(a):
    v = cuda.local.array(3, "nope")  # noqa: F841 «cuda.local.array(3, "nope")»


REFUSALS = {
    "NotImplementedError": [index_of_only_dots, index_of_only_none],
    "TypingError": [
        two_ellipses,
        more_slices_than_axes,
        boolean_index,
        text_index,
        index_of_floats,
        nested_tuple_index,
        slice_with_text,
        array_into_an_element,
        none_into_a_slice,
        tuple_into_a_matrix,
        write_to_a_frozen_slice,
        write_through_a_frozen_view,
        deletes_an_element,
        loops_backwards_over_pairs,
        loop_over_a_mixed_tuple,
        counts_from_a_float,
        reshapes_a_strided_view,
        computed_shape,
        builtin_type_as_dtype,
        unknown_dtype,
        keyword_of_enumerate,
        copies,
        sums_along_an_axis,
        largest_along_an_axis,
        largest_by_its_method,
        smallest_by_numpy,
        ufunc_of_an_array,
        ufunc_of_bits_of_floats,
        searches_for_a_tuple,
        view_of_another_width,
        view_as_a_string,
        index_in_a_mixed_tuple,
    ],
    "UnsupportedError": [ufunc_that_cuda_does_not_have],
    "NumbaRuntimeError": [array_into_a_row],
    "CompilerError": [deletes_a_name],
    "UnsupportedBytecodeError": [imports, defines_a_class, assigns_a_global, starred_target],
    "ValueError": [empty_local_array, empty_axis_of_a_shared_array, crooked_alignment, small_alignment],
}


def class_named(name):
    builtin = {"NotImplementedError": NotImplementedError, "ValueError": ValueError}
    return builtin.get(name) or getattr(errors, name)


@pytest.mark.parametrize(
    "name, function",
    [(name, f) for name, functions in REFUSALS.items() for f in functions],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_refusal(name, function):
    two = function.__code__.co_varnames[0] == "b"
    message = refusal(class_named(name), function, A2 if two else A1)
    number, place = expected_place(function)
    assert message.endswith(f'\n\n  File "{__file__}", line {number}, in {function.__name__}\n{place}'), (
        message
    )


@cuda.jit(device=True)
def tail_of(values):
    return values[1:]  # «return values[1:]»


@cuda.jit(device=True)
def longer_of(x, y):
    if len(x) > len(y):
        result = x
    else:
        result = y
    return result


@cuda.jit(device=True)
def total(values):
    result = 0.0
    for x in values:
        result += x
    return result


def test_a_function_cannot_return_a_view_it_made():
    def kernel(a):
        a[0] = tail_of(a)[0]

    message = refusal(errors.TypingError, kernel, A1)
    number, place = expected_place(tail_of.py_func)
    assert "Only accept returning of array passed into the function as argument" in message
    assert f"line {number}, in tail_of\n{place}" in message


def test_a_function_may_return_an_array_it_was_given():
    @cuda.jit
    def kernel(a, b):
        longer_of(a, b)[0] = 1

    a, b = np.zeros(2), np.zeros(3)
    kernel[1, 1](a, b)
    assert (a[0], b[0]) == (0, 1)


def test_an_iterator_cannot_be_passed_to_a_function():
    def kernel(a):
        a[0] = total(enumerate(a))  # «total(enumerate(a))»

    message = refusal(errors.UnsupportedError, kernel, A1)
    assert "passing an iterator" in message and expected_place(kernel)[1] in message

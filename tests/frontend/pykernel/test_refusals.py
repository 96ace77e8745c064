"""What is refused, with which of Numba's classes, and how the message points at the place.

Each kernel's marked line is where the refusal must point: the message ends in that line and carets under the
text between the `«»` of the comment.
"""

import inspect
import math
import re

import numpy as np
import pytest
from cudasim import cuda, errors, types
from kernel_checks import refusal

A1 = "array(float64, 1d, C)"
CONSTANT = np.arange(4.0)


def helper(value):
    return value


@cuda.jit(device=True)
def endless(n):
    return n * endless(n - 1)  # «endless(n - 1)»


@cuda.jit(device=True)
def shape_of(value):
    return value.shape  # «value.shape»


@cuda.jit(device=True)
def product(a, b=2):
    return a * b


def undefined_name(x):
    x[0] = 1 + foo  # noqa: F821 «foo»


def undefined_attribute(x):
    x[0] = math.nope(1)  # «math.nope»


def plain_function(x):
    x[0] = helper(1)  # «helper»


def types_that_do_not_unify(x):
    if x[0] > 1:
        y = 1
    else:
        y = (1, 2)
    x[0] = y  # «y»


def running_shared_shape(x):
    n = len(x)
    tile = cuda.shared.array(n, np.float32)  # «cuda.shared.array(n, np.float32)»
    x[0] = tile[0]


def computed_shared_shape(x):
    tile = cuda.shared.array((4, x.size), np.float32)  # «cuda.shared.array((4, x.size), np.float32)»
    x[0] = tile[0, 0]


def returns_a_value(x):
    return x[0]  # «return x[0]»


def too_many_indices(x):
    x[0] = x[0, 1]  # «x[0, 1]»


def float_index(x):
    x[0] = x[1.5]  # «x[1.5]»


def index_of_a_number(x):
    x[0] = x[0][1]  # «x[0][1]»


def unknown_array_attribute(x):
    x[0] = x.foo  # «x.foo»


def set_attribute(x):
    x.foo = 1  # «x.foo»


def text_in_an_array(x):
    x[0] = "abc"  # «x[0]»


def text_arithmetic(x):
    x[0] = "a" + 1  # «"a" + 1»


def shift_of_a_float(x):
    x[0] = x[1] << 2  # «x[1] << 2»


def unpack_of_another_size(x):
    i, j, k = cuda.grid(2)  # «i, j, k»


def unpack_of_a_number(x):
    i, j = cuda.grid(1)  # «i, j»


def loop_over_a_number(x):
    for i in x[0]:  # «x[0]»
        pass


def write_to_a_constant(x):
    CONSTANT[0] = x[0]  # «CONSTANT[0]»


def too_many_arguments(x):
    x[0] = product(1, 2, 3)  # «product(1, 2, 3)»


def missing_argument(x):
    x[0] = product()  # «product()»


def unknown_keyword(x):
    x[0] = product(1, c=2)  # «product(1, c=2)»


def error_inside_a_function(x):
    x[0] = shape_of(1)


def atomic_on_unsupported_elements(x):
    cuda.atomic.cas(x, 0, 1, 2)  # «cuda.atomic.cas(x, 0, 1, 2)»


def atomic_on_a_local_array(x):
    scratch = cuda.local.array(2, np.int32)
    cuda.atomic.add(scratch, 0, 1)  # «cuda.atomic.add(scratch, 0, 1)»


def running_index_of_a_mixed_tuple(x):
    i = cuda.grid(1)
    x[0] = (1, 2.5)[i]  # «(1, 2.5)[i]»


def tuple_index_out_of_range(x):
    x[0] = (1, 2)[2]  # «(1, 2)[2]»


def missing_math(x):
    x[0] = math.gcd(4, 6)  # «math.gcd(4, 6)»


def missing_builtin(x):
    x[0] = hash(x[0])  # «hash(x[0])»


def too_large_an_integer(x):
    x[0] = 18446744073709551616  # «18446744073709551616»


def too_large_a_product(x):
    x[0] = 2**40 * 2**40  # «2**40 * 2**40»


def not_of_a_tuple(x):
    x[0] = not (1, 2)  # «not (1, 2)»


def comparison_of_a_tuple_with_a_number(x):
    x[0] = (1, 2) == (1, (2,))  # «(1, 2) == (1, (2,))»


def membership_in_a_mixed_tuple(x):
    x[0] = 1 in (1, 2.5)  # «1 in (1, 2.5)»


def membership_in_a_number(x):
    x[0] = 1 in 2  # «1 in 2»


def spread_of_a_number(x):
    x[0] = max(*x[0])  # «*x[0]»


def text_argument_of_math(x):
    x[0] = math.sin("a")  # «math.sin("a")»


TYPING = [
    undefined_name,
    undefined_attribute,
    plain_function,
    types_that_do_not_unify,
    missing_math,
    missing_builtin,
    too_large_an_integer,
    too_large_a_product,
    not_of_a_tuple,
    comparison_of_a_tuple_with_a_number,
    membership_in_a_mixed_tuple,
    membership_in_a_number,
    spread_of_a_number,
    running_shared_shape,
    computed_shared_shape,
    returns_a_value,
    too_many_indices,
    float_index,
    index_of_a_number,
    unknown_array_attribute,
    set_attribute,
    text_in_an_array,
    text_arithmetic,
    shift_of_a_float,
    unpack_of_another_size,
    unpack_of_a_number,
    loop_over_a_number,
    write_to_a_constant,
    too_many_arguments,
    missing_argument,
    unknown_keyword,
    atomic_on_unsupported_elements,
    atomic_on_a_local_array,
    running_index_of_a_mixed_tuple,
    tuple_index_out_of_range,
    text_argument_of_math,
]


def try_statement(x):
    try:  # «try:  # «try»
        x[0] = 1
    except ValueError:
        pass


def with_statement(x):
    with x:  # «with x:  # «with»
        pass


def comprehension(x):
    y = [i for i in range(3)]  # noqa: F841 «[i for i in range(3)]»


def generator(x):
    y = sum(i for i in range(3))  # noqa: F841 «(i for i in range(3))»


def yields(x):
    yield x  # «yield x»


def dictionary(x):
    y = {1: 2}  # noqa: F841 «{1: 2}»


def list_display(x):
    y = [1, 2]  # noqa: F841 «[1, 2]»


def f_string(x):
    y = f"{x}"  # noqa: F841 «f"{x}"»


def nested_function_that_calls_itself(x):
    def inner(n):
        return inner(n - 1)  # «inner(n - 1)»

    x[0] = inner(3)


def recursion(x):
    x[0] = endless(4)


def raises_what_is_computed(x):
    raise ValueError(x[0])  # «x[0]»


def raises_what_ends_a_program(x):
    raise SystemExit(1)  # «SystemExit(1)»


UNSUPPORTED = [
    raises_what_ends_a_program,
    try_statement,
    with_statement,
    comprehension,
    generator,
    yields,
    dictionary,
    list_display,
    f_string,
    nested_function_that_calls_itself,
    raises_what_is_computed,
]


def double_star_arguments(x):
    x[0] = product(1, **{})  # «**{}»


UNSUPPORTED_BYTECODE = [double_star_arguments]


def used_before_assignment(x):
    x[0] = later  # «later»
    later = 1


def four_dimensional_grid(x):
    x[0] = cuda.grid(4)  # «cuda.grid(4)»


def expected_place(function):
    """File, line, source line and caret line, from the mark in the source."""
    lines, first = inspect.getsourcelines(function)
    for number, line in enumerate(lines, first):
        if "«" in line:
            line = line.rstrip("\n")
            marked = re.search("«(.*?)»", line).group(1)
            if "«" in marked:  # to the end of the line: the construct spans lines
                begin, end = line.index(marked.split("  #")[0]), len(line)
            else:
                begin = line.index(marked)
                end = begin + len(marked)
            return number, f"{line}\n{' ' * begin}{'^' * (end - begin)}"
    raise AssertionError("no mark in the source")


def check(error_class, function, types, marked=None, called_from=""):
    message = refusal(error_class, function, *types)
    marked = marked or function
    number, place = expected_place(marked)
    where = f'\n\n  File "{__file__}", line {number}, in {marked.__name__}\n{place}{called_from}'
    assert message.endswith(where), message
    return message


def call_on_line(function, offset):
    line = function.__code__.co_firstlineno + offset
    return f'\n  called from File "{__file__}", line {line}, in {function.__name__}'


@pytest.mark.parametrize("function", TYPING, ids=lambda f: f.__name__)
def test_typing_error(function):
    check(errors.TypingError, function, [A1])


@pytest.mark.parametrize("function", UNSUPPORTED, ids=lambda f: f.__name__)
def test_unsupported_error(function):
    check(errors.UnsupportedError, function, [A1])


@pytest.mark.parametrize("function", UNSUPPORTED_BYTECODE, ids=lambda f: f.__name__)
def test_unsupported_bytecode_error(function):
    check(errors.UnsupportedBytecodeError, function, [A1])


def test_a_variable_that_no_path_has_assigned_is_not_defined():
    message = check(errors.NotDefinedError, used_before_assignment, [A1])
    assert message.startswith("Variable 'later' is not defined")


def test_a_wrong_constant_number_of_dimensions_is_a_value_error():
    check(ValueError, four_dimensional_grid, [A1])


def test_an_error_in_a_function_points_into_the_function():
    message = check(
        errors.TypingError,
        error_inside_a_function,
        [A1],
        shape_of.py_func,
        call_on_line(error_inside_a_function, 1),
    )
    assert message.startswith("Unknown attribute 'shape' of type int64")


def test_recursion_that_never_returns_is_refused_where_it_calls():
    assert "runaway recursion" in check(
        errors.TypingError, recursion, [A1], endless.py_func, call_on_line(recursion, 1)
    )


def test_reasons():
    assert "Cannot unify" in refusal(errors.TypingError, types_that_do_not_unify, A1)
    assert "name 'foo' is not defined" in refusal(errors.TypingError, undefined_name, A1)
    assert "Untyped global name 'helper'" in refusal(errors.TypingError, plain_function, A1)
    assert "a list comprehension is not supported" in refusal(errors.UnsupportedError, comprehension, A1)


def test_carets_under_names_that_are_not_ascii():
    def kernel(x):
        é = x[0]
        x[1] = é + naïve  # noqa: F821 «naïve»

    check(errors.TypingError, kernel, [A1])


def test_an_argument_type_that_is_not_known():
    def kernel(x):
        pass

    assert "float80" in refusal(errors.UnsupportedError, kernel, types.CompilerType("float80"))


def test_wrong_number_of_arguments():
    def kernel(x):
        pass

    assert "takes 1 arguments, but 2 are given" in refusal(errors.TypingError, kernel, A1, A1)


def test_source_that_is_not_available():
    namespace = {}
    exec("".join(["def kernel(x):\n", "    x[0] = 1\n"]), namespace)
    assert "source of kernel() is not available" in refusal(errors.UnsupportedError, namespace["kernel"], A1)

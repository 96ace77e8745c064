"""print() of values of types that programs add: what they register with numba.cuda.printimpl."""

import pytest
from test_added_types import CONSTRUCTOR, PRELUDE, run

PRINTED = """
from numba.cuda.printimpl import print_item

@print_item.register(SpanType)
def print_span(ty, context, builder, val):
    parts = cgutils.create_struct_proxy(ty)(context, builder, value=val)
    begin, first = print_item(types.float64, context, builder, parts.begin)
    is_open, second = print_item(types.boolean, context, builder, parts.open)
    return f"[{begin} to %g, {is_open}, 100%%]", [*first, parts.end, *second]
"""


def test_what_is_registered_for_a_type(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, PRINTED, """
@cuda.jit
def kernel():
    made = Span(1, 2)
    print("a", made, 3, (made, (1.5, Span(4, 5))))

kernel[1, 1]()
cuda.synchronize()
""")  # fmt: skip
    assert done.stdout == (
        "a [1.000000 to 2, True, 100%] 3 ([1.000000 to 2, True, 100%], (1.500000, [4.000000 to 5, True, 100%]))\n"
    ), done.stderr


def test_numbers_texts_and_tuples_are_registered(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
from numba.cuda.printimpl import print_item

@print_item.register(SpanType)
def print_span(ty, context, builder, val):
    parts = cgutils.create_struct_proxy(ty)(context, builder, value=val)
    kind = types.Tuple((types.float64, types.int8, types.uint64))
    numbers = [parts.begin, context.get_constant(types.int8, -1), context.get_constant(types.uint64, 2**64 - 1)]
    text, values = print_item(kind, context, builder, context.make_tuple(builder, kind, numbers))
    name, more = print_item(types.literal("span"), context, builder, context.get_dummy_value())
    return name + text, more + values

@cuda.jit
def kernel():
    print(Span(1, 2))

kernel[1, 1]()
cuda.synchronize()
""")  # fmt: skip
    assert done.stdout == "span(1.000000, -1, 18446744073709551615)\n", done.stderr


def test_a_type_that_nothing_is_registered_for(run_with_numba):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, """
@cuda.jit
def kernel():
    print("made", (1, Span(1, 2)))

kernel[1, 1]()
""")  # fmt: skip
    assert (
        "NotImplementedError: printing unimplemented for values of type Span: no print_item (numba.cuda.printimpl) is registered for it"
        in done.stderr
    )
    assert 'in kernel\n    print("made", (1, Span(1, 2)))\n' in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 'text'", "LoweringError: print_item of Span gives 'text', not a format and a list of its arguments"),
        ("return '%d', [val]", "LoweringError: print_item of Span gives an argument of LLVM's type {double, i1, double}"),
        ("raise ValueError('no such luck')", "ValueError: no such luck"),
    ],
)  # fmt: skip
def test_wrong_functions_are_refused_by_name(run_with_numba, body, said):
    done = run(run_with_numba, PRELUDE, CONSTRUCTOR, f"""
from numba.cuda.printimpl import print_item

@print_item.register(SpanType)
def print_span(ty, context, builder, val):
    {body}

@cuda.jit
def kernel():
    print(Span(1, 2))

kernel[1, 1]()
""")  # fmt: skip
    assert said in done.stderr, done.stderr
    assert "in kernel\n    print(Span(1, 2))\n" in done.stderr, done.stderr

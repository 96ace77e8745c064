"""Values as text (cudasim.debugger_client.values): formats, history, shortening."""

import numpy as np
import pytest
from cudasim.debugger_client import values
from cudasim.debugger_client.errors import CommandError


@pytest.mark.parametrize(
    "letter, value, kind, text",
    [
        ("x", 255, "int64", "0xff"),
        ("x", -1, "int32", "0xffffffff"),
        ("x", -1, "int8", "0xff"),
        ("x", -1, "int64", "0xffffffffffffffff"),
        ("d", 255, "uint8", "-1"),
        ("u", -1, "int16", "65535"),
        ("o", 8, "int64", "010"),
        ("o", 0, "int64", "0"),
        ("t", 10, "int64", "1010"),
        ("c", 65, "int64", "65 'A'"),
        ("c", 10, "int8", "10 '\\012'"),
        ("f", 3, "int64", "3.0"),
        ("f", 2.5, "float32", "2.5"),
        ("x", 1.0, "float32", "0x3f800000"),
        ("x", 1.0, "float64", "0x3ff0000000000000"),
        ("x", 1.0, "float16", "0x3c00"),
        ("t", True, "bool", "1"),
        ("a", 4096, "uint64", "0x1000"),
        ("x", [1, [2, 255]], "array(int32, 2d, C)", "{0x1, {0x2, 0xff}}"),
        ("x", (-1, 2), "int32", "{0xffffffff, 0x2}"),
        ("x", 1 << 70, "int", hex(1 << 70)),
    ],
)
def test_formats(letter, value, kind, text):
    assert values.formatted(letter, value, kind) == text


def test_bits_of_floats_are_numpys():
    for value in (3.5, -0.0, 1e-40, float("inf")):
        assert int(values.formatted("x", value, "float32"), 16) == int(np.float32(value).view(np.uint32))
        assert int(values.formatted("x", value, "float64"), 16) == int(np.float64(value).view(np.uint64))


def test_a_text_has_no_numeric_format():
    with pytest.raises(CommandError, match="no format x"):
        values.formatted("x", "abc", "str")


def test_the_letter_stands_after_a_slash():
    assert values.split_format("/x i + 1") == ("x", "i + 1")
    assert values.split_format("a / b") == ("", "a / b")
    with pytest.raises(CommandError, match='Undefined output format "q"'):
        values.split_format("/q i")


def test_texts_are_read_as_values():
    assert (
        values.parsed("3.5") == 3.5
        and values.parsed("(1, -2)") == (1, -2)
        and values.parsed("inf") == float("inf")
    )
    inside = values.parsed("[1.0, -inf, nan]")
    assert inside[:2] == [1.0, float("-inf")] and np.isnan(inside[2])
    for text in ("array([1])", "<not assigned>", "f(x)", ""):
        with pytest.raises(ValueError):
            values.parsed(text)


@pytest.fixture
def history():
    kept = values.History()
    kept.add("3.5", "float32")
    kept.add("7", "int64")
    kept.add("[1., nan]", "array(float32, 1d) shape (2,)")
    kept.add("-2", "int")
    return kept


@pytest.mark.parametrize(
    "expression, substituted",
    [
        ("$1 + 1", "np.float32(3.5) + 1"),
        ("$2", "np.int64(7)"),
        ("$ * 2", "(-2) * 2"),
        ("$$[0]", "np.array([1., np.nan], dtype='float32')[0]"),
        ("$$2", "np.int64(7)"),
        ("'$1' + \"$\"", "'$1' + \"$\""),
        ("x", "x"),
    ],
)
def test_values_of_the_history_stand_in_expressions(history, expression, substituted):
    assert history.substituted(expression) == substituted


def test_substituted_arrays_evaluate(history):
    value = eval(history.substituted("$3"), {"np": np})
    assert value.dtype == np.float32 and value[0] == 1 and np.isnan(value[1])


def test_what_the_history_does_not_have(history):
    with pytest.raises(CommandError, match=r"not yet reached \$9"):
        history.substituted("$9")
    for text, kind in [
        ("[0, ..., 9]", "array(int64, 1d, C)"),
        ("(x=[1, ...], y=2)", "Pair"),
        ("[1, ...]", "list"),
    ]:
        history.add(text, kind)
        with pytest.raises(CommandError, match="does not hold the whole value"):
            history.substituted("$ + 1")
    with pytest.raises(CommandError):
        values.History().substituted("$")


@pytest.mark.parametrize(
    "text, elements, short",
    [
        ("array([1, 2, 3, 4])", 2, "array([1, 2, ...])"),
        ("array([1, 2, 3, 4])", 4, "array([1, 2, 3, 4])"),
        ("array([1, 2, 3, 4])", 0, "array([1, 2, 3, 4])"),
        ("array([1., 2.], dtype=float32)", 2, "array([1., 2.], dtype=float32)"),
        ("(1, 2, 3)", 1, "(1, ...)"),
        ("[[1, 2], [3, 4]]", 3, "[[1, 2], [3, ...]]"),
        ("3.5", 1, "3.5"),
    ],
)
def test_long_values_are_cut(text, elements, short):
    assert values.shortened(text, elements) == short

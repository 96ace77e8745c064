"""Bytes constants, arrays and records of characters (dtypes S and U): values and types of numba-cuda, both modes."""

import numpy as np
import pytest
from cudasim import cuda, errors, options

CODE = b"xyz"
WORDS = np.array([b"ab", b"cd"], "S3")
NAMES = np.array(["über", "straße"], "U6")
MIXED = np.array([("ab", "cd", 1), ("longer", "öl", 2)], [("s", "S9"), ("u", "U3"), ("x", "i4")])


def run(kernel, *args, size=12):
    out = np.full(size, -1.0)
    kernel[1, 1](out, *args)
    return out[out != -1].tolist()


def test_bytes_constants_are_arrays_of_bytes():
    @cuda.jit
    def kernel(out, i):
        out[0] = b"abc"[i]
        out[1] = CODE[i] + CODE[-1]
        out[2] = len(CODE)
        out[3] = len(CODE[1:])
        total = 0
        for byte in CODE:
            total += byte
        out[4] = total
        out[5] = CODE == b"xyz"
        out[6] = CODE < b"xy"
        out[7] = len(b"")

    assert run(kernel, 1) == [98, 121 + 122, 3, 2, 120 + 121 + 122, 1, 0, 0]


def test_an_index_beyond_bytes_is_an_error():
    @cuda.jit
    def kernel(out, i):
        out[0] = CODE[i]

    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        kernel[1, 1](np.zeros(1), 3)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 8, 9, 16, 21])
def test_bytes_of_every_size(size):
    @cuda.jit
    def kernel(out, values):
        for i in range(3):
            out[4 * i] = len(values[i])
            out[4 * i + 1] = values[i] == values[1]
            out[4 * i + 2] = values[i] < values[1]
            out[4 * i + 3] = values[i] >= values[1]
        values[3] = values[1]
        kept = values[0]
        values[0] = values[2]
        values[2] = kept

    texts = [b"z" * size, b"abcdefghijklmnopqrstuvw"[:size], b"a" * max(size - 1, 1), b""]
    values = np.array(texts, f"S{size}")
    out = np.zeros(12)
    kernel[1, 1](out, values)
    expected = [
        part
        for text in texts[:3]
        for part in (len(text), text == texts[1], text < texts[1], text >= texts[1])
    ]
    assert out.tolist() == expected
    assert values.tolist() == [texts[2], texts[1], texts[0], texts[1]]


def test_strings_compare_by_code_points():
    @cuda.jit
    def kernel(out, values):
        out[0] = len(values[0])
        out[1] = values[0] == values[1]
        out[2] = values[0] < values[1]
        out[3] = values[0] == "über"
        out[4] = "über" != values[0]
        out[5] = values[1] > "straß"
        out[6] = values[1] <= "a"
        out[7] = NAMES[0] == values[0]
        values[2] = values[1]
        values[3] = "füße"

    values = np.array(["über", "straße", "", "xxxxxx"])
    assert run(kernel, values) == [4, 0, 0, 1, 0, 1, 0, 1]
    assert values.tolist() == ["über", "straße", "straße", "füße"]


def test_constants_are_compared_and_assigned():
    @cuda.jit
    def kernel(out, values):
        out[0] = values[0] == b"ab"
        out[1] = values[0] == b"abc"
        out[2] = values[0] != WORDS[0]
        out[3] = WORDS[1] > values[0]
        out[4] = values[0] in (b"x", b"ab")
        out[5] = values[0] == "ab"
        out[6] = values[0][1]
        if values[1]:
            out[7] = 1
        if not values[2]:
            out[8] = 2
        values[1] = b"longer than four"
        values[2] = WORDS[1]

    values = np.array([b"ab", b"c", b"", b"zzzz"], "S4")
    assert run(kernel, values) == [1, 0, 0, 1, 1, 0, 98, 1, 2]
    assert values.tolist() == [b"ab", b"long", b"cd", b"zzzz"]


def test_an_index_beyond_the_characters_is_an_error():
    @cuda.jit
    def kernel(out, values):
        out[0] = values[0][2]

    with pytest.raises(IndexError):
        kernel[1, 1](np.zeros(1), np.array([b"ab"], "S4"))


def test_fields_of_records():
    @cuda.jit
    def kernel(out, records):
        out[0] = len(records[1].s)
        out[1] = len(records[1].u)
        out[2] = records[0].s == b"ab"
        out[3] = records[1].u == "öl"
        out[4] = records[0].s < records[1].s
        out[5] = records.s[1] == records[1].s
        records[0].s = records[1].s
        records[0].u = records[1].u
        records[1].s = b"new"
        records[2] = records[1]
        out[6] = MIXED[1].s == records[0].s

    records = np.zeros(3, MIXED.dtype)
    records[:2] = MIXED
    assert run(kernel, records) == [6, 2, 1, 1, 1, 1, 1]
    assert records.tolist() == [(b"longer", "öl", 1), (b"new", "öl", 2), (b"new", "öl", 2)]


def test_device_functions_take_and_give_characters():
    @cuda.jit(device=True)
    def smaller(a, b):
        return a if a < b else b

    @cuda.jit(device=True)
    def length(text):
        return len(text)

    @cuda.jit
    def kernel(out, values):
        values[2] = smaller(values[0], values[1])
        least = values[0]
        for i in range(1, 3):
            if values[i] < least:
                least = values[i]
        out[0] = length(least)
        out[1] = length("four")
        out[2] = length(b"five5")

    values = np.array([b"pear", b"fig", b""], "S5")
    assert run(kernel, values) == [3, 4, 5]
    assert values.tolist() == [b"pear", b"fig", b"fig"]


@pytest.mark.parametrize(
    "body",
    ["out[0] = values[0] + values[0]", "out[0] = int(values[0])", "print(values[0])", "values[0] = 'x'"],
)
def test_what_numba_refuses_is_refused(body):
    from not_yet import kernel_of

    kernel = cuda.jit(kernel_of(body.replace("out", "a").replace("values", "b")))
    with options.override(mode="native"), pytest.raises((errors.TypingError, NotImplementedError)):
        kernel[1, 1](np.zeros(1), np.array([b"1"]))

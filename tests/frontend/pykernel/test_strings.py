"""Strings that are known while compiling: operators, characters, ord(). Numba's CUDA target has these and no more."""

import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import evaluate, refusal

GREETING = "grüß"


def test_operators_and_characters(capsys):
    def kernel(out):
        print("a" + "b" * 3, GREETING[2], "abc"[-1])
        out[0] = ord("a")
        out[1] = ord(GREETING[-1])
        out[2] = (
            ("a" < "b")
            + 2 * ("ab" in "cab")
            + 4 * ("x" in "cab")
            + 8 * ("x" not in "cab")
            + 16 * ("b" <= "a")
        )
        out[3] = len(GREETING + "!")
        out[4] = ord("🜁")
        if "a" + "b" == "ab":
            out[5] = 1

    assert evaluate(kernel, size=6).tolist() == [97, ord("ß"), 11, 5, ord("🜁"), 1]
    assert capsys.readouterr().out.splitlines()[-1] == "abbb ü c"


@pytest.mark.parametrize("expression", ["'ab'[n]", "'ab'[2]", "ord('ab')", "'a' - 'b'", "'a' * n"])
def test_what_is_only_known_when_the_kernel_runs_is_refused(expression):
    import linecache

    source = f"def kernel(out, n):\n    x = {expression}\n"
    file = f"<strings {expression}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np, "cuda": cuda}
    exec(compile(source, file, "exec"), namespace)
    assert refusal(errors.TypingError, namespace["kernel"], "array(float64, 1d, C)", "int64")


def test_strings_are_conditions():
    def kernel(out):
        empty, full = "", "ab"
        out[0], out[1] = (1 if empty else 2), (1 if full else 2)
        out[2], out[3] = not empty, not full
        out[4], out[5] = bool(empty), bool(full)
        while full:
            out[6] += 1
            if full and not empty:
                break

    assert evaluate(kernel, size=7).tolist() == [2, 1, 1, 0, 0, 1, 1]


def test_strings_are_sought_in_tuples_while_compiling():
    modes = ("sum", "mean")

    def kernel(out):
        mode = "mean"
        out[0], out[1], out[2] = "a" in ("a", "b"), "a" in ("ab",), "c" not in ("a", "b")
        if mode not in modes:
            out[3] = 1
        out[4] = (mode in modes) + 2 * (mode not in ())

    assert evaluate(kernel, size=5).tolist() == [1, 0, 1, 0, 3]

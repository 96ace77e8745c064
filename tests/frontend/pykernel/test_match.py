"""`match` in kernels: Numba compiles values, constants, alternatives, captures and guards, and refuses the bytecode of
patterns of sequences, mappings and classes. The same text under Numba's CPU compiler gives the same values."""

import numba_oracle
import numpy as np
import pytest
from cudasim import cuda, errors
from kernel_checks import refusal

ORACLE = numba_oracle.start()

PROGRAM = """def kernel(out, values):
    for k, x in enumerate(values):
        match x:
            case 1:
                out[k] = 10
            case 2 | 3 | -4:
                out[k] = 20
            case math.tau:
                out[k] = 25
            case n if n > 100:
                out[k] = n
            case (5 | 6) as n:
                out[k] = n * 3
            case n if n > 50 and n % 2 == 0:
                match n // 10:
                    case 6:
                        out[k] = -6
                    case _ if n > 90:
                        out[k] = -9
                        continue
                out[k] -= 1
            case 0:
                break
            case n:
                out[k] = -n
"""


def test_match_takes_the_first_case_that_fits():
    values = np.array([1, 2, 3, -4, 4, 5, 6, 7, 60, 98, 55, 101, 1, 0, 1])
    out = np.zeros(values.size)
    cuda.jit(numba_oracle.function_from(PROGRAM))[1, 1](out, values)
    assert list(out) == [10, 20, 20, 20, -4, 15, 18, -7, -7, -9, -55, 101, 10, 0, 0]


@pytest.mark.skipif(ORACLE is None, reason="CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba")
def test_match_is_numbas():
    values = np.array([1, 2, 3, -4, 4, 5, 6, 7, 60, 98, 55, 101, 1, 0, 1])
    answer = ORACLE.run(PROGRAM, [np.zeros(values.size), values])
    out = np.zeros(values.size)
    cuda.jit(numba_oracle.function_from(PROGRAM))[1, 1](out, values)
    assert answer.error == "" and list(answer.arguments[0]) == list(out)


def test_a_match_without_a_fitting_case_does_nothing():
    kernel = numba_oracle.function_from("""def kernel(out, x):
    out[0] = 5
    match out[1]:
        case 3:
            out[0] = 1
    match x:
        case None:
            out[2] = 1
        case _:
            out[2] = x + 1
""")
    out = np.zeros(3)
    cuda.jit(kernel)[1, 1](out, 4)
    assert list(out) == [5, 0, 5]


@pytest.mark.parametrize(
    "pattern, what",
    [
        ("(1, 2)", "a sequence"),
        ("[a, *b]", "a sequence"),
        ("{}", "a mapping"),
        ("int()", "a class"),
        ("1 | (2, 3)", "a sequence"),
    ],
)
def test_other_patterns_are_refused_as_numba_refuses_their_bytecode(pattern, what):
    kernel = numba_oracle.function_from(
        f"def kernel(out, x):\n    match x:\n        case {pattern}:\n            pass\n"
    )
    message = refusal(errors.UnsupportedBytecodeError, kernel, "array(float64, 1d, C)", "int64")
    assert f"{what} as a pattern is not supported in kernels" in message and f"case {pattern}" in message

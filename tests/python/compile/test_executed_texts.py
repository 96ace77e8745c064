"""Kernels that exec() makes of texts that calling functions hold in containers, attributes, streams or lists of lines; implementations
of overload() that exec() and eval() make while their types are looked at."""

import io
import textwrap

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.cuda import extending, types


def result(kernel):
    """What four threads make of four ones."""
    x = np.ones(4)
    kernel[1, 4](x)
    return x.tolist()


class Generator:
    """It keeps the text that it runs."""

    def __init__(self, lines):
        self.lines, self.namespace = lines, {"cuda": cuda}

    def run(self):
        exec("\n".join(self.lines), self.namespace)
        return self.namespace["fill"]


def test_exec_of_a_text_in_containers_attributes_and_streams_makes_kernels():
    def lines(value):
        return ["@cuda.jit", "def fill(x):", "    i = cuda.grid(1)", f"    x[i] = {value}"]

    def kernel(text):
        namespace = {"cuda": cuda}
        exec(text, namespace)
        return namespace["fill"]

    made = []
    parts = lines(2)
    made.append(kernel("\n".join(parts)))
    by_name = {"fill": "\n".join(lines(3)), "other": "x = 1"}
    made.append(kernel(by_name["fill"]))
    stream = io.StringIO()
    stream.write("\n".join(lines(4)))
    made.append(kernel(stream.getvalue()))
    indented = "\n\n    " + "\n    ".join(lines(5))
    made.append(kernel(textwrap.dedent(indented).strip()))
    made.append(Generator(lines(6)).run())
    with options.override(mode="native"):
        assert [result(one) for one in made] == [[float(value)] * 4 for value in (2, 3, 4, 5, 6)]


def scaled(x):
    raise NotImplementedError("implemented in kernels")


def shifted(x):
    raise NotImplementedError("implemented in kernels")


def squared(x):
    raise NotImplementedError("implemented in kernels")


def made_of(expression):
    """The text is gone when this returns."""
    namespace = {}
    exec(f"def made(x):\n    y = x\n    return {expression}\n", namespace)
    return namespace["made"]


@extending.overload(scaled)
def scaled_overload(x):
    return made_of(f"y * {100 if isinstance(x, type(types.int64)) else 2}")


@extending.overload(shifted)
def shifted_overload(x):
    return eval(f"lambda x: x + {len(str(x))}")


early = made_of("y * y")


@extending.overload(squared)
def squared_overload(x):
    return early


def test_implementers_of_overloads_make_functions_with_exec_and_eval():
    @cuda.jit
    def kernel(out):
        out[0], out[1], out[2] = scaled(1.5), scaled(3), shifted(2)

    out = np.zeros(3)
    with options.override(mode="native"):
        kernel[1, 1](out)
    assert out.tolist() == [3, 300, 7]


def test_a_text_that_nobody_holds_any_more_is_refused():
    @cuda.jit
    def kernel(out):
        out[0] = squared(1.5)

    out = np.zeros(1)
    with (
        options.override(mode="native"),
        pytest.raises(
            errors.UnsupportedError, match=r"made\(\) is not available .* while a function of overload"
        ),
    ):
        kernel[1, 1](out)

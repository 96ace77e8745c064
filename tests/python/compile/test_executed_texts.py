"""Kernels that exec() makes of texts that calling functions hold in containers, attributes, streams or lists of lines."""

import io
import textwrap

import numpy as np
from cudasim import cuda, options


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

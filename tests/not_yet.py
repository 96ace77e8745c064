"""What Numba's CUDA target compiles and the kernel compiler does not yet: such kernels run in Python mode.

Each row is a small kernel that shows it; tests/frontend/pykernel/test_not_yet.py checks that native mode refuses it
with that standing and that Python mode runs it. Whoever teaches the compiler one takes its row out. That Numba
compiles them was tried with numba-cuda 0.30.4. The list in docs/differences.md: python tests/not_yet.py --write
"""

import linecache
import pathlib
import sys

import numpy as np

#: What users read, the body of kernel(a, b), the argument b (a is an array of four float64).
PROBES = [
    ("records with characters of more than 1,024 bytes", "b[0].s = b[1].s", np.zeros(2, [("s", "S1025")])),
    ("arrays of characters of more than 1,024 bytes", "a[0] = len(b)", np.zeros(2, "U257")),
    ("iterators as arguments of device functions", "first(a, iter(b))", np.ones(2)),
    ("`np.nditer`", "for x in np.nditer(b):\n        a[0] += x.item()", np.ones(2)),
]  # fmt: skip

DOCUMENT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "differences.md"
BEGIN = "<!-- made by tests/not_yet.py -->"
END = "<!-- end of it -->"


def kernel_of(body):
    """The probe as a Python function, with lines where the compiler looks for them."""
    from cudasim import cuda

    source = (
        f"@cuda.jit(device=True)\ndef first(a, it):\n    a[0] = next(it)\ndef kernel(a, b):\n    {body}\n"
    )
    file = f"<not yet {abs(hash(body))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np, "cuda": cuda}
    exec(compile(source, file, "exec"), namespace)
    return namespace["kernel"]


def section():
    """The list, as Markdown."""
    return "\n".join([BEGIN, *(f"- {shown}" for shown, _, _ in PROBES), END])


def with_section(text):
    """The document's text with the list in its place."""
    before, rest = text.split(BEGIN)
    return before + section() + rest.split(END, 1)[1]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(with_section(DOCUMENT.read_text()))
    else:
        print(section())

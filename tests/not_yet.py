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
    ("complex constants, `complex()`", "a[0] = (b * 1j).imag", 1.0),
    ("`complex()`", "a[0] = complex(b, 1.0).imag", 1.0),
    ("complex numbers and arrays as arguments", "a[0] = b[0].real", np.ones(2, np.complex128)),
    ("complex constants from outside", "a[0] = COMPLEX.real", 1.0),
    ("float16", "b[0] = 2.0", np.ones(2, np.float16)),
    ("characters in records", "b[0].s = b[1].s", np.zeros(2, [("s", "S4")])),
    ("`datetime64` and `timedelta64`", "a[0] = b[0] < b[1]", np.array(["2020", "2021"], "M8[D]")),
    ("arrays of characters", "a[0] = len(b)", np.array([b"ab", b"c"])),
    ("bytes constants", "a[0] = b'a'[0]", 1.0),
    ("operators on strings", "print('a' + 'b')", 1.0),
    ("characters of strings", "print('abc'[0])", 1.0),
    ("`ord()`", "a[0] = ord('a')", 1.0),
    ("iterators as arguments of device functions", "first(a, iter(b))", np.ones(2)),
    ("ufuncs with an output array", "np.sin(b, a)", np.ones(4)),
    ("`np.nditer`", "for x in np.nditer(b):\n        a[0] += x.item()", np.ones(2)),
    *[(f"`np.{name}`", f"a[0] = np.{name}({call})", np.ones(4)) for name, call in (
        ("nanvar", "b"), ("nanstd", "b"), ("average", "b"), ("searchsorted", "b, 0.5"), ("sinc", "b[0]"),
        ("angle", "b[0]"), ("real", "b[0]"), ("imag", "b[0]"))],
    ("`np.trace`", "a[0] = np.trace(b)", np.ones((2, 2))),
    ("functions inside kernels defined again in a loop",
     "def g(x):\n        return x\n    for i in range(2):\n        a[i] = g(b)\n        def g(x):\n            return x", 1.0),
]  # fmt: skip

DOCUMENT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "differences.md"
BEGIN = "<!-- made by tests/not_yet.py -->"
END = "<!-- end of it -->"


def kernel_of(body):
    """The probe as a Python function, with lines where the compiler looks for them."""
    from cudasim import cuda

    source = (
        "@cuda.jit(device=True)\ndef first(a, it):\n    a[0] = next(it)\n"
        f"def kernel(a, b):\n    {body}\n"
    )
    file = f"<not yet {abs(hash(body))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np, "cuda": cuda, "COMPLEX": 1 + 2j}
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

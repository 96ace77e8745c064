"""Conditions that name what a kernel sees around it: they are compiled, and hold where the kernel itself finds that they hold."""

import json

import numpy as np
import pytest
from cudasim import cuda
from cudasim.debugging.conditions import ConditionCompiler, NotCompiled
from debug_session import debugging

CONDITIONS = [
    "x[i] > TILE",
    "i % offset == 1",
    "i * scale > 30 and i < 7",
    "cuda.grid(1) == 5 or cuda.gridsize(1) < i",
    "cuda.threadIdx.x == 2",
    "square(x[i]) > 40",
    "wraps(w) < 0",
    "root(x[i]) > 2.5",
    "maths.floor(x[i] / 3) == 2",
    "lane(3) == 5",
    "helpers.plus(i, TILE) == 9",
    "np.int32(cuda.popc(np.int32(i))) == 2",
    "single(x[i]) == x[i] * np.float32(0.1)",
    "pt.x + 1 == 2 and pt.y < x[i]",
    "r[i].a > 2 and r.size == 12",
    "r[i].v[1, 0] == 5",
    "r[i].inner.b == 3",
    "rec.a + rec.v[1, 1] > 6.5",
]

PROGRAM = """
    import math as maths
    from collections import namedtuple
    from math import sqrt as root
    import numpy as np
    from numba import cuda
    import helpers

    TILE = 4
    inner = np.dtype([("b", np.int16)])
    record = np.dtype([("a", np.int32), ("v", np.float32, (2, 2)), ("inner", inner)], align=True)
    Point = namedtuple("Point", "x y")

    @cuda.jit(device=True)
    def square(value):
        return value * value

    @cuda.jit(device=True)
    def wraps(value):
        return np.int32(np.int32(value) * np.int32(value))

    @cuda.jit(device=True)
    def single(value):
        return value * np.float32(0.1)

    @cuda.jit(device=True)
    def lane(more):
        own = cuda.local.array(2, np.int64)
        own[0] = cuda.threadIdx.x
        own[1] = more
        return own[0] + own[1]

    def make(offset):
        scale = 10

        @cuda.jit
        def kernel(x, r, pt, out):
            i = cuda.grid(1)
            w = np.int32(i) * 10000
            rec = r[i]
{lines}
            out[0, i] += scale - scale + offset - offset  # here

        return kernel

    x = np.arange(12, dtype=np.float32)
    r = np.zeros(12, record)
    r["a"] = np.arange(12)
    r["v"] = np.arange(48).reshape(12, 2, 2) / 2
    r["inner"]["b"] = np.arange(12) % 4
    out = np.zeros(({count}, 12), np.int64)
    make(2)[3, 4](x, r, Point(1, 5.5), out)
    print("".join(map(str, out.ravel())))
"""
HELPERS = "from numba import cuda\n\n@cuda.jit(device=True)\ndef plus(x, y):\n    return x + y\n"


def test_a_condition_holds_where_the_kernel_says_so(tmp_path):
    (tmp_path / "helpers.py").write_text(HELPERS)
    lines = [f"            out[{n}, i] = 1 if {text} else 0" for n, text in enumerate(CONDITIONS)]
    script = PROGRAM.replace("{lines}", "\n".join(lines)).replace("{count}", str(len(CONDITIONS)))
    with debugging(tmp_path, script) as client:
        breakpoints = [
            {"line": client.line("here"), "condition": text, "logMessage": f"holds {n} {{i}}"}
            for n, text in enumerate(CONDITIONS)
        ]
        client.ask("setBreakpoints", source={"path": str(client.script)}, breakpoints=breakpoints)
        client.run()
        digits = client.end().strip().splitlines()[-1]
    held = [set() for _ in CONDITIONS]
    for message in client.seen:
        if message.get("event") == "output" and message["body"]["output"].startswith("holds"):
            _, number, thread = message["body"]["output"].split()
            held[int(number)].add(int(thread))
    for n, text in enumerate(CONDITIONS):
        by_kernel = {thread for thread in range(12) if digits[n * 12 + thread] == "1"}
        assert held[n] == by_kernel, text
    assert sum(0 < len(one) < 12 for one in held) >= len(CONDITIONS) - 1


THREE = 3


@cuda.jit(device=True)
def twice(value):
    return value * 2


@cuda.jit(device=True)
def writes(array):
    array[0] = 1
    return array[0]


@cuda.jit(device=True)
def counts(array):
    return cuda.atomic.add(array, 0, 1)


@cuda.jit
def kernel_here(array, i):
    array[i] = THREE + twice(i) + writes(array) + counts(array)


PLACE = (__file__, "kernel_here", kernel_here.py_func.__code__.co_firstlineno + 2)
VARIABLES = {
    "i": ("i", json.dumps({"name": "int64", "kind": "signed", "bytes": 8})),
    "array": ("array", json.dumps({"name": "array(int64, 1d, C)", "kind": "struct", "bytes": 24})),
}


def compiled(expression):
    compiler = ConditionCompiler()
    variables = [VARIABLES[name] for name, _ in compiler.names_in(expression, PLACE) if name in VARIABLES]
    return compiler.compile(expression, variables, PLACE)


@pytest.mark.parametrize(
    ("expression", "by_thread"),
    [
        ("i > THREE", False),
        ("twice(i) > THREE", True),
        ("cuda.grid(1) > i", True),
        ("array[i] > THREE", False),
    ],
)
def test_conditions_with_names_around_are_compiled(expression, by_thread):
    _, _, of_thread = compiled(expression)
    assert of_thread == by_thread


@pytest.mark.parametrize("expression", ["writes(array) == 1", "counts(array) > 2"])
def test_a_device_function_that_writes_is_left_to_python(expression):
    with pytest.raises(NotCompiled, match="writes memory"):
        compiled(expression)


def test_names_around_a_kernel_are_known():
    names = dict(ConditionCompiler().names_in("i + THREE + nothing + np.pi", PLACE))
    assert names == {"i": False, "THREE": True, "nothing": False, "np": True}


SIDE_EFFECTS = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def takes(array, i):
        array[i] += 1
        return array[i]

    @cuda.jit
    def kernel(array):
        i = cuda.grid(1)
        array[i] = takes(array, i) * 10  # here

    array = np.arange(8)
    kernel[1, 8](array)
    print(*array)
"""


def test_a_condition_changes_nothing(tmp_path):
    with debugging(tmp_path, SIDE_EFFECTS) as client:
        client.break_at("here", condition="takes(array, i) == 6")
        client.run()
        assert client.wait("here")["cudasim"]["thread"] == [5, 0, 0]
        assert client.value("takes(array, i)") == "6" and client.value("array[5]") == "5"
        assert client.go_to_end().split() == [str(10 * value) for value in np.arange(8) + 1]


CLOSURES = """
    import numpy as np
    from numba import cuda

    def make(offset):
        @cuda.jit(device=True)
        def shifted(value):
            return value + offset  # inner

        @cuda.jit
        def kernel(x):
            i = cuda.grid(1)
            x[i] = shifted(i) * offset  # here

        return kernel

    kernels = [make(offset) for offset in (2, 3, 4, 5, 6)]
    x = np.zeros(8)
    for kernel in kernels:
        kernel[1, 8](x)
    print(*x)
"""


def test_of_several_closures_it_is_that_of_the_launched_kernel(tmp_path):
    with debugging(tmp_path, CLOSURES) as client:
        client.break_at(
            "here", condition="shifted(i) == 7", logMessage="outer {offset} {i} {offset * 100 + shifted(i)}"
        )
        client.run()
        client.end()
    shown = [m["body"]["output"].split() for m in client.seen if m.get("event") == "output"]
    assert [one[1:] for one in shown if one[0] == "outer"] == [
        [str(offset), str(7 - offset), str(offset * 100 + 7)] for offset in (2, 3, 4, 5, 6)
    ]

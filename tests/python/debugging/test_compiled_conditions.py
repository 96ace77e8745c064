"""Conditions of breakpoints are compiled: they hold where the kernel itself finds that they hold, whatever the types, and what cannot be
compiled is evaluated by Python."""

import json
import random

import pytest
from cudasim.debugging.conditions import ConditionCompiler, NotCompiled
from debug_session import debugging

THREADS = 96

#: Every kind of variable that a condition may name. `{lines}` says for each expression in which threads it
#: holds.
KERNEL = """
    import math
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, m, c, out):
        i = cuda.grid(1)
        t = cuda.shared.array(32, np.float32)
        l = cuda.local.array(4, np.int16)
        t[cuda.threadIdx.x] = x[i] * np.float32(0.1)
        for j in range(4):
            l[j] = i * j - 50
        cuda.syncthreads()
        h = x[i]
        d = h / 3.0
        k = m[i % 4, i % 3]
        u = np.uint8(i * 7)
        w = np.int32(i) * np.int32(100000)
        b = i % 3 == 0
        z = complex(i, 2)
{lines}
        out[0, i] += 0  # here

    x = ((np.arange(96) * 7919) % 101 - 50).astype(np.float32) / 3
    m = (np.arange(12, dtype=np.int32).reshape(4, 3) - 5) * 3
    c = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    out = np.zeros(({count}, 96), np.int64)
    kernel[3, 32](x, m, c, out)
    print("".join(map(str, out.ravel())))
"""

INTEGERS = ["i", "k", "u", "w", "j", "m[i % 4, 1]", "m[-1, -2]", "l[i % 4]", "l[-1]", "x.size", "m.shape[1]", "threadIdx.x",
            "blockIdx.x", "blockDim.x", "gridDim.x", "laneid", "warpsize", "3", "-7", "1000", "len(x)"]  # fmt: skip
REALS = ["h", "d", "x[i]", "x[-i - 1]", "t[threadIdx.x]", "t[31 - threadIdx.x]", "c[1, i % 3, -1]", "c[0, 0, 0]", "0.1", "2.5",
         "np.float32(0.1)", "float(k)", "z.real"]  # fmt: skip
TRUTHS = ["b", "not b", "True", "i in (3, 5, 60)", "k == -15", "0 < i < 50"]


def integer(random_, depth):
    if depth == 0 or random_.random() < 0.3:
        return random_.choice(INTEGERS)
    a, b = integer(random_, depth - 1), integer(random_, depth - 1)
    return random_.choice([
        f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} // 7)", f"({a} % 5)", f"({a} & {b})", f"({a} | {b})", f"({a} ^ {b})",
        f"(~{a})", f"(-{a})", f"abs({a})", f"min({a}, {b})", f"max({a}, {b})", f"({a} << 3)", f"({a} >> 2)",
        f"({a} if {truth(random_, 0)} else {b})", f"int({real(random_, 0)})",
    ])  # fmt: skip


def real(random_, depth):
    if depth == 0 or random_.random() < 0.3:
        return random_.choice(REALS)
    a, b = real(random_, depth - 1), real(random_, depth - 1)
    return random_.choice([
        f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / 1.7)", f"(-{a})", f"abs({a})", f"({a} + {integer(random_, 0)})",
        f"np.float32({a})", f"max({a}, {b})", f"math.sqrt(abs({a}))",
    ])  # fmt: skip


def truth(random_, depth):
    if depth == 0:
        return random_.choice(TRUTHS)
    kind = random_.choice([integer, integer, real])
    comparison = f"({kind(random_, depth)} {random_.choice(['<', '<=', '==', '!=', '>', '>='])} {kind(random_, depth)})"
    return random_.choice([
        comparison, comparison, f"({comparison} and {truth(random_, depth - 1)})", f"({comparison} or {truth(random_, depth - 1)})",
        f"(not {comparison})",
    ])  # fmt: skip


def held(folder, expressions):
    """For each expression the threads in which its condition held, and those in which the kernel found it true."""
    names = "warpsize laneid threadIdx blockIdx blockDim gridDim".split()
    header = "    from numba.cuda import " + ", ".join(names)
    lines = [f"        out[{n}, i] = 1 if {text} else 0" for n, text in enumerate(expressions)]
    script = (
        header + "\n" + KERNEL.replace("{lines}", "\n".join(lines)).replace("{count}", str(len(expressions)))
    )
    with debugging(folder, script) as client:
        line = client.line("here")
        client.ask(
            "setBreakpoints",
            source={"path": str(client.script)},
            breakpoints=[
                {"line": line, "condition": text, "logMessage": f"holds {n} {{i}}"}
                for n, text in enumerate(expressions)
            ],
        )
        client.run()
        output = client.end()
    by_condition = [set() for _ in expressions]
    for message in client.seen:
        if message.get("event") == "output" and message["body"]["output"].startswith("holds"):
            _, number, thread = message["body"]["output"].split()
            by_condition[int(number)].add(int(thread))
    digits = output.strip().splitlines()[-1]  # behind the kernel's warnings
    assert len(digits) == THREADS * len(expressions)
    by_kernel = [
        {thread for thread in range(THREADS) if digits[n * THREADS + thread] == "1"}
        for n in range(len(expressions))
    ]
    return by_condition, by_kernel


@pytest.mark.parametrize("seed", range(3))
def test_a_condition_holds_where_the_kernel_says_so(tmp_path, seed):
    random_ = random.Random(seed)
    expressions = [truth(random_, 2) for _ in range(30)]
    by_condition, by_kernel = held(tmp_path, expressions)
    for expression, mine, kernels in zip(expressions, by_condition, by_kernel):
        assert mine == kernels, (expression, sorted(mine ^ kernels)[:5])
    mixed = [found for found in by_kernel if 0 < len(found) < THREADS]
    assert len(mixed) >= 8, "the expressions say too little"


def test_the_arithmetic_is_the_kernels(tmp_path):
    """Expressions of which Python's own numbers say something else."""
    expressions = [
        "w * w * w > 10**15 and False or w * 3 < 0",  # int32 * int64 is int64
        "h + np.float32(0.1) == h + 0.1",  # of which one is float32
        "np.float32(h * h) == h * h",  # float32 stays float32
        "u + u > 255",  # uint8 is promoted
        "x[-1] == x[95]",
    ]
    by_condition, by_kernel = held(tmp_path, expressions)
    assert by_condition == by_kernel
    assert by_kernel[2] == set(range(THREADS)) and 0 < len(by_kernel[3]) < THREADS


def described(name, kind, size):
    return (
        name,
        json.dumps(
            {"name": kind.__class__ and kind, "kind": "signed" if "int" in kind else "float", "bytes": size}
        ),
    )


@pytest.mark.parametrize(
    ("expression", "by_thread"),
    [
        ("i > 3", False),
        ("v * 2 < i and blockIdx.x == 1", False),
        ("threadIdx.x == 3", True),
        ("abs(v) > 1 if i else True", False),
    ],
)
def test_simple_conditions_are_compiled(expression, by_thread):
    compiler = ConditionCompiler()
    known = {"i": described("i", "int64", 8), "v": described("v", "float32", 4)}
    names = [name for name, _ in compiler.names_in(expression) if name in known]
    image, name, of_thread = compiler.compile(expression, [known[name] for name in names])
    assert (
        name in [kernel["name"] if isinstance(kernel, dict) else kernel for kernel in image.kernels] or image
    )
    assert of_thread == by_thread


@pytest.mark.parametrize(
    "expression",
    [
        "str(i) == '3'",
        "[k for k in range(3)]",
        "(lambda: i)()",
        "print(i)",
        "(y := i)",
        "np.arange(3)[i]",
        "i.bit_count()",
    ],
)
def test_what_is_more_than_a_look_is_left_to_python(expression):
    with pytest.raises(NotCompiled):
        ConditionCompiler().compile(expression, [described("i", "int64", 8)])


def test_names_of_an_expression():
    names = ConditionCompiler().names_in(
        "s[i].mass > sum(k * q for k in range(3)) and threadIdx.x == (lambda a: a + r)(1)"
    )
    assert {name for name, known in names if not known} == {"s", "i", "q", "r"}
    assert {name for name, known in names if known} == {"sum", "range", "threadIdx"}


FRAMES = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def inlined(value):
        part = value * 2
        return part + 1  # inlined

    @cuda.jit(device=True)
    def factorial(n):
        if n <= 1:
            return 1  # bottom
        rest = factorial(n - 1)
        return n * rest  # up

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i > 5:
            late = i * 2
        total = inlined(i) + factorial(i % 4 + 1)  # call
        if i > 5:
            total += late
        out[i] = total  # end

    out = np.zeros(20, np.int64)
    kernel[2, 10](np.arange(20.0), out)
    print(*out)
"""
TOTALS = " ".join(str(i * 2 + 1 + [1, 2, 6, 24][i % 4] + (i * 2 if i > 5 else 0)) for i in range(20))


@pytest.fixture
def frames(tmp_path):
    with debugging(tmp_path, FRAMES) as client:
        yield client


def stops_at(client, mark, expression, shown):
    """The values of `shown` at every stop until the program ends."""
    client.break_at(mark, condition=expression, cudasim={"threads": "*"}, logMessage=f"at {{{shown}}}")
    client.run()
    output = client.end()
    assert output.strip() == TOTALS
    return [
        message["body"]["output"][3:].strip()
        for message in client.seen
        if message.get("event") == "output" and message["body"]["output"].startswith("at ")
    ]


def test_variables_of_an_inlined_function(frames):
    assert stops_at(frames, "inlined", "part == 14 or value == 11", "value") == ["7", "11"]


def test_variables_of_a_function_that_calls_itself(frames):
    assert stops_at(frames, "up", "n == 4 and rest == 6", "(n, rest)") == ["(4, 6)"] * 5


def test_a_variable_without_a_value_stops_once_and_says_so(frames):
    frames.break_at("call", condition="late == 14")
    frames.run()
    stop = frames.wait("call")
    assert stop["cudasim"]["thread"] == [0, 0, 0]
    assert stop["cudasim"]["notes"] == [
        "the condition of breakpoint 1 cannot be evaluated: the variable 'late' has not been assigned yet"
    ]
    assert frames.go(mark="call")["cudasim"]["thread"] == [7, 0, 0]  # later ones are passed
    assert frames.go_to_end().strip() == TOTALS


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("x[i + 18] > 0", "IndexError: index 20 is out of bounds for axis 0 with size 20"),
        ("10 // (i - 2) > 100", "ZeroDivisionError"),
    ],
)
def test_a_condition_that_faults_stops_once_and_says_why(frames, condition, reason):
    frames.break_at("call", condition=f"i >= 1 and {condition} and i > 18")
    frames.run()
    stop = frames.wait("call")
    (note,) = stop["cudasim"]["notes"]
    assert reason in note
    assert stop["cudasim"]["thread"] == [2, 0, 0]
    assert frames.go_to_end().strip() == TOTALS


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("i > nothing", "there is no variable 'nothing' here"),
        ("i >", "SyntaxError"),
        ("i = 3", "SyntaxError"),
        ("late ==\n3 4", "SyntaxError"),
    ],
)
def test_a_condition_that_means_nothing_is_refused(frames, condition, reason):
    frames.break_at("end", condition=condition)
    frames.run()
    changed = frames.event("breakpoint")
    while "cannot be used" not in changed["breakpoint"].get("message", ""):
        changed = frames.event("breakpoint")
    assert changed["breakpoint"]["verified"] is False
    assert reason in changed["breakpoint"]["message"] and condition in changed["breakpoint"]["message"]
    assert frames.end().strip() == TOTALS


def test_each_of_two_breakpoints_at_a_line_has_its_condition(frames):
    script = {"path": str(frames.script)}
    wanted = [{"line": frames.line("end"), "condition": f"i == {i}"} for i in (3, 16)]
    frames.ask("setBreakpoints", source=script, breakpoints=wanted)
    frames.run()
    stops = [frames.wait("end"), frames.go(mark="end")]
    assert [stop["cudasim"]["thread"] for stop in stops] == [[3, 0, 0], [6, 0, 0]]
    assert [stop["hitBreakpointIds"] for stop in stops] == [[1], [2]]
    assert frames.go_to_end().strip() == TOTALS


def test_counts_count_where_the_condition_holds(frames):
    frames.break_at("end", condition="i % 2 == 1", hitCondition=">= 9")
    frames.run()
    frames.wait("end")
    assert frames.value("i") == "17"
    frames.break_at()
    assert frames.go_to_end().strip() == TOTALS


def test_a_condition_that_python_evaluates_holds_in_the_same_threads(frames):
    assert stops_at(frames, "end", "str(total)[0] == '4' and i > 5", "total") == [
        total for total in TOTALS.split()[6:] if total[0] == "4"
    ]

"""Kernels nested deeply: compiled, run in Python mode or refused with a place, never a crash, on threads with little stack too."""

import os
import subprocess
import sys
import textwrap

import pytest

#: What is written in front of a kernel, and kernels whose body is nested to a depth, as texts
#: that CPython's parser takes.
BEFORE = "from cudasim import cuda\n@cuda.jit(device=True)\ndef f(x):\n    return x\n@cuda.jit\ndef k(o):\n"
BODIES = {
    "parentheses": lambda n: "    o[0] = " + "(" * n + "o[0]" + " + 1)" * n + "\n",
    "unary": lambda n: "    o[0] = " + "-" * n + "o[0]\n",
    "literals": lambda n: "    o[0] = " + "-" * n + "1\n",
    "not": lambda n: "    if " + "not " * n + "o[0]:\n        o[0] = 1\n",
    "sum": lambda n: "    o[0] = " + " + ".join(["o[0]"] * n) + "\n",
    "power": lambda n: "    o[0] = " + " ** ".join(["o[0]"] * n) + "\n",
    "attributes": lambda n: "    o[0] = o" + ".T" * n + "[0]\n",
    "attributes of a module": lambda n: "    o[0] = cuda" + ".x" * n + "\n",
    "subscripts": lambda n: "    o" + "[0]" * n + " = 1\n",
    "indices": lambda n: "    o[0] = " + "o[int(" * n + "0" + ")]" * n + "\n",
    "calls of calls": lambda n: "    o[0] = f" + "()" * n + "\n",
    "arguments": lambda n: "    o[0] = " + "f(" * n + "o[0]" + ")" * n + "\n",
    "conditional": lambda n: "    o[0] = " + "".join(f"{k} if o[0] == {k} else " for k in range(n)) + "0\n",
    "lambdas": lambda n: "    g = " + "lambda: " * n + "1\n    o[0] = g" + "()" * n + "\n",
    "lambdas as arguments": lambda n: "    o[0] = f(" + "lambda: " * n + "1)\n",
    "ifs": lambda n: "".join(" " * (k + 4) + f"if o[0] < {k + 1}:\n" for k in range(n)) + " " * (n + 4) + "o[0] = 5\n",
    "elif": lambda n: "    if o[0] == 0:\n        o[0] = 1\n"
    + "".join(f"    elif o[0] == {k}:\n        o[0] = {k}\n" for k in range(1, n)),
    "comparison": lambda n: "    o[0] = " + " < ".join(["o[0]"] * (n + 1)) + "\n",
    "and": lambda n: "    o[0] = " + " and ".join(["o[0]"] * (n + 1)) + "\n",
    "tuples": lambda n: "    t = " + "(" * n + "1" + ",)" * n + "\n    o[0] = 1\n",
    "targets": lambda n: "    " + "(" * n + "a" + ",)" * n + " = " + "(" * n + "1" + ",)" * n + "\n    o[0] = a\n",
    "walrus": lambda n: "    o[0] = " + "(a := " * n + "1" + ")" * n + "\n",
    "functions": lambda n: "".join(" " * (k + 4) + f"def f{k}():\n" for k in range(n)) + " " * (n + 4) + "return 1\n"
    + "".join(" " * (n + 3 - k) + f"return f{n - 1 - k}()\n" for k in range(n - 1)) + "    o[0] = f0()\n",
    "cases": lambda n: "    match o[0]:\n" + "".join(f"        case {k}:\n            o[0] = {k}\n" for k in range(n)),
    "or patterns": lambda n: "    match o[0]:\n        case " + "(" * n + "1" + " | 2)" * n + ":\n            o[0] = 1\n",
    "messages": lambda n: "    assert o[0] < 5, " + "(" * n + "'x'" + ",)" * n + "\n",
    "exceptions": lambda n: "    if o[0] > 5:\n        raise ValueError(1, " + "-" * n + "1)\n",
}  # fmt: skip

SCRIPT = """
    import pathlib, sys, threading
    sys.path.insert(0, {tests!r})
    import numpy as np
    from cudasim import options
    from test_deep_syntax import BEFORE, BODIES

    made = []

    def define(depth):
        file = pathlib.Path({folder!r}) / f"deep{{depth}}.py"
        file.write_text(BEFORE + BODIES[{construct!r}](depth))
        namespace = {{}}
        try:
            exec(compile(file.read_text(), str(file), "exec"), namespace)
        except (SyntaxError, RecursionError, MemoryError) as error:
            print("CPython:", type(error).__name__)
        else:
            made.append(namespace["k"])

    def launch(mode):
        out = np.zeros(4, np.float32)
        try:
            with options.override(cache=False, mode=mode):
                made[0][1, 1](out)
            print("ran", out[0])
        except Exception as error:
            print(type(error).__name__, str(error).replace("\\n", " "))

    def on_a_thread(stack, function, *arguments):
        threading.stack_size(stack)
        thread = threading.Thread(target=function, args=arguments)
        thread.start()
        thread.join()

    for depth in {depths}:
        made.clear()
        sys.setrecursionlimit(100_000)  # what CPython itself compiles, and parses, is bounded by it
        on_a_thread(1 << 30, define, depth)
        sys.setrecursionlimit({recursion_limit})
        for kibibytes in made and (64, 256):
            on_a_thread(kibibytes << 10, launch, "native")
        if made:
            on_a_thread(256 << 10, launch, "auto")
        print("alive")
"""


def run(folder, construct, depths, recursion_limit=1000):
    script = textwrap.dedent(SCRIPT).format(tests=os.path.dirname(__file__), folder=str(folder), construct=construct,
                                            depths=depths, recursion_limit=recursion_limit)  # fmt: skip
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("construct", sorted(BODIES))
def test_every_construct_at_every_depth(tmp_path, construct):
    depths = [15, 90, 1500, 6000]
    done = run(tmp_path, construct, depths)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    *by_depth, rest = done.stdout.split("alive\n")
    assert len(by_depth) == len(depths) and rest == ""
    for text in by_depth:
        answers = text.splitlines()
        for answer in answers:
            assert not answer.startswith(("SystemError", "RecursionError", "MemoryError", "RuntimeError")), (
                answer
            )
            # An error of the kernel's own run has coordinates, a refusal its place in the source.
            assert answer.startswith(("ran ", "CPython: ")) or "deep" in answer or "tid=[" in answer, answer
        assert answers[0].startswith("CPython") or answers[0] == answers[1], (
            answers
        )  # the same with more stack


@pytest.mark.parametrize("construct", ["sum", "cases"])
def test_the_limit_says_what_and_where(tmp_path, construct):
    done = run(tmp_path, construct, [5100], recursion_limit=100_000)
    refused, again, python_mode, alive = done.stdout.splitlines()
    assert (
        "statements and expressions nested more than 5000 deep are not compiled" in refused
        and "deep5100.py" in refused
    )
    assert (again, alive) == (refused, "alive")
    assert python_mode == "ran 0.0"  # CPython can run it

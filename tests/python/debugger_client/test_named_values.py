"""$name, $1 and assignments as they are typed, with a fake program and with a real one."""

import os
import subprocess
import sys
import textwrap

import pytest
from client_sessions import client_in
from cudasim.debugger_client import assignments
from cudasim.debugger_client.errors import CommandError
from processes import clean_environment


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def stopped(client):
    client.ask("break 12 thread 10", "run")
    return client


def test_a_name_keeps_a_value_for_later_expressions(stopped):
    assert stopped.ask("set $n = i + 1") == "" and stopped.ask("print $n") == "$1 = 11\n"
    assert stopped.ask("p $n * 2 + $1") == "$2 = 33\n"
    stopped.ask("set $n += 4", "set var $n *= 2")
    assert stopped.ask("p $n") == "$3 = 30\n" and stopped.ask("p/x $n") == "$4 = 0x1e\n"
    assert stopped.ask("p $n = i") == "$5 = 10\n" and stopped.ask("p $n") == "$6 = 10\n"
    assert stopped.ask("$n = 7") == "" and stopped.ask("output $n + 0") == "7"
    assert stopped.ask("p '$n'") == "$7 = '$n'\n"


def test_a_name_counts(stopped):
    stopped.ask("set $n = 1")
    assert stopped.ask("p x[$n++]") == "$1 = 10\n" and stopped.ask("p $n") == "$2 = 2\n"
    assert stopped.ask("p $n-- * 2") == "$3 = 4\n" and stopped.ask("p $n") == "$4 = 1\n"
    assert stopped.ask("p 1 - $n--1") == "$5 = 1\n" and stopped.ask("p $n") == "$6 = 1\n"  # a difference
    stopped.ask("set $t = 'a'")
    assert stopped.ask("p $t++") == "$t is no number.\n"


def test_a_name_without_a_value(stopped):
    assert stopped.ask("p $nothing") == "$1 = void\n"
    assert (
        stopped.ask("p $nothing + 1")
        == "$nothing has no value: give it one with set $nothing = EXPRESSION.\n"
    )
    assert "cannot be part of an expression" in stopped.ask("p $1 + 1")
    assert stopped.ask("show convenience").startswith("No value has a name")
    assert "special register" in stopped.ask("set $threadIdx = 3") and stopped.ask("set $").startswith(
        "Write set var"
    )
    assert stopped.ask("set $n").startswith("Write set var")


def test_names_that_the_debugger_gives(stopped):
    assert stopped.ask("p $bpnum") == "$1 = 1\n"
    assert stopped.ask("p $warpsize + 1") == "$2 = 33\n"
    stopped.ask("x/2xw x")
    assert stopped.ask("p $_") == "$3 = 0x1004\n" and stopped.ask("p $__") == "$4 = 1065353216\n"
    stopped.ask("delete", "continue")
    assert stopped.ask("p $_exitcode") == "$5 = 0\n"


def test_names_are_listed_and_completed(stopped):
    stopped.ask("set $first = 3", "set $second = i / 4")
    assert stopped.ask("show convenience") == stopped.ask("info convenience") == "$first = 3\n$second = 2.5\n"
    assert stopped.ask("complete p 1 + $se") == "p 1 + $second\n"


def test_values_without_a_program(client):
    assert client.ask("set $n = 2 * 3 + 1") == "" and client.ask("p $n // 2") == "$1 = 3\n"
    assert client.ask("p $n") == "$2 = 7\n"
    assert client.ask("set $m = i") == client.ask("p i") == "The program is not being run.\n"
    assert "ZeroDivisionError" in client.ask("set $m = 1 / 0")
    assert client.ask("i = 3") == "The program is not being run.\n"


def test_conditions_follow_names(client):
    client.ask("set $n = 12", "break 12 if i == $n", "break 12 if i == 3", "run")
    assert client.requests("setBreakpoints")[-1]["breakpoints"][0]["condition"] == "i == (12)"
    sent = len(client.requests("setBreakpoints"))
    client.ask("set $n = 13")
    assert client.requests("setBreakpoints")[-1]["breakpoints"][0]["condition"].endswith("(13)")
    client.ask("set $other = 1")
    assert len(client.requests("setBreakpoints")) == sent + 1
    assert "stop only if i == $n" in client.ask("info breakpoints")


def test_watches_and_lanes_know_names(stopped):
    stopped.ask("set $n = 3", "watch x[$n]")
    assert stopped.requests("dataBreakpointInfo")[-1]["name"] == "x[np.int64(3)]"
    stopped.ask("display v + $n", "set $n = 5")
    assert stopped.ask("display").endswith(f"{stopped.debugger.displays[0].number}: v + $n = 10005\n")


def test_statements_are_assignments(stopped):
    assert stopped.ask("v = i * 2") == "" and stopped.ask("p v") == "$1 = 20\n"
    stopped.ask("v += 1")
    assert stopped.requests("evaluate")[-1]["expression"] == "v += 1"
    stopped.ask("set var a = v = $1")
    assert stopped.requests("evaluate")[-1]["expression"] == "a = v = np.int64(20)"
    stopped.ask("set var x[i] -= 1")
    assert stopped.requests("evaluate")[-1]["expression"] == "x[i] -= 1"
    assert stopped.requests("evaluate")[-1]["context"] == "repl"
    assert stopped.ask("p v = 4") == "$2 = 4\n" and stopped.ask("p/x v = 31") == "$3 = 0x1f\n"
    assert stopped.ask("call v = 9") == "$4 = 9\n" and stopped.ask("p v") == "$5 = 9\n"


@pytest.mark.parametrize("line", ["d = 1", "d += 2", "x=3", "p.x = 3", "a[i == 3] = 1", "a, b = b, a", "a = b = 3", "$n = 1",
                                  "s[f(a=1)] //= 2", "list = 3", "lambdas = 1"])  # fmt: skip
def test_lines_that_are_assignments(line):
    assert assignments.is_statement(line)


@pytest.mark.parametrize("line", ["d", "d == 1", "print d = 1", "set d = 1", "break 9 if i = 3", "shell A=3 true", "!A=3 true",
                                  "echo a=b", "p f(a=3)", "d <= 3", "d != 3", "d >= 3", "= 3", "d =", "p 'a' = 'b'", "run a=1",
                                  "f(lambda: 1) = 2", "x/4 a=3"])  # fmt: skip
def test_lines_that_are_commands(line):
    assert not assignments.is_statement(line)


def test_constants_are_numbers_and_operators_only():
    assert assignments.constant("-(2 + 3) * 4.0").text == "-20.0"
    for text in ("__import__('os')", "9 ** 9 ** 9", "1 << 9999", "i", "[1 for i in 'a']", "("):
        with pytest.raises(ValueError):
            assignments.constant(text)
    with pytest.raises(CommandError, match="ZeroDivisionError"):
        assignments.constant("1 / 0")


PROGRAM = """\
import collections
import numpy as np
from numba import cuda

Pair = collections.namedtuple("Pair", "x y")


@cuda.jit(device=True)
def twice(v):
    return v * 2


@cuda.jit
def kernel(x, out):
    i = cuda.grid(1)
    d, t, pair, flag = 10, (1, 2.5), Pair(1, 2.0), i > 0
    out[i] = twice(x[i]) + d + t[1] + pair.x


x = np.arange(500, dtype=np.float32)
out = np.zeros(4)
kernel[1, 4](x, out)
print(out.tolist())
"""


def shows(folder, *commands):
    """What a batch shows that begins at the last line of the kernel in thread 2."""
    (folder / "k.py").write_text(textwrap.dedent(PROGRAM))
    arguments = [word for one in ("break 17 thread 2", "run", *commands) for word in ("-ex", one)]
    done = subprocess.run([sys.executable, "-m", "cudasim", "debug", "-batch", *arguments, "k.py"], cwd=folder, text=True,
                          timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH")))  # fmt: skip
    assert "Internal error" not in done.stdout and "Traceback" not in done.stdout, done.stdout
    return done.stdout.splitlines()[3:]


def test_assignments_take_effect_in_the_kernel(tmp_path):
    assert shows(tmp_path, "d += 100", "set $n = d", "set var t = (1, $n)", "pair.x = 1000", "p pair", "p $.x, $n", "delete",
                 "continue") == [
        "$1 = (x=1000, y=2.0)", "$2 = (1000, 110)", "Continuing.", "[13.5, 15.5, 1224.0, 19.5]", "[The program exited normally]",
    ]  # fmt: skip


def test_addresses(tmp_path):
    lines = shows(tmp_path, "p &x[3]", "x/2fw &x[i + 1]", "x/2fw $1", "p *x@3", "p x[3]@2", "p $[1]", "info symbol &x[3]", "p x@250",
                  "p *$1", "p $_", "p &d")  # fmt: skip
    begin = lines[0].removeprefix("$1 = (float32 *) ")
    assert lines[1] == lines[2] == f"{begin}:\t3.0\t4.0"
    assert lines[3:7] == [
        "$2 = [0.0, 1.0, 2.0]", "$3 = [3.0, 4.0]", "$4 = 4.0",
        f"x[3]: 12 bytes into the allocation of 2000 bytes at {int(begin, 0) - 12:#x}"]  # fmt: skip
    assert lines[7].startswith("$5 = [0.0, 1.0, ") and lines[7].endswith(" 199.0, ...]")
    assert lines[8] == "$6 = 3.0" and lines[9] == f"$7 = {int(begin, 0) + 4:#x}" and "no address" in lines[10]


def test_the_number_of_elements_that_are_shown_holds_for_computed_values(tmp_path):
    assert shows(
        tmp_path, "set print elements 3", "p x", "p x * 2", "p (x * 2).reshape(250, 2)", "p [1, 2, 3, 4]", "p $2[400]",
        "set print elements 0", "p x[:4] + 1", "set print elements 250", "p len(str((x * 2).tolist()))", "set $a = x[:400] * 2",
        "p $a[399]", "p flag", "p $ + 1", "set $b = np.arange(5000)", "p $b[0]",
    ) == [
        "$1 = [ 0., 1., 2., ...]", "$2 = [ 0., 2., 4., ...]", "$3 = [[ 0., 2.], [ 4., ...]]", "$4 = [1, 2, 3, ...]", "$5 = 800.0",
        "$6 = [1., 2., 3., 4.]", "$7 = 3445", "$8 = 798.0", "$9 = True", "$10 = 2",
        "$b cannot be part of an expression: its text does not hold the whole value.",
    ]  # fmt: skip


def test_disassemble(tmp_path):
    lines = shows(tmp_path, "disassemble", "disas twice", "disas /ptx", "disas -ptx x", "disas /q")
    ends = [index for index, line in enumerate(lines) if line == "End of dump."]
    nvvm, device, ptx = lines[: ends[0]], lines[ends[0] + 1 : ends[1]], lines[ends[1] + 1 : ends[2]]
    assert nvvm[0] == "Dump of NVVM IR of function kernel:" and nvvm[1].startswith('   define void @"kernel')
    at = nvvm.index("17\t    out[i] = twice(x[i]) + d + t[1] + pair.x")
    assert nvvm[at + 1].startswith("=>   %") and not any(line.startswith("=>") for line in nvvm[:at])
    assert device[0] == "Dump of NVVM IR of function twice:" and "10\t    return v * 2" in device
    assert ptx[0].startswith("Dump of PTX of kernel kernel for sm_") and any(
        line.startswith("=> \tst.global") for line in ptx
    )
    assert lines[ends[2] + 1 :] == [
        "The PTX is that of the whole kernel: name no function.",
        '"/q" is none of: /ptx /nvvm.',
    ]


def test_allocations(tmp_path):
    lines = shows(tmp_path, "info allocations", "info symbol 0x10", "info symbol &x")
    assert lines[0].split() == ["Address", "Bytes", "Variables", "What"]
    assert [line.split()[1:3] for line in lines[1:3]] == [["2000", "x"], ["32", "out"]]
    assert lines[3] == "No allocation of the device's memory holds 0x10."
    assert lines[4].startswith("x[0]: the beginning of the allocation of 2000 bytes at 0x")


def test_threads_that_have_ended_say_so(tmp_path):
    assert shows(tmp_path, "thread 0", "p i", "i = 3", "p 1 + 1", "complete p tw")[2:] == [
        "the thread has ended, and its variables with it", "the thread has ended, and its variables with it", "$1 = 2"]  # fmt: skip
    assert shows(tmp_path, "complete p tw", "complete p pair.") == ["p twice", "p pair.x", "p pair.y"]

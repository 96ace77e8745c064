"""`cudasim debug` with real kernels, as a user types it: on a pseudo-terminal, in pipes and in batches."""

import os
import re
import subprocess
import sys
import textwrap
import time

import pytest
from processes import clean_environment
from terminal import Terminal

PROMPT = re.compile(r"\(cudasim\) (?:\w+ block\S+ thread\S+ > )?")

SCRIPT = """\
import sys
import numpy as np
from numba import cuda


@cuda.jit(device=True)
def square(v):
    result = v * v
    return result


@cuda.jit
def spread(x, out):
    i = cuda.grid(1)
    s = cuda.shared.array(32, np.float32)
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    other = s[31 - cuda.threadIdx.x]
    total = square(other)
    total += 1
    out[i] = total


x = np.arange(64, dtype=np.float32)
out = np.zeros(int(sys.argv[1]) if len(sys.argv) > 1 else 64, dtype=np.float32)
spread[2, 32](x, out)
print("sum", out.sum(), flush=True)
"""
SUM = "sum 85408.0\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "spread.py").write_text(SCRIPT)
    return tmp_path


def batch(folder, *commands, script=("spread.py",), **variables):
    """(exit status, what a batch shows)"""
    arguments = [word for one in commands for word in ("-ex", one)]
    done = subprocess.run([sys.executable, "-m", "cudasim", "debug", "-batch", *arguments, *script], cwd=folder, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH"), **variables))  # fmt: skip
    return done.returncode, done.stdout


def shows(folder, *commands, **how):
    """What a batch shows, line by line; nothing may have failed within."""
    _, shown = batch(folder, *commands, **how)
    assert "Internal error" not in shown and "Traceback (most recent" not in shown, shown
    return shown.splitlines()


def write(folder, code, name="kernel.py"):
    (folder / name).write_text(textwrap.dedent(code))
    return (name,)


def test_one_thread_of_one_block_stops(folder):
    assert shows(
        folder, "break 16 thread 10 block 1", "run", "print i", "print x[i]", "info args", "continue"
    ) == [
        "Breakpoint 1 at spread.py:16",
        "Breakpoint 1, spread block(1,0,0) thread(10,0,0) at spread.py:16",
        "16\t    s[cuda.threadIdx.x] = x[i]",
        "$1 = 42",
        "$2 = 42.0",
        "x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, ...]",
        "out = [962.0, 901.0, 842.0, 785.0, 730.0, 677.0, 626.0, 577.0, 530.0, 485.0, ...]",
        "Continuing.",
        SUM.strip(),
        "[The program exited normally]",
    ]


def test_results_are_those_without_a_debugger(folder):
    plain = subprocess.run([sys.executable, "-m", "cudasim", "spread.py"], cwd=folder, capture_output=True, text=True,
                           env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH")))  # fmt: skip
    assert plain.stdout.startswith("sum")
    status, shown = batch(folder, "break 18 thread 3", "run", "next", "step", "finish", "delete", "continue")
    assert plain.stdout in shown and status == 0


def test_a_step_goes_over_a_barrier_and_into_a_function(folder):
    shown = shows(
        folder,
        "break 16 thread 10 block 1",
        "run",
        "next",
        "next",
        "print s[31]",
        "next",
        "step",
        "bt",
        "next",
        "next",
    )
    assert shown[3] == "17\t    cuda.syncthreads()" and shown[4] == "18\t    other = s[31 - cuda.threadIdx.x]"
    assert "$1 = 63.0" in shown and "19\t    total = square(other)" in shown
    assert any(line.startswith("square block(1,0,0) thread(10,0,0) at spread.py:") for line in shown)
    assert any(re.match(r"#1  spread \(.*\) at spread\.py:19", line) for line in shown)
    assert any(re.match(r"#2  <module> \(\) at spread\.py:26", line) for line in shown)


def test_finish_comes_back_to_the_caller(folder):
    shown = shows(folder, "break 8 thread 3 block 0", "run", "print v", "finish", "print total")
    assert (
        "$1 = 28.0" in shown
        and "spread block(0,0,0) thread(3,0,0) at spread.py:20" in shown
        and "Value returned is $2 = 784.0" in shown
        and "$3 = 784.0" in shown
    )


def test_conditions_and_counts(folder):
    shown = shows(folder, "break 18 if i == 37", "run", "print i, threadIdx.x, blockIdx.x")
    assert "$1 = (37, 5, 1)" in shown
    shown = shows(folder, "break 14", "ignore 1 40", "run", "print blockIdx.x * 32 + threadIdx.x")
    assert "$1 = 40" in shown


def test_a_condition_that_is_wrong_says_so(folder):
    shown = "\n".join(shows(folder, "break 18 if nothing > 3", "run", "info breakpoints"))
    assert "spread.py:18" in shown
    assert "the condition 'nothing > 3' cannot be used: there is no variable 'nothing' here" in shown


def test_log_points_do_not_stop(folder):
    shown = shows(folder, 'dprintf 16 thread 3..4 block 1,"i is {i}, x[i] is {x[i]}"', "run")
    text = "\n".join(shown)  # The script's own line may come before, between or after.
    assert re.findall(r"i is \d+, x\[i\] is \S+", text) == ["i is 35, x[i] is 35.0", "i is 36, x[i] is 36.0"]
    assert all(word in text for word in SUM.split()) and shown[-1] == "[The program exited normally]"


def test_start_and_kernels_by_name(folder):
    shown = shows(
        folder, "start", "cuda kernel", "info cuda kernels", "tbreak square", "continue", "info breakpoints"
    )
    assert shown[0].startswith("Kernel entry, spread block(0,0,0) thread(0,0,0) at spread.py:1")
    assert any(line.startswith("Temporary breakpoint 1, square block(0,0,0) thread(") for line in shown)
    assert shown[-1] == "No breakpoints."


def test_an_error_stops_before_the_damage(folder):
    status, shown = batch(
        folder, "run", "print i", "print out.size", "next", "continue", script=("spread.py", "40")
    )
    assert (
        "Thread block(1,0,0) thread(8,0,0) stopped: " in shown
        and "index 40 is out of bounds for axis 0 with size 40" in shown
    )
    assert "21\t    out[i] = total\n$1 = 40\n$2 = 40\n" in shown
    assert shown.endswith("[The program exited with code 1]\n") and status == 1


def test_errors_do_not_stop_where_that_is_switched_off(folder):
    status, shown = batch(folder, "set break_on_errors off", "run", script=("spread.py", "40"))
    assert "IndexError: tid=[8, 0, 0] ctaid=[1, 0, 0]" in shown and "stopped" not in shown and status == 1


def test_a_breakpoint_in_a_line_of_the_host_says_so(folder):
    script = (folder / "spread.py").read_text().splitlines()
    launch = next(number for number, line in enumerate(script, 1) if line.startswith("spread["))
    shown = shows(folder, f"break spread.py:{launch}", "break spread.py:18", "run")
    assert shown[1].startswith(f"Line {launch} lies in no function")
    assert shown[2] == "Breakpoint 2 at spread.py:18" and "Breakpoint 2, " in "\n".join(shown)


def test_errors_stop_by_their_kinds(folder):
    status, shown = batch(folder, "catch integer-division", "run", "catch", script=("spread.py", "40"))
    assert "IndexError: tid=[8, 0, 0] ctaid=[1, 0, 0]" in shown and " stopped: " not in shown and status == 1
    assert shown.count("Errors that stop the program: integer-division.\n") == 2
    status, shown = batch(folder, "catch deadlock, out-of-bounds-index", "run", script=("spread.py", "40"))
    assert "stopped: IndexError: index 40 is out of bounds" in shown
    status, shown = batch(folder, "catch nosuch", "run", "catch", script=("spread.py", "40"))
    assert 'There is no kind of error "nosuch".' in shown and "stopped: IndexError" in shown


def test_many_threads_at_once(folder):
    shown = shows(folder, "break 18 thread 10 block 0", "run", "info threads", "info cuda warps", "print -warp s[threadIdx.x]",
                  "thread find i % 10 == 3", "print -block threadIdx.x // 16")  # fmt: skip
    assert any(
        re.match(r"\* 0 +10 +1  block\(0,0,0\) thread\(10,0,0\) +stopped +spread at spread\.py:18", line)
        for line in shown
    )
    assert any(re.match(r"\* +0  10 +0x00000400  stopped +spread at spread\.py:18", line) for line in shown)
    assert (
        "  lane  8..15     -     -  10.0  11.0  12.0  13.0  14.0  15.0" in shown
        and "  thread 0..9  <the thread has ended>" in shown
    )
    assert "block(0,0,0): thread 13,23 (2 of 32)" in shown
    assert "  thread 10..15  0" in shown and "  thread 16..31  1" in shown


def test_the_focus_moves(folder):
    shown = shows(folder, "break 17 thread 10 block 0", "run", "cuda thread 3", "print i", "cuda block 1 thread (4,0,0)", "bt", "cuda block 0 thread 10",
                  "print i", "cuda thread 99", "cuda block 7")  # fmt: skip
    assert shown[3:5] == [
        "[Switching focus to spread block(0,0,0) thread(3,0,0)]",
        "spread block(0,0,0) thread(3,0,0) at spread.py:17",
    ]
    assert "$1 = 3" in shown and "$2 = 10" in shown
    assert "[Switching focus to spread block(0,0,0) thread(10,0,0)]" in shown
    assert sum("there is no" in line or "no such" in line for line in shown) >= 1


def test_variables_can_be_set(folder):
    shown = shows(
        folder,
        "break 20 thread 3 block 0",
        "run",
        "set var total = 1000",
        "print total",
        "next",
        "print total",
        "next",
        "delete",
        "continue",
    )
    assert "$1 = 1000.0" in shown and "$2 = 1001.0" in shown
    assert "sum 85624.0" in shown  # 85408 - (28 * 28 + 1) + (1000 + 1)


def test_memory_and_types(folder):
    shown = shows(folder, "break 18 thread 3 block 0", "run", "x/4fw x", "whatis i", "whatis x", "x/2xw s")
    assert any(line.endswith(":\t0.0\t1.0\t2.0\t3.0") for line in shown)
    assert any(re.match(r"type = int64|type = int32", line) for line in shown)
    assert any(line.endswith(":\t0x00000000\t0x3f800000") for line in shown)


def test_arrays_are_shown_whole_up_to_a_limit(folder):
    commands = ["break 21 thread 3 block 0", "run", "print x", "print $ + 1", "print/x x[1:3]", "set print elements 4", "print x", "print/d x",
                "print $4 + 1", "print $3"]  # fmt: skip
    shown = shows(folder, *commands)
    assert shown[3].startswith("$1 = [ 0., 1., 2.,") and "..." not in shown[3] and shown[3].endswith(" 63.]")
    assert shown[4].startswith("$2 = [ 1., 2., 3.,")
    assert shown[5] == "$3 = {0x3f800000, 0x40000000}"
    assert shown[6] == "$4 = [ 0., 1., 2., 3., ...]"
    assert shown[7] == "$5 = {0, 1065353216, 1073741824, 1077936128, ...}"
    assert shown[8] == "$6 = [ 1., 2., 3., 4., ...]"  # the whole is kept
    assert shown[9] == "$7 = [1., 2.]"


def test_until_advance_and_barrier(folder):
    shown = shows(folder, "break 15 thread 3 block 0", "run", "barrier", "advance 20", "until 21", "kill")
    assert (
        any(line.startswith("17\t") for line in shown)
        and "20\t    total += 1" in shown
        and "21\t    out[i] = total" in shown
    )
    assert shown[-1] == "[The program was killed]"


def test_loops_and_until(folder):
    script = write(folder, """\
        import numpy as np
        from numba import cuda

        @cuda.jit
        def add(out):
            total = 0
            for k in range(1000):
                total += k
            out[cuda.grid(1)] = total

        out = np.zeros(32)
        add[1, 32](out)
        print(out[0])
        """)  # fmt: skip
    shown = shows(
        folder,
        "break 8 if k == 500",
        "run",
        "next",
        "next",
        "next",
        "print k",
        "delete",
        "until",
        "until",
        "print total",
        "continue",
        script=script,
    )
    assert (
        "$1 = 501" in shown
        and "9\t    out[cuda.grid(1)] = total" in shown
        and "$2 = 499500" in shown
        and "499500.0" in shown
    )


def test_recursion(folder):
    script = write(folder, """\
        import numpy as np
        from numba import cuda

        @cuda.jit("int64(int64)", device=True)
        def factorial(n):
            if n < 2:
                return 1
            return n * factorial(n - 1)

        @cuda.jit
        def fill(out):
            i = cuda.grid(1)
            out[i] = factorial(i)

        out = np.zeros(8, np.int64)
        fill[1, 8](out)
        print(out)
        """)  # fmt: skip
    shown = shows(
        folder,
        "break 7 thread 5",
        "run",
        "bt",
        "up",
        "print n",
        "frame 4",
        "print n",
        "delete",
        "continue",
        script=script,
    )
    frames = [line for line in shown if re.match(r"#\d+ +factorial", line)]
    assert len(frames) >= 5 and any(line.startswith("#5  fill (") for line in shown), shown
    assert "$1 = 2" in shown and "$2 = 5" in shown


def test_a_module_is_debugged(folder):
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("")
    (folder / "package" / "__main__.py").write_text(SCRIPT)
    status, shown = batch(
        folder, "break 18 thread 3", "run", "delete", "continue", script=("-m", "package", "64")
    )
    assert (
        "Breakpoint 1, spread block(0,0,0) thread(3,0,0) at package/__main__.py:18\n" in shown
        and SUM.strip() in shown
        and status == 0
    )


def test_a_script_without_kernels_runs(folder):
    script = write(folder, "print(input() if False else 'hello')\nraise SystemExit(9)\n")
    assert batch(folder, "break 1", "start", script=script) == (
        9,
        "Breakpoint 1 at kernel.py:1\nLine 1 lies in no function, so no kernel comes to it. Lines of the host are for Python's debuggers.\n"
        "hello\n[The program exited with code 9]\n",
    )


def test_a_script_that_cannot_be_parsed(folder):
    status, shown = batch(folder, "run", script=write(folder, "x = (\n"))
    assert "SyntaxError" in shown and shown.endswith("[The program exited with code 1]\n") and status == 1


def test_several_launches(folder):
    (folder / "spread.py").write_text(SCRIPT + "spread[1, 32](x, out)\n")
    shown = shows(
        folder, "set cuda kernel_events on", "break 18 thread 3 block 0", "run", "continue", "continue"
    )
    assert sum(line.startswith("Breakpoint 1, spread block(0,0,0) thread(3,0,0)") for line in shown) == 2
    assert (
        "[Launch 1: spread, grid (2,1,1), block (32,1,1)]" in shown
        and "[Launch 2: spread has ended]" in shown
    )


def test_text_that_was_compiled_is_shown(folder):
    script = write(folder, """\
        import linecache
        import numpy as np
        from numba import cuda

        text = "from numba import cuda\\n@cuda.jit\\ndef made(out):\\n    i = cuda.grid(1)\\n    out[i] = i\\n"
        linecache.cache["<made>"] = (len(text), None, text.splitlines(True), "<made>")
        names = {}
        exec(compile(text, "<made>", "exec"), names)
        names["made"][1, 32](np.zeros(32))
        """)  # fmt: skip
    shown = shows(folder, "start", "next", "list", script=script)
    assert "4\t    i = cuda.grid(1)" in shown and "5\t    out[i] = i" in shown


# On a terminal


@pytest.fixture
def terminal(folder):
    found = []

    def start(*arguments):
        found.append(Terminal([sys.executable, "-m", "cudasim", "debug", "-q", *arguments], folder, 60,
                              PYTHONPATH=os.environ.get("PYTHONPATH")))  # fmt: skip
        found[-1].expect(PROMPT)
        return found[-1]

    yield start
    for one in found:
        one.close()


def test_the_scripts_input_works_between_stops(terminal, folder):
    write(folder, "print('hello', input('name? '))\n" + SCRIPT + "print('bye', input())\n", "asks.py")
    session = terminal("asks.py")
    session.ask("break 19 thread 3 block 1", PROMPT)
    session.ask("run", "name? ")
    assert "hello print i\n" in session.ask("print i", PROMPT)
    assert "$1 = 35" in session.ask("print i", PROMPT)
    session.type("continue")
    session.expect(SUM)
    assert "bye quit\n[The program exited normally]" in session.ask("quit", PROMPT)
    status, _ = session.finish("quit")
    assert status == 0


def test_ctrl_c_stops_a_kernel_that_runs_forever(terminal, folder):
    write(folder, """\
        import numpy as np
        from numba import cuda

        @cuda.jit
        def wait(flag):
            i = cuda.grid(1)
            n = 0
            while flag[0] == 0:
                n += 1
            flag[1] = i

        flag = np.zeros(2, np.int64)
        print("waiting", flush=True)
        wait[1, 1](flag)
        print("flag", flag[0], flush=True)
        """, "waits.py")  # fmt: skip
    session = terminal("waits.py")
    session.ask("run", "waiting")
    time.sleep(1.5)
    session.send("\x03")
    shown = session.expect(PROMPT)
    assert "Interrupted.\nwait block(0,0,0) thread(0,0,0) at waits.py:" in shown
    session.ask("set var flag[0] = 7", PROMPT)
    assert "flag 7\n[The program exited normally]" in session.ask("continue", PROMPT)


def test_ctrl_c_outside_of_a_kernel_is_the_scripts(terminal, folder):
    write(folder, "import time\nprint('sleeping', flush=True)\ntime.sleep(100)\n", "sleeps.py")
    session = terminal("sleeps.py")
    session.ask("run", "sleeping")
    session.send("\x03")
    shown = session.expect(PROMPT)
    assert "KeyboardInterrupt" in shown and "[The program exited with code 130]" in shown


def test_a_program_is_killed_and_started_again(terminal):
    session = terminal("spread.py")
    session.ask("break 18 thread 3", PROMPT)
    session.ask("run", PROMPT)
    session.ask("run", "Start it from the beginning? (y or n) ")
    assert "Breakpoint 1, spread block(0,0,0) thread(3,0,0)" in session.ask("y", PROMPT)
    session.ask("kill", "(y or n) ")
    assert "[The program was killed]\n(cudasim) " in session.ask("y", PROMPT)
    status, _ = session.finish("quit")
    assert status == 0


def test_finish_shows_the_value_that_was_returned(folder):
    shown = shows(
        folder, "break square thread 3 block 1", "run", "finish", "info locals", "print $1 + 1", "continue"
    )
    at = shown.index("Value returned is $1 = 3600.0")
    assert shown[at - 3].startswith("Run till exit from #0  square (v=60.0)")
    assert shown[at - 1].split() == ["20", "total", "+=", "1"]
    assert not any(line.startswith("(return)") for line in shown)
    assert "$2 = 3601.0" in shown


TWICE = """\
import numpy as np
from numba import cuda


@cuda.jit
def add(x):
    i = cuda.grid(1)
    late = x[i]
    x[i] = late + i


x = np.zeros(64)
add[2, 32](x)
add[2, 32](x)
print("sum", x.sum(), flush=True)
"""


@pytest.mark.parametrize("policy", ["forward", "reverse"])
def test_break_on_launch_stops_once_in_each_launch(tmp_path, policy):
    (tmp_path / "twice.py").write_text(TWICE)
    commands = ["set cuda break_on_launch all", "run", "continue", "continue"]
    status, shown = batch(tmp_path, *commands, script=("twice.py",), CUDASIM_POLICY=policy)
    assert status == 0 and shown.endswith("sum 4032.0\n[The program exited normally]\n")
    assert shown.count("Kernel entry, add block(0,0,0) thread(0,0,0) at twice.py:7\n") == 2
    assert shown.count("Kernel entry") == 2


def test_break_on_launch_begins_with_the_next_launch(tmp_path):
    (tmp_path / "twice.py").write_text(TWICE)
    commands = ["tbreak 8 thread 5", "run", "set cuda break_on_launch all", "continue", "continue"]
    status, shown = batch(tmp_path, *commands, script=("twice.py",))
    assert status == 0 and shown.count("Kernel entry, add block(0,0,0) thread(0,0,0)") == 1
    assert shown.endswith("sum 4032.0\n[The program exited normally]\n")


def test_printf_and_display_in_a_kernel(tmp_path):
    (tmp_path / "twice.py").write_text(TWICE)
    commands = ["break 8 thread 5 block 1", "run", r'printf "%d %.2f|%-4u|%s\n", i, x[i], i, x[:2]', "display late", "display late[", "display nosuch",
                "a", "info display"]  # fmt: skip
    _, shown = batch(tmp_path, *commands, script=("twice.py",))
    lines = shown.splitlines()
    at = lines.index("37 0.00|37  |[0., 1.]")
    assert lines[at + 1].startswith("1: late = <") and "is not assigned yet" in lines[at + 1]
    assert "SyntaxError" in lines[at + 2] and "name 'nosuch' is not defined" in lines[at + 3]
    assert lines[at + 4].startswith("x = [0.0, 1.0")
    assert lines[at + 5 :] == ["Num  Enb  Expression", "1    y    late"]

"""Debuggers and tracers that were there before the launch see the kernel's lines: pdb, debugpy, coverage.py."""

import _thread
import json
import subprocess
import sys
import threading

import pytest
from dap_client import debugged
from processes import clean_environment
from python_mode_required import skip_module_without_python_mode
from terminal import Terminal

skip_module_without_python_mode()

from cudasim.python_mode import tracers  # noqa: E402 - imports _pyfiber

SCRIPT = """\
import numpy as np
from numba import cuda

@cuda.jit(device=True)
def half(v):
    return v / 2

@cuda.jit
def k(x):
    i = cuda.grid(1)
    s = cuda.shared.array(4, np.float32)
    s[i] = half(x[i])
    cuda.syncthreads()
    if i == 77:
        x[i] = 0
    x[i] = s[3 - i]

x = np.arange(4, dtype=np.float32)
k[1, 4](x)
k.forall(4, 4)(x)
print("sum", x.sum())
"""
LAUNCH, KERNEL, BARRIER = 19, 9, 13


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def pdb(script):
    """`python -m pdb script.py`, at its first prompt."""
    terminal = Terminal([sys.executable, "-m", "pdb", "script.py"], script.parent, ENABLE_CUDASIM="1")
    terminal.expect()
    yield terminal
    terminal.close()


def place(tid, ctaid=(0, 0, 0)):
    return f"(Pdb k tid=[{tid}, 0, 0] ctaid={list(ctaid)}) "


def test_a_breakpoint_on_a_kernels_line_stops_every_thread(pdb):
    pdb.ask(f"b {BARRIER}")
    for tid in range(4):
        assert pdb.ask("c").endswith(place(tid))
        assert f"{tid}\n" in pdb.ask("p i")
    pdb.ask("cl 1")
    assert "sum 3.0" not in pdb.shown and "sum" in pdb.ask("c")


def test_conditional_and_temporary_breakpoints_and_breakpoints_on_functions(pdb):
    pdb.ask(f"b script.py:{BARRIER}, i == 2")
    assert pdb.ask("c").endswith(place(2))
    pdb.ask("cl 1")
    pdb.ask(f"tbreak {LAUNCH + 1}")
    assert "k.forall(4, 4)(x)" in pdb.ask("c")
    pdb.ask("b k")
    assert "-> i = cuda.grid(1)" in pdb.ask("c")
    pdb.ask("cl 3")
    pdb.ask("b half")
    assert "-> return v / 2" in pdb.ask("c")
    assert place(0) in pdb.ask("r")


def test_steps_go_into_the_kernel_stay_in_one_thread_and_come_out_at_the_hosts_next_line(pdb):
    pdb.ask(f"b {LAUNCH}")
    pdb.ask("c")
    assert "--Call--" in pdb.ask("s") and pdb.shown.endswith(place(0))
    lines = [pdb.ask("s") for _ in range(6)]
    assert "script.py(5)half()" not in lines[2] and "half()" in lines[3]  # 10, 11, 12, half's three
    while "[1, 0, 0]" not in lines[-1] and "k.forall" not in lines[-1]:
        assert len(lines) < 20
        lines.append(pdb.ask("s"))
    assert "-> k.forall(4, 4)(x)" in lines[-1]
    assert "cudasim" not in "".join(lines).replace("cudasim_tests", "")


@pytest.mark.parametrize("command", ["n", "until", "s"])
def test_steps_over_a_barrier_stay_in_the_thread(pdb, command):
    pdb.ask(f"tbreak script.py:{BARRIER}, i == 1")
    assert pdb.ask("c").endswith(place(1))
    shown = pdb.ask(command)
    assert "-> if i == 77" in shown and shown.endswith(place(1))


def test_return_goes_to_the_kernels_end(pdb):
    pdb.ask(f"tbreak {BARRIER}")
    pdb.ask("c")
    shown = pdb.ask("return")
    assert "--Return--" in shown and shown.endswith(place(0))
    assert "-> k.forall(4, 4)(x)" in pdb.ask("n")


def test_a_step_over_the_launch_is_native(pdb):
    pdb.ask(f"b {LAUNCH}")
    pdb.ask("c")
    assert "k.forall" in pdb.ask("n")
    assert "True" in pdb.ask(
        "p all(known.mode == 'native' for known in k.overloads.values()) and not k._traced"
    )


@pytest.mark.skipif(sys.version_info < (3, 14), reason="pdb uses sys.monitoring from CPython 3.14 on")
def test_pdb_uses_monitoring_again_after_the_launch(pdb):
    pdb.ask(f"b {BARRIER}")
    pdb.ask(f"b {LAUNCH + 2}")
    registered = "p __import__('sys').monitoring.get_tool(0), __import__('sys').gettrace()"
    assert pdb.ask("c").endswith(place(0))
    assert "(None, None)" not in pdb.ask(registered)
    pdb.ask("cl 1")
    assert "-> print" in pdb.ask("c")
    assert "('bdbtracer', None)" in pdb.ask(registered)


WATCHED_FROM_A_THREAD = """
import io, os, pdb, sys, threading
ready = threading.Event()

def other():
    options = {"backend": "monitoring"} if sys.version_info >= (3, 14) else {}
    pdb.Pdb(stdin=io.StringIO("b 15\\nc\\n"), stdout=io.StringIO(), **options).set_trace()
    ready.set()
    threading.Event().wait()

threading.Thread(target=other).start()
ready.wait()
k[1, 4](x)
print({known.mode for known in k.overloads.values()}, len(k._traced), flush=True)
os._exit(0)  # the end of a thread that pdb watches may complain
"""


def test_a_debugger_of_another_host_thread_leaves_kernels_native(script):
    script.write_text(SCRIPT + WATCHED_FROM_A_THREAD)
    done = subprocess.run([sys.executable, "script.py"], cwd=script.parent, env=clean_environment(ENABLE_CUDASIM="1"),
                          text=True, capture_output=True, timeout=120)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.endswith("{'native'} 0\n")


#: How coverage.py sees lines. It learns of branches from sys.monitoring since CPython 3.14.
CORES = ["ctrace", "pytrace", *(["sysmon"] if sys.version_info >= (3, 12) else [])]
SAYS_CORE = """
print("core", "monitoring" in vars(sys) and sys.monitoring.get_tool(sys.monitoring.COVERAGE_ID))
"""


def sees_branches(core):
    return core != "sysmon" or sys.version_info >= (3, 14)


def assert_that_kernels_are_covered(folder, file, core):
    """All but the lines and branches that no thread runs."""
    report = json.loads((folder / "report.json").read_text())["files"][file]
    assert report["missing_lines"] == [15]
    if sees_branches(core):
        assert report["missing_branches"] == [[14, 15]]


@pytest.mark.parametrize("core", CORES)
def test_coverage_sees_the_lines_and_branches_of_kernels(tmp_path, core):
    pytest.importorskip("coverage", reason="coverage is not installed (scripts/set_up.sh test installs it)")
    script = tmp_path / "script.py"
    source = SCRIPT.replace("k[1, 4]", "k[8, 4]").replace("cuda.grid(1)", "cuda.threadIdx.x")
    script.write_text(source + "import sys" + SAYS_CORE)
    environment = clean_environment(ENABLE_CUDASIM="1", COVERAGE_CORE=core)

    def coverage(*arguments):
        return subprocess.run([sys.executable, "-m", "coverage", *arguments], cwd=tmp_path, env=environment, text=True,
                              capture_output=True, timeout=120)  # fmt: skip

    done = coverage("run", *(["--branch"] if sees_branches(core) else []), "script.py")
    assert done.returncode == 0 and "sum" in done.stdout and done.stderr == ""
    assert ("core coverage.py" in done.stdout) == (core == "sysmon")
    coverage("json", "-o", "report.json", "--include", "script.py")
    assert_that_kernels_are_covered(tmp_path, "script.py", core)


COVERED_TESTS = """\
import sys

import numpy as np
import kernels

def test_one():
    x = np.arange(4, dtype=np.float32)
    kernels.k[1, 4](x)
    assert x.sum() == 3

def test_again():
    kernels.k[2, 4](np.arange(8, dtype=np.float32))
"""


@pytest.mark.parametrize("core", CORES)
def test_pytest_cov_sees_the_lines_and_branches_of_kernels(tmp_path, core):
    pytest.importorskip(
        "pytest_cov", reason="pytest-cov is not installed (scripts/set_up.sh test installs it)"
    )
    kernels = SCRIPT.partition("x = np.arange")[0].replace("cuda.grid(1)", "cuda.threadIdx.x")
    (tmp_path / "kernels.py").write_text(kernels)
    (tmp_path / "test_kernels.py").write_text(COVERED_TESTS + SAYS_CORE.replace("\nprint", "\n    print"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--cov=kernels",
         "--cov-report=json:report.json", *(["--cov-branch"] if sees_branches(core) else [])],
        cwd=tmp_path, env=clean_environment(ENABLE_CUDASIM="1", COVERAGE_CORE=core),
        text=True, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0 and "2 passed" in done.stdout and "arning" not in done.stdout + done.stderr
    assert ("core coverage.py" in done.stdout) == (core == "sysmon")
    assert_that_kernels_are_covered(tmp_path, "kernels.py", core)


def require_debugpy():
    pytest.importorskip("debugpy", reason="debugpy is not installed (scripts/set_up.sh test installs it)")


def test_a_debugpy_client_stops_in_one_thread_and_steps_in_it(script):
    require_debugpy()
    with debugged(script, [{"line": BARRIER, "condition": "i == 2"}]) as client:
        reason, thread, frames, variables = client.stopped()
        assert (reason, frames, variables["i"]) == ("breakpoint", [("k", BARRIER)], "2")
        names = {known["id"]: known["name"] for known in client.ask("threads")["threads"]}
        assert names[thread] == "k tid=[2, 0, 0] ctaid=[0, 0, 0]"
        assert client.evaluate("cuda.threadIdx.x + s[1]", thread) == "2.5"
        for line in (BARRIER + 1, BARRIER + 3):
            client.ask("next", threadId=thread)
            reason, stopped, frames, variables = client.stopped()
            assert (reason, stopped, frames, variables["i"]) == ("step", thread, [("k", line)], "2")
        client.ask("continue", threadId=thread)
        assert client.stopped()[2] == [("k", BARRIER)]  # the second launch
        client.ask("disconnect")
        status, output = client.finish()
        assert status == 0 and "sum" in output


def test_a_debugpy_client_steps_into_a_device_function(script):
    require_debugpy()
    with debugged(script, [{"line": BARRIER - 1, "condition": "i == 3"}]) as client:
        _, thread, _, _ = client.stopped()
        client.ask("stepIn", threadId=thread)
        _, stopped, frames, variables = client.stopped()
        assert (stopped, frames, variables["v"]) == (thread, [("half", 6), ("k", BARRIER - 1)], "3.0")
        for command, line in [("stepOut", BARRIER - 1), ("next", BARRIER), ("stepIn", BARRIER + 1)]:
            client.ask(command, threadId=thread)
            _, stopped, frames, _ = client.stopped()
            assert (stopped, frames) == (thread, [("k", line)])


def test_errors_under_debugpy_show_the_kernels_frames_only(tmp_path):
    require_debugpy()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("s[3 - i]", "s[4 - i]"))
    with debugged(script, [{"line": LAUNCH}, {"line": BARRIER, "condition": "i == 9"}]) as client:
        thread = client.stopped()[1]
        client.ask("continue", threadId=thread)
        status, output = client.finish()
    assert status == 1 and "IndexError: tid=[0, 0, 0] ctaid=[0, 0, 0]: index 4" in output
    assert f"line {BARRIER + 3}, in k" in output and (
        # 3.13 may complain of a thread's end while the interpreter shuts down.
        "threading.py" not in output or sys.version_info >= (3, 13)
    )


def test_kernels_without_breakpoints_stay_native_under_debugpy(tmp_path):
    require_debugpy()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + "print({known.mode for known in k.overloads.values()}, len(k._traced))\n")
    with debugged(script, [{"line": LAUNCH + 3}]) as client:
        client.stopped()
        client.ask("disconnect")
        assert "{'native'} 0" in client.finish()[1]


STARTS_AS_PYDEVD = """
import functools, sys, threading, types
from cudasim import _pyfiber
seen = []

def trace_dispatch(debugger, frame, event, arg):
    if _pyfiber.position() is not None:
        known = debugger.threading_active.get(debugger.threading_get_ident())
        seen.append((threading.main_thread() in threading.enumerate(), known.name))

trace_dispatch.__module__ = "_pydevd_bundle.as_if"
debugger = types.SimpleNamespace(
    breakpoints={k.py_func.__code__.co_filename: {BARRIER: None}}, threading_active=threading._active,
    threading_get_ident=threading.get_ident,
)
start = functools.partial(trace_dispatch, debugger)
threading.settrace(start)
sys.settrace(start)
k[1, 4](x)
sys.settrace(None)
print(sorted({*seen}))
"""


def test_the_hosts_thread_stays_listed_while_pydevd_starts_in_a_simulated_thread(script):
    """pydevd ends its session when one of its threads finds none of the user's."""
    script.write_text(SCRIPT + STARTS_AS_PYDEVD.replace("BARRIER", str(BARRIER)))
    done = subprocess.run([sys.executable, "script.py"], cwd=script.parent, env=clean_environment(ENABLE_CUDASIM="1"),
                          text=True, capture_output=True, timeout=120)  # fmt: skip
    names = [(True, f"k tid=[{tid}, 0, 0] ctaid=[0, 0, 0]") for tid in range(4)]
    assert (done.stderr, done.stdout.splitlines()[1:]) == ("", [str(names)])


def test_a_tracer_that_starts_on_a_thread_unknown_to_threading_leaves_the_list_of_threads_alone():
    start, _ = tracers.for_simulated_threads(lambda frame, event, argument: None)
    done, listed = _thread.allocate_lock(), []

    def launch():
        start(sys._getframe(), "call", None)
        listed.extend(threading.enumerate())
        done.release()

    done.acquire()
    _thread.start_new_thread(launch, ())
    assert done.acquire(timeout=30) and threading.main_thread() in listed
    assert all(isinstance(thread, threading.Thread) for thread in listed)

"""Kernels that are long, nested or entered with little stack: they compile, in a time that grows with their length, or are
refused with a clear error; Ctrl-C and progress while they compile."""

import os
import re
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from cudasim import cuda, errors, options
from long_kernels import BODIES, PARAMETERS, kernel_of
from terminal import on_a_terminal, screen_lines


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def seconds_of_first_launch(kernel, further_arguments=0):
    out = cuda.to_device(np.zeros(32, np.float32))
    before = processor_seconds()
    kernel[1, 1](out, *[np.float32(1)] * further_arguments)
    return processor_seconds() - before


@pytest.fixture(autouse=True)
def nothing_is_cached(monkeypatch):
    with options.override(cache=False, mode="native"):
        yield


@pytest.mark.parametrize(
    ("kind", "count"),
    [("lines", 2500), ("ifs", 1500), ("shared", 500), ("local", 750), ("variables", 750),
     ("branches", 500), ("late", 375), ("loops", 500), ("calls", 300), ("arguments", 250), ("prints", 750)],
)  # fmt: skip
def test_twice_the_length_takes_twice_the_time(tmp_path, kind, count):
    """Measured in processor time. That of one compilation triples where other processes use the caches and the other half of a core,
    so a ratio is believed only when the next rounds, with a pause between them, do not show a smaller one."""
    ratios, times = [], ([], [])
    while not ratios or ratios[-1] > 2.5 and len(ratios) < 8:
        time.sleep(min(len(ratios), 3))
        (tmp_path / str(len(ratios))).mkdir()
        for n, so_far in zip((count, 2 * count), times):
            kernel = kernel_of(tmp_path / str(len(ratios)), kind, n)
            so_far.append(seconds_of_first_launch(kernel, n if kind in PARAMETERS else 0))
        ratios.append(min(times[1][-1] / times[0][-1], min(times[1]) / min(times[0])))
    assert ratios[-1] <= 2.5, (ratios, times)


def test_a_long_kernel_computes_what_it_says(tmp_path):
    out = np.zeros(4, np.float32)
    kernel_of(tmp_path, "lines", 3000)[1, 4](out)
    assert out.tolist() == [sum(range(3000))] * 4
    out = np.array([-1, 0.5, 999.5], np.float32)
    kernel_of(tmp_path, "ifs", 1500)[1, 3](out)
    assert out.tolist() == [-1, 0, 0]


@pytest.mark.parametrize("kind", ["shared", "local", "variables", "branches", "late", "loops", "calls"])
def test_a_long_kernel_computes_what_python_does(tmp_path, kind):
    kernel = kernel_of(tmp_path, kind, 400)
    out, expected = np.full(3, 0.25, np.float32), np.full(3, 0.25, np.float32)
    kernel[1, 3](out)
    with options.override(mode="python"):
        kernel_of(tmp_path, kind, 400)[1, 3](expected)
    assert out.tolist() == expected.tolist()


def test_a_kernel_with_many_variables_keeps_its_checks(tmp_path):
    file = tmp_path / "fault.py"
    file.write_text("from cudasim import cuda\n@cuda.jit\ndef k(o):\n    i = cuda.grid(1)\n" + BODIES["branches"](400)
                    + "    last = i + 5\n    o[last] = 1\n")  # fmt: skip
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    with pytest.raises(IndexError, match=r"tid=\[0, 0, 0\].*index 5 is out of bounds"):
        namespace["k"][1, 1](np.zeros(4, np.float32))


def test_a_long_kernel_keeps_its_checks(tmp_path):
    with pytest.raises(IndexError, match=r"tid=\[4, 0, 0\].*index 4 is out of bounds"):
        kernel_of(tmp_path, "lines", 3000)[1, 5](np.zeros(4, np.float32))


def test_too_many_inlined_calls_are_refused(tmp_path):
    with pytest.raises(
        errors.UnsupportedError, match="more than 10000 calls of functions inside a kernel"
    ) as caught:
        kernel_of(tmp_path, "lambdas", 16)[1, 1](np.zeros(1, np.float32))
    assert "f2(x) + f2(x + 1)" in str(caught.value) and "@cuda.jit(device=True)" in str(caught.value)


def test_too_many_operations_are_refused(tmp_path):
    with pytest.raises(errors.UnsupportedError, match="more than 400000 operations"):
        kernel_of(tmp_path, "lines", 80_000)[1, 1](np.zeros(1, np.float32))


SMALL_STACK = """
    import sys, threading
    sys.path.insert(0, {tests!r})
    import numpy as np, pathlib
    from cudasim import options
    from long_kernels import kernel_of

    def work():
        with options.override(cache=False, mode="native"):
            try:
                kernel_of(pathlib.Path({folder!r}), {kind!r}, {count})[1, 1](np.zeros(4, np.float32))
                print("compiled")
            except Exception as error:
                print(type(error).__name__, str(error).splitlines()[0])

    threading.stack_size({kibibytes} * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    print("alive")
"""


def run_script(text, **fields):
    script = textwrap.dedent(text).format(**fields)
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("kibibytes", [64, 256])
@pytest.mark.parametrize(
    ("kind", "count"), [("ifs", 2000), ("lambdas", 8), ("lambdas", 16), ("sum", 300), ("elif", 300)]
)
def test_a_thread_with_a_small_stack_compiles(tmp_path, kind, count, kibibytes):
    done = run_script(SMALL_STACK, tests=os.path.dirname(__file__), folder=str(tmp_path), kind=kind, count=count,
                      kibibytes=kibibytes)  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = "UnsupportedError more than 10000" if (kind, count) == ("lambdas", 16) else "compiled"
    assert done.stdout.startswith(expected) and done.stdout.endswith("alive\n"), done.stdout


INTERRUPTED = """
    import sys, time
    sys.path.insert(0, {tests!r})
    import numpy as np, pathlib
    from cudasim import cuda, options
    from long_kernels import kernel_of

    kernel = kernel_of(pathlib.Path({folder!r}), {kind!r}, {count})
    short = kernel_of(pathlib.Path({folder!r}), "lines", 2)
    with options.override(cache=False, mode="native"):
        print("begin", flush=True)
        try:
            kernel[1, 1](np.zeros(4, np.float32))
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), time.process_time(), flush=True)
        out = np.zeros(1, np.float32)
        short[1, 1](out)
        print(out[0])
"""


def processor_time_of(process):
    """What time.process_time() would say in that process (clock_getcpuclockid(3))."""
    return time.clock_gettime(~process.pid << 3 | 2)


def interrupt(folder, kind, count, after):
    """Ctrl-C when the process has worked so long on a kernel: the seconds until KeyboardInterrupt, on the clock and in the
    processor."""
    script = textwrap.dedent(INTERRUPTED).format(
        tests=os.path.dirname(__file__), folder=str(folder), kind=kind, count=count
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begin\n"
    begin, limit = processor_time_of(process), time.monotonic() + 60
    while processor_time_of(process) < begin + after and time.monotonic() < limit:
        time.sleep(0.005)
    sent, worked = time.monotonic(), processor_time_of(process)
    process.send_signal(signal.SIGINT)
    line = process.stdout.readline().split()
    rest, stderr = process.communicate(timeout=120)
    assert line and line[0] == "interrupted", stderr
    assert rest == "1.0\n" and process.returncode == 0, stderr
    return float(line[1]) - sent, float(line[2]) - worked


@pytest.mark.alone
@pytest.mark.parametrize("after", [0.02, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3])
@pytest.mark.parametrize("kind", ["lines", "ifs"])
def test_control_c_ends_a_compilation_at_once(tmp_path, kind, after):
    """Each moment is another phase. While other processes take the processor only the process's own time says something:
    it spends as much between the signal and its exception as would pass where nothing else runs."""
    passed, spent = interrupt(tmp_path, kind, 5000, after)
    assert spent < 0.2 and passed < 3.0, (passed, spent)


def test_a_long_compilation_says_so_in_a_log(tmp_path, monkeypatch, capsys):
    from cudasim.reports import progress

    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.1)
    kernel_of(tmp_path, "lines", 4000)[1, 1](np.zeros(1, np.float32))
    assert "cudasim: k (compiling): 00:00 elapsed" in capsys.readouterr().err


COMPILING = """
    import sys
    sys.path.insert(0, {tests!r})
    import numpy as np, pathlib
    from cudasim import options
    from cudasim.reports import progress
    from long_kernels import kernel_of

    progress.AFTER_SECONDS = 0.1
    with options.override(cache=False, mode="native"):
        kernel_of(pathlib.Path({folder!r}), "lines", 4000)[1, 1](np.zeros(1, np.float32))
    print("done")
"""


def test_a_long_compilation_says_so_on_a_terminal(run, tmp_path):
    text = on_a_terminal(run, COMPILING.format(tests=os.path.dirname(__file__), folder=str(tmp_path)))
    assert re.search(r"k \(compiling\): 00:0\d elapsed", text), text
    assert screen_lines(text) == ["done"]  # and leaves nothing


def test_a_compilation_shorter_than_a_minute_writes_nothing_to_a_log(tmp_path):
    done = run_script(COMPILING, tests=os.path.dirname(__file__), folder=str(tmp_path))
    assert done.stdout == "done\n" and done.stderr == ""

"""Kernels that are long, nested or entered with little stack: they compile, in a time that grows with their length, or are
refused with a clear error; Ctrl-C and progress while they compile."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from cudasim import cuda, errors, options

BODIES = {
    "lines": lambda n: "".join(f"    o[i] += {k}\n" for k in range(n)),
    "ifs": lambda n: "".join(f"    if o[i] > {k}:\n        o[i] = {k}\n" for k in range(n)),
    "shared": lambda n: "".join(
        f"    s{k} = cuda.shared.array(1, 'float32')\n    s{k}[0] = i\n    o[i] += s{k}[0]\n" for k in range(n)
    ),
    "loops": lambda n: "".join(f"    for j in range(4):\n        o[i] += j * {k}\n" for k in range(n)),
    "barriers": lambda n: "".join(f"    o[i] += {k}\n    cuda.syncthreads()\n" for k in range(n)),
    "elif": lambda n: "    if o[i] == 0:\n        o[i] = 1\n"
    + "".join(f"    elif o[i] == {k}:\n        o[i] = {k}\n" for k in range(1, n)),
    "lambdas": lambda n: "    f0 = lambda x: x + 1\n"
    + "".join(f"    f{k} = lambda x: f{k - 1}(x) + f{k - 1}(x + 1)\n" for k in range(1, n))
    + f"    o[i] = f{n - 1}(o[i])\n",
    "sum": lambda n: "    o[i] = " + " + ".join(["o[i]"] * n) + "\n",
}


def kernel_of(folder, kind, count):
    file = folder / f"{kind}_{count}.py"
    file.write_text("from cudasim import cuda\n@cuda.jit\ndef k(o):\n    i = cuda.grid(1)\n" + BODIES[kind](count))
    namespace = {}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    return namespace["k"]


def processor_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def seconds_of_first_launch(kernel):
    out = cuda.to_device(np.zeros(32, np.float32))
    before = processor_seconds()
    kernel[1, 1](out)
    return processor_seconds() - before


@pytest.fixture(autouse=True)
def nothing_is_cached(monkeypatch):
    with options.override(cache=False, mode="native"):
        yield


@pytest.mark.parametrize(("kind", "count"), [("lines", 2500), ("ifs", 1500)])
def test_twice_the_length_takes_twice_the_time(tmp_path, kind, count):
    times = [seconds_of_first_launch(kernel_of(tmp_path, kind, n)) for n in (count, 2 * count)]
    assert times[1] <= 2.5 * times[0], times


def test_a_long_kernel_computes_what_it_says(tmp_path):
    out = np.zeros(4, np.float32)
    kernel_of(tmp_path, "lines", 3000)[1, 4](out)
    assert out.tolist() == [sum(range(3000))] * 4
    out = np.array([-1, 0.5, 999.5], np.float32)
    kernel_of(tmp_path, "ifs", 1500)[1, 3](out)
    assert out.tolist() == [-1, 0, 0]


def test_a_long_kernel_keeps_its_checks(tmp_path):
    with pytest.raises(IndexError, match=r"tid=\[4, 0, 0\].*index 4 is out of bounds"):
        kernel_of(tmp_path, "lines", 3000)[1, 5](np.zeros(4, np.float32))


def test_too_many_inlined_calls_are_refused(tmp_path):
    with pytest.raises(errors.UnsupportedError, match="more than 10000 calls of functions inside a kernel") as caught:
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
    from test_long_compilation import kernel_of

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
@pytest.mark.parametrize(("kind", "count"), [("ifs", 2000), ("lambdas", 8), ("lambdas", 16), ("sum", 300), ("elif", 300)])
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
    from test_long_compilation import kernel_of

    kernel = kernel_of(pathlib.Path({folder!r}), {kind!r}, {count})
    short = kernel_of(pathlib.Path({folder!r}), "lines", 2)
    with options.override(cache=False, mode="native"):
        print("begin", flush=True)
        try:
            kernel[1, 1](np.zeros(4, np.float32))
        except KeyboardInterrupt:
            print("interrupted", time.monotonic(), flush=True)
        out = np.zeros(1, np.float32)
        short[1, 1](out)
        print(out[0])
"""


@pytest.mark.parametrize("delay", [0.3, 2.0])
def test_control_c_ends_a_compilation_at_once(tmp_path, delay):
    script = textwrap.dedent(INTERRUPTED).format(tests=os.path.dirname(__file__), folder=str(tmp_path), kind="lines",
                                                 count=30_000)  # fmt: skip
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begin\n"
    time.sleep(delay)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    word, at = process.stdout.readline().split()
    rest, stderr = process.communicate(timeout=120)
    assert word == "interrupted" and float(at) - sent < 3.0, stderr  # 0.2 where nothing else runs
    assert rest == "1.0\n" and process.returncode == 0, stderr


def test_a_long_compilation_says_so(tmp_path, monkeypatch, capsys):
    from cudasim.reports import progress

    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.1)
    kernel_of(tmp_path, "lines", 4000)[1, 1](np.zeros(1, np.float32))
    assert "cudasim: k (compiling): 00:00 elapsed" in capsys.readouterr().err

"""Races between streams, and with the host: each program is right or wrong whatever order this machine takes."""

import textwrap

import cudasim
import numpy as np
import pytest
from cudasim import cuda

# A program has a, b: device arrays of 256 float32; s, t: streams; wait(s, t): t waits for what is in s; fill,
# add1 (b = a + 1),
# count (atomic), and pinned memory p. Where it races, its two lines end in "# first" and "# second".
RACY = {
    "two kernels": """
        fill[4, 64, s](a, 1)
        add1[4, 64, t](a, b)
    """,
    "two kernels that write": """
        fill[4, 64, s](a, 1)
        fill[4, 64, t](a, 2)
    """,
    "a kernel that only reads, then one that writes": """
        add1[4, 64, s](a, b)
        fill[4, 64, t](a, 1)
    """,
    "a copy, then a kernel": """
        a.copy_to_device(p, stream=s)
        add1[4, 64, t](a, b)
    """,
    "a kernel, then a copy back": """
        fill[4, 64, s](a, 1)
        a.copy_to_host(p, stream=t)
    """,
    "a kernel that reads, then a copy to there": """
        add1[4, 64, s](a, b)
        a.copy_to_device(p, stream=t)
    """,
    "two copies": """
        a.copy_to_device(p, stream=s)
        a.copy_to_device(p, stream=t)
    """,
    "a copy within the device": """
        fill[4, 64, s](a, 1)
        b.copy_to_device(a, stream=t)
    """,
    "an event of the wrong stream": """
        fill[4, 64, s](a, 1)
        wait(t, t)
        add1[4, 64, t](a, b)
    """,
    "an event that was recorded too early": """
        event = cuda.event()
        event.record(s)
        fill[4, 64, s](a, 1)
        event.wait(t)
        add1[4, 64, t](a, b)
    """,
    "the host waits for the wrong stream": """
        fill[4, 64, s](a, 1)
        t.synchronize()
        add1[4, 64, t](a, b)
    """,
    "one behind another that is ordered": """
        fill[4, 64, s](a, 1)
        wait(s, t)
        add1[4, 64, s](a, b)
        fill[4, 64, t](b, 2)
    """,
    "the first of three": """
        fill[4, 64, s](a, 1)
        fill[4, 64, s](b, 1)
        add1[4, 64, t](a, c)
    """,
    "one element": """
        fill[4, 64, s](a[:129], 1)
        fill[4, 64, t](a[128:], 2)
    """,
    "bytes of a word": """
        fill[1, 64, s](bytes_[:7], 1)
        fill[1, 64, t](bytes_[6:12], 2)
    """,
    "an atomic operation and a write": """
        count[4, 64, s](a)
        fill[1, 1, t](a, 0)
    """,
    "kernels of two per-thread streams and an own one": """
        fill[4, 64, cuda.per_thread_default_stream()](a, 1)
        add1[4, 64, t](a, b)
    """,
}
CLEAN = {
    "one stream": """
        fill[4, 64, s](a, 1)
        add1[4, 64, s](a, b)
    """,
    "an event": """
        fill[4, 64, s](a, 1)
        wait(s, t)
        add1[4, 64, t](a, b)
    """,
    "an event and a copy": """
        a.copy_to_device(p, stream=s)
        wait(s, t)
        add1[4, 64, t](a, b)
        wait(t, s)
        b.copy_to_host(p, stream=s)
    """,
    "the host waits for the stream": """
        fill[4, 64, s](a, 1)
        s.synchronize()
        add1[4, 64, t](a, b)
    """,
    "the host waits for the device": """
        fill[4, 64, s](a, 1)
        cuda.synchronize()
        add1[4, 64, t](a, b)
    """,
    "the host waits for an event": """
        fill[4, 64, s](a, 1)
        event = cuda.event()
        event.record(s)
        event.synchronize()
        add1[4, 64, t](a, b)
    """,
    "the host asks until the event is done": """
        fill[4, 64, s](a, 1)
        event = cuda.event()
        event.record(s)
        while not event.query():
            pass
        add1[4, 64, t](a, b)
    """,
    "a copy that waits": """
        fill[4, 64, s](a, 1)
        a.copy_to_host(stream=s)
        add1[4, 64, t](a, b)
    """,
    "the default stream": """
        fill[4, 64, s](a, 1)
        add1[4, 64](a, b)
        fill[4, 64, t](b, 1)
    """,
    "halves": """
        fill[4, 64, s](a[:128], 1)
        fill[4, 64, t](a[128:], 2)
    """,
    "bytes of a word": """
        fill[1, 64, s](bytes_[:6], 1)
        fill[1, 64, t](bytes_[6:12], 2)
    """,
    "two that read": """
        add1[4, 64, s](a, b)
        add1[4, 64, t](a, c)
    """,
    "atomic operations": """
        count[4, 64, s](a)
        count[4, 64, t](a)
    """,
    "through a third stream": """
        r = cuda.stream()
        fill[4, 64, s](a, 1)
        wait(s, r)
        wait(r, t)
        add1[4, 64, t](a, b)
    """,
    "memory that is freed and allocated again": """
        fill[4, 64, s](a, 1)
        cuda.synchronize()
        del a
        for _ in range(4):
            d = cuda.device_array(256, np.float32)
            fill[4, 64, t](d, 1)
            cuda.synchronize()
            del d
    """,
    "a callback that the host waits for": """
        import threading
        done = threading.Event()
        fill[4, 64, s](a, 1)
        s.add_callback(lambda *_: done.set())
        done.wait()
        add1[4, 64, t](a, b)
    """,
}

_SETUP = """
def wait(s, t):
    event = cuda.event()
    event.record(s)
    event.wait(t)

s, t = cuda.stream(), cuda.stream()
a, b, c = (cuda.to_device(np.zeros(256, np.float32)) for _ in range(3))
bytes_ = cuda.to_device(np.zeros(64, np.uint8))
p = cuda.pinned_array(256, np.float32)
p[:] = 0
cuda.synchronize()
"""


@cuda.jit
def fill(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = value


@cuda.jit
def add1(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + 1


@cuda.jit
def count(x):
    cuda.atomic.add(x, 0, 1)


def findings_of(program, **extra):
    """What a program of RACY or CLEAN makes the check find."""
    names = {"cuda": cuda, "np": np, "fill": fill, "add1": add1, "count": count, **extra}
    with cudasim.check("races") as found:
        exec(compile(_SETUP + textwrap.dedent(program), "<program>", "exec"), names)
        cuda.synchronize()
    return found


@pytest.fixture(params=["compiled", "python"])
def mode(request, monkeypatch):
    """Kernels run compiled, or as Python."""
    with cudasim.options.override(mode="native" if request.param == "compiled" else "python"):
        yield request.param


@pytest.mark.parametrize("name", RACY)
def test_operations_that_nothing_orders_race(name, mode):
    found = findings_of(RACY[name])
    assert [each.kind for each in found] == ["data-race"]
    assert "neither an event nor a wait of the host" in found[0].message


@pytest.mark.parametrize("name", CLEAN)
def test_operations_that_are_ordered_do_not_race(name, mode):
    assert findings_of(CLEAN[name]) == []


def test_the_report_has_both_operations_and_lines():
    found = findings_of(RACY["two kernels"])
    write, read = found[0].accesses
    launch = 1 + _SETUP.count("\n") + 1
    assert write.what == f"write in kernel fill, launched at <program>:{launch},"
    assert read.what == "read" and found[0].kernel == "add1"
    assert write.place.line == fill.py_func.__code__.co_firstlineno + 4
    assert read.place.line == add1.py_func.__code__.co_firstlineno + 4
    assert write.tid == read.tid == (0, 0, 0)
    assert found[0].object.element == "x[0]" and found[0].count == 256
    assert "(256 pairs, 1024 bytes)" in found[0].message


def test_one_element_is_named():
    (found,) = findings_of(RACY["one element"])
    assert found.object.element == "x[0]" and "(1 pair, 4 bytes)" in found.message
    write = found.accesses[0]
    assert (write.ctaid, write.tid) == ((2, 0, 0), (0, 0, 0))


def test_one_byte_of_a_word_is_enough():
    (found,) = findings_of(RACY["bytes of a word"])
    assert "(1 pair, 1 byte)" in found.message


def test_a_copy_has_the_line_of_the_host_and_no_thread():
    (found,) = findings_of(RACY["a kernel, then a copy back"])
    line = 1 + _SETUP.count("\n") + 2
    copy = found.accesses[1]
    assert (copy.what, copy.tid, copy.coordinates) == ("copy from the device", (), "")
    assert str(found.place).startswith(f"<program>:{line}") and found.coordinates == ""
    assert found.headline().startswith("data race: copy from the device of global memory")


def test_it_is_an_error_at_the_launch_or_copy(tmp_path, run_program):
    script = tmp_path / "script.py"
    body = textwrap.dedent(RACY["a kernel, then a copy back"])
    kernel = textwrap.dedent("""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def fill(x, value):
            x[cuda.grid(1)] = value
    """)
    script.write_text(kernel + _SETUP + body)
    done = run_program(script, CUDASIM_CHECK="races")
    assert done.returncode == 1
    assert "KernelError: data race: copy from the device" in done.stderr
    assert f"{script}:7" in done.stderr and "copy_to_host(p, stream=t)" in done.stderr
    silent = run_program(script)
    assert silent.returncode == 0 and silent.stderr == ""


@pytest.fixture
def run_program():
    """Runs a script with cudasim in the place of a GPU."""
    import os
    import subprocess
    import sys

    def run(script, **environment):
        return subprocess.run(
            [sys.executable, script],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "ENABLE_CUDASIM": "1", **environment},
        )

    return run


def test_cudasim_check_reports_a_copy_once(tmp_path):
    import json
    import subprocess
    import sys

    script = tmp_path / "script.py"
    kernel = "import numpy as np\nfrom numba import cuda\n\n@cuda.jit\ndef fill(x, value):\n    x[cuda.grid(1)] = value\n"
    script.write_text(kernel + _SETUP + textwrap.dedent(RACY["a kernel, then a copy back"]))
    report = tmp_path / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "cudasim", "check", "--json", report, script],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1
    (found,) = json.loads(report.read_text())["findings"]
    assert found["kind"] == "data-race" and found["accesses"][1]["what"] == "copy from the device"
    assert "copy from the device:\n" in done.stdout + done.stderr


# -- the host ------------------------------------------------------------------------------------------------


@cuda.jit
def fill_half(x, value):
    i = cuda.grid(1)
    if i < x.size // 2:
        x[i] = value


def element(a, i):
    return a[i]


def host_findings(action, kind="mapped"):
    """What is found when `action(a)` follows on a launch that writes the first half of memory that the host sees, too."""
    with cudasim.check("races") as found:
        make = cuda.mapped_array if kind == "mapped" else cuda.managed_array
        a = make(4096, np.float32)
        a[:] = 0
        fill_half[32, 128](a, 1)
        action(a)
        cuda.synchronize()
    return found


@pytest.mark.parametrize("kind", ["mapped", "managed"])
@pytest.mark.parametrize(
    "action",
    [
        lambda a: a[5],
        lambda a: a.sum(),
        lambda a: a.__setitem__(7, 2),
        lambda a: (element(a, 3000), element(a, 100)),
    ],
    ids=["read", "sum", "write", "later"],
)
def test_the_host_touches_what_a_kernel_writes(action, kind):
    (found,) = host_findings(action, kind)
    assert found.kind == "data-race" and "is not waited for" in found.message
    assert "kernel fill_half, launched at" in found.message and kind in found.message
    assert found.accesses[1].what == "read or written by the host"
    assert found.accesses[1].place.file == __file__  # also where NumPy's own Python code has touched it


@pytest.mark.parametrize(
    "action",
    [
        lambda a: (cuda.synchronize(), a.sum()),
        lambda a: (cuda.default_stream().synchronize(), a.sum()),
        lambda a: (a[4000], a.__setitem__(3000, 1)),
    ],
    ids=["synchronize", "default stream", "the other half"],
)
def test_the_host_waits_or_touches_something_else(action):
    assert host_findings(action) == []


def test_the_host_may_read_what_a_kernel_reads():
    with cudasim.check("races") as found:
        a, b = cuda.mapped_array(4096, np.float32), cuda.device_array(4096, np.float32)
        a[:] = 0
        cuda.synchronize()
        add1[32, 128](a, b)
        assert a[5] == 0
        assert found == []
        a[5] = 1
    assert [each.accesses[1].what for each in found] == ["written by the host"]


def set_element(a, i, value):
    a[i] = value


def test_pinned_memory_of_a_copy_that_is_not_waited_for():
    with cudasim.check("races") as found:
        s, d, p = cuda.stream(), cuda.device_array(4096, np.float32), cuda.pinned_array(4096, np.float32)
        p[:] = 1
        d.copy_to_device(p, stream=s)
        assert element(p, 0) == 1 and str(found) == "[]"  # the copy only reads it, too
        set_element(p, 1, 2)
        s.synchronize()
        assert len(found) == 1 and "a copy from it, enqueued at" in found[0].message
        set_element(p, 2, 3)
        d.copy_to_host(p, stream=s)
        element(p, 3)
        s.synchronize()
        assert len(found) == 2 and "a copy to it, enqueued at" in found[1].message
        element(p, 4)
        element(p, 5)
    assert len(found) == 2


def test_many_operations_that_nobody_waits_for():
    program = """
        for i in range(400):
            fill[2, 64, s](a[:128], i)
            fill[2, 64, t](a[128:], i)
            b[:64].copy_to_device(c[:64], stream=s)
            b[64:].copy_to_device(c[64:], stream=t)
    """
    assert findings_of(program) == []
    found = findings_of(program + "\n        fill[4, 64, t](a, 1)")
    assert [each.count for each in found] == [128]


def test_streams_that_were_there_before_the_block():
    names = {"cuda": cuda, "np": np, "fill": fill, "add1": add1, "count": count}
    exec(_SETUP, names)
    for _ in range(2):
        with cudasim.check("races") as found:
            exec(textwrap.dedent(RACY["two kernels"]), names)
        assert [each.kind for each in found] == ["data-race"]
        exec(textwrap.dedent(RACY["two kernels"]), names)  # not checked, and not waited for


def test_without_the_check_nothing_is_noted():
    with cudasim.check("memory") as found:
        names = {"cuda": cuda, "np": np, "fill": fill, "add1": add1, "count": count}
        exec(_SETUP + textwrap.dedent(RACY["two kernels"]), names)
    assert found == []

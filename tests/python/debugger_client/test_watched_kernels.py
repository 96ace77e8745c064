"""watch, rwatch and awatch with real kernels, in batches of `cudasim debug`."""

import subprocess
import sys

import pytest
from processes import clean_environment
from test_debugged_kernels import shows, write

pytestmark = pytest.mark.alone

#: Thread 77 overwrites s[3] in a device function, and all threads of all blocks write y[0].
WRITERS = """
    import numpy as np
    from numba import cuda


    @cuda.jit(device=True)
    def spill(s, value):
        s[3] = value


    @cuda.jit
    def fill(x, y, counter):
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        s = cuda.shared.array(256, np.float32)
        s[t] = x[i]
        cuda.syncthreads()
        if t == 77:
            spill(s, -1)
        total = 0.0
        for k in range(2):
            total += s[3] * k
        y[0] = total
        cuda.atomic.add(counter, 0, t)
        y[i] = total


    x = np.arange(512, dtype=np.float32)
    y = np.zeros(512, np.float32)
    counter = np.zeros(1, np.int64)
    fill[2, 256](x, y, counter)
    print(y.sum(), counter[0])
"""


@pytest.fixture
def script(tmp_path):
    return write(tmp_path, WRITERS)


def plain(folder, name):
    done = subprocess.run([sys.executable, name], cwd=folder, capture_output=True, text=True, check=True,
                          env=clean_environment(ENABLE_CUDASIM="1", CUDASIM_WORKERS="1"))  # fmt: skip
    return done.stdout.splitlines()


def test_the_writer_of_one_shared_element_among_256_threads(tmp_path, script):
    shown = shows(tmp_path, "break 16 block 1 thread 0", "run", "watch s[3]", "continue", "print t, s[3]",
                  "continue", "backtrace", "info watchpoints", "continue", script=script)  # fmt: skip
    assert shown[3:5] == [
        "Hardware watchpoint 2: s[3]",
        "[It is in shared memory, and watched in block 1 only]",
    ]
    first = shown.index("[Switching focus to fill block(1,0,0) thread(3,0,0)]")
    assert shown[first + 1 : first + 4] == ["", "Hardware watchpoint 2: s[3]", ""]
    assert shown[first + 4].startswith("Old value = ") and shown[first + 5] == "New value = 259.0"
    assert shown[first + 6 : first + 9] == [
        "fill block(1,0,0) thread(3,0,0) at kernel.py:16",
        "16\t    s[t] = x[i]",
        "$1 = (3, 259.0)",
    ]
    second = shown.index("[Switching focus to fill block(1,0,0) thread(77,0,0)]")
    assert shown[second + 4 : second + 8] == [
        "Old value = 259.0",
        "New value = -1.0",
        "spill block(1,0,0) thread(77,0,0) at kernel.py:8",
        "8\t    s[3] = value",
    ]
    assert shown[second + 8].startswith("#0  spill (s=[256.0, 257.0, 258.0, -1.0, 260.0")
    assert "        breakpoint already hit 2 times" in shown
    # The program's last line and this one may meet.
    assert "Watchpoint 2 deleted: s[3], because the kernel that has it has ended." in "\n".join(shown)
    assert plain(tmp_path, *script)[0] in "\n".join(shown) and shown[-1] == "[The program exited normally]"


def test_a_racy_element_shows_each_change_and_results_stay(tmp_path, script):
    shown = shows(tmp_path, "break 16 block 0 thread 0", "run", "delete 1", "watch y[0]", *["continue"] * 5,
                  script=script)  # fmt: skip
    changes = [line for line in shown if line.startswith(("Old", "New", "fill block"))]
    assert changes == [
        "Old value = 0.0", "New value = 3.0", "fill block(0,0,0) thread(0,0,0) at kernel.py:23",
        "Old value = 3.0", "New value = -1.0", "fill block(0,0,0) thread(77,0,0) at kernel.py:23",
        "Old value = -1.0", "New value = 259.0", "fill block(1,0,0) thread(0,0,0) at kernel.py:23",
        "Old value = 259.0", "New value = -1.0", "fill block(1,0,0) thread(77,0,0) at kernel.py:23",
    ]  # fmt: skip
    assert plain(tmp_path, *script)[0] in shown


def test_an_atomic_a_read_and_a_range_of_threads(tmp_path, script):
    shown = shows(tmp_path, "break 16 thread 0 block 0", "run", "delete 1", "watch counter[0] thread 9..10", "continue",
                  "continue", "delete 2", "rwatch s[3] thread 200", "continue", "awatch y[300]", "delete 3", "continue",
                  "info watchpoints", "delete 4", "continue", script=script)  # fmt: skip
    hits = [line for line in shown if line.startswith(("Old", "New", "Value", "fill block", "Hardware"))]
    assert hits == [
        "Hardware watchpoint 2: counter[0]",
        "Hardware watchpoint 2: counter[0]",
        "Old value = 36",
        "New value = 45",
        "fill block(0,0,0) thread(9,0,0) at kernel.py:24",
        "Hardware watchpoint 2: counter[0]",
        "Old value = 45",
        "New value = 55",
        "fill block(0,0,0) thread(10,0,0) at kernel.py:24",
        "Hardware read watchpoint 3: s[3]",
        "Hardware read watchpoint 3: s[3]",
        "Value = -1.0",
        "fill block(0,0,0) thread(200,0,0) at kernel.py:22",
        "Hardware access (read/write) watchpoint 4: y[300]",
        "Hardware access (read/write) watchpoint 4: y[300]",
        "Old value = 0.0",
        "New value = 259.0",
        "fill block(1,0,0) thread(44,0,0) at kernel.py:25",
    ]
    assert plain(tmp_path, *script)[0] in shown


def test_a_local_variable_until_its_thread_ends(tmp_path, script):
    shown = shows(tmp_path, "break 20 thread 4 block 1", "run", "delete", "watch total", "continue", "continue", "continue",
                  "info watchpoints", "continue", script=script)  # fmt: skip
    hits = [line for line in shown if line.startswith(("Old", "New", "Assigned"))]
    assert hits == [
        "Old value = <not assigned>",
        "New value = 0.0",
        "Assigned at kernel.py:20",
        "Old value = 0.0",
        "New value = 259.0",
        "Assigned at kernel.py:22",
    ]
    assert "Watchpoint 2 deleted: total, because the function that has it has ended." in shown
    assert "No watchpoints." in shown
    assert plain(tmp_path, *script)[0] in shown


def test_a_watch_that_never_hits_changes_nothing(tmp_path, script):
    shown = shows(tmp_path, "break 16 thread 0 block 0", "run", "delete 1", "awatch x[600:]", "awatch s[8] thread 12",
                  "watch *0x10", "rwatch total", "watch counter[0] if counter[0] < 0", "continue", script=script)  # fmt: skip
    assert "Cannot watch x[600:]: there are no elements to watch." in shown
    assert "Cannot watch *0x10: '*0x10' lies in memory that the thread may not read." in shown
    text = "\n".join(shown)  # the program's own line may come between the debugger's
    assert all(word in text for word in plain(tmp_path, *script)[0].split())


def test_shared_memory_of_every_block(tmp_path, script):
    shown = shows(tmp_path, "break 16 thread 0 block 0", "run", "delete 1", "watch s[200] block *", "continue", "continue",
                  "delete", "continue", script=script)  # fmt: skip
    assert "[It is in shared memory, and watched in block *]" in shown
    assert [line for line in shown if line.startswith("New value")] == [
        "New value = 200.0",
        "New value = 456.0",
    ]


def test_before_any_kernel_stands(tmp_path, script):
    assert shows(tmp_path, "watch y[3]", script=script)[0].startswith(
        "No kernel is stopped, and its variables exist only then."
    )


def test_loops_that_the_compiler_makes_fills_and_copies_of(tmp_path):
    script = write(tmp_path, """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def clear(x, y):
            for k in range(x.size):
                x[k] = 0
            for k in range(x.size):
                y[k] = x[k]

        x = np.ones(4096)
        y = np.ones(4096)
        clear[1, 1](x, y)
        print(x.sum() + y.sum())
    """)  # fmt: skip
    shown = shows(tmp_path, "start", "watch x[4000]", "watch y[10:20:5]", "continue", "continue", "continue", "continue",
                  script=script)  # fmt: skip
    assert [line for line in shown if line.startswith(("Hardware", "New"))][2:] == [
        "Hardware watchpoint 1: x[4000]", "New value = 0.0",
        "Hardware watchpoint 2: y[10:20:5], element y[10]", "New value = 0.0",
        "Hardware watchpoint 2: y[10:20:5], element y[15]", "New value = 0.0",
    ]  # fmt: skip
    assert "0.0" in shown

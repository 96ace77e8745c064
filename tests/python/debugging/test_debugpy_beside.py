"""debugpy, and pdb, debug a program's host code while cudasim's debugger debugs its kernels."""

import os
import pathlib
import re
import socket
import sys
import time

import pytest
from dap_client import Client, debugged
from terminal import Terminal

SCRIPT = """\
import numpy as np
from numba import cuda


@cuda.jit
def kernel(x):
    i = cuda.grid(1)
    x[i] = i * 2


x = np.zeros(64)
before = "before"
kernel[1, 64](x)
after = x.sum()
print(after)
"""


def our_client(process, folder):
    """A client of cudasim's debugger, attached to a process."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(60)
    connection.connect(str(folder / "cudasim" / f"debug_{process}"))
    client = Client(connection, None, None)
    client.ask("initialize", adapterID="cudasim")
    client.event("initialized")
    client.ask("attach")
    return client


def test_debugpy_stops_the_host_before_and_after_a_kernel_that_stands(tmp_path):
    pytest.importorskip("debugpy")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    breakpoints = [{"line": 12}, {"line": 14}]
    variables = {"CUDASIM_DEBUGGER": "listen", "XDG_RUNTIME_DIR": str(tmp_path)}
    with debugged(script, breakpoints, **variables) as host:
        reason, thread, frames, _ = host.stopped()
        assert (reason, frames) == ("breakpoint", [("<module>", 12)])
        kernel = our_client(_process_in(tmp_path), tmp_path)
        source = {"path": str(script)}
        (set_one,) = kernel.ask(
            "setBreakpoints", source=source, breakpoints=[{"line": 8, "condition": "i == 40"}]
        )["breakpoints"]
        assert set_one["message"].startswith("pending")
        kernel.ask("configurationDone")
        host.ask("continue", threadId=thread)
        stop = kernel.event("stopped")
        assert (stop["reason"], stop["cudasim"]["thread"]) == ("breakpoint", [40, 0, 0])
        frames = kernel.ask("stackTrace", threadId=1)["stackFrames"]
        assert [(one["name"], one["line"]) for one in frames[:2]] == [("kernel", 8), ("<module>", 13)]
        assert kernel.ask("evaluate", expression="i * 2", frameId=frames[0]["id"])["result"] == "80"
        assert host.ask("threads")["threads"]  # debugpy answers while the kernel stands
        kernel.ask("continue", threadId=1)
        reason, thread, frames, _ = host.stopped()
        assert (reason, frames) == ("breakpoint", [("<module>", 14)])
        assert host.evaluate("before", thread) == "'before'"
        kernel.ask("disconnect")
        host.ask("continue", threadId=thread)
        status, output = host.finish()
        assert (status, output.splitlines()[-1]) == (0, "4032.0")


def _process_in(folder):
    (socket_file,) = pathlib.Path(folder, "cudasim").iterdir()
    return int(re.fullmatch(r"debug_(\d+)", socket_file.name)[1])


def test_pdb_in_host_code_has_the_terminal(tmp_path):
    (tmp_path / "script.py").write_text(
        SCRIPT.replace('before = "before"', 'before = "before"; breakpoint()')
    )
    ours, pdbs = "(cudasim) ", re.compile(r"\(Pdb\) ")
    terminal = Terminal(
        [sys.executable, "-m", "cudasim", "debug", "-q", "script.py"],
        tmp_path,
        PYTHONPATH=os.environ.get("PYTHONPATH"),
    )
    try:
        terminal.expect(ours)
        terminal.ask("break 8 thread 40", ours)
        terminal.ask("run", pdbs)
        assert "'before'" in terminal.ask("p before", pdbs)
        terminal.type("c")
        assert "Breakpoint 1, kernel block(0,0,0) thread(40,0,0)" in terminal.expect("> ")
        assert "$1 = 40" in terminal.ask("print i", "> ")
        assert "4032.0\n[The program exited normally]" in terminal.ask("continue", ours)
        time.sleep(0.1)
        assert terminal.finish("quit")[0] == 0
    finally:
        terminal.close()

"""What a session with a debugger costs: the way to a thread, steps, stops, and going back.

cudasim's debugger is spoken to as an editor does it, by the Debug Adapter Protocol; gdb by its own machine interface (MI); Oclgrind's
debugger reads lines. What the debugged program computes is processor time of that program; what a user waits for is time on the wall.
"""

import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from bench.timing import Absent

#: Arguments: the number of launches.
LAST_THREAD = """
import sys
import numpy as np
from numba import cuda

@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]
        if i == x.size - 1:
            out[i] = 1  # last

n = 1 << 20
arrays = [cuda.to_device(np.ones(n, np.float32)) for _ in range(3)]
for _ in range(int(sys.argv[1])):
    add[n // 256, 256](*arrays)
"""
#: The same for Oclgrind: the kernel, and what launches it.
LAST_THREAD_CL = """kernel void add(global const float *x, global const float *y, global float *out, long n)
{
    long i = get_global_id(0);
    if (i < n) {
        out[i] = x[i] + y[i];
        if (i == n - 1)
            out[i] = 1;
    }
}
"""
LAST_THREAD_SIM = """add.cl
add
1048576 1 1
256 1 1

<size=4194304 fill=1 float>
<size=4194304 fill=1 float>
<size=4194304 fill=0 float>
<size=8 long>
1048576
"""
STEPS = """
import numpy as np
from numba import cuda

@cuda.jit
def add(x, y, out):
    for i in range(x.size):
        v = x[i] + y[i]
        out[i] = v  # step

arrays = [cuda.to_device(np.ones(1000, np.float32)) for _ in range(3)]
add[1, 1](*arrays)
"""
STEPS_C = """
static float x[1000], y[1000], out[1000];

static void add(void) {
    for (int i = 0; i < 1000; ++i) {
        float v = x[i] + y[i];
        out[i] = v;
    }
}

int main(void) {
    add();
    return 0;
}
"""
MILLION = """
import numpy as np
from numba import cuda, float32

@cuda.jit
def turn(x, out):
    i = cuda.grid(1)
    shared = cuda.shared.array(256, float32)
    if cuda.threadIdx.x % 2 == 0:
        shared[cuda.threadIdx.x] = x[i]
    else:
        shared[cuda.threadIdx.x] = -x[i]
    cuda.syncthreads()
    v = shared[255 - cuda.threadIdx.x]  # behind
    out[i] = v

n = 1 << 20
arrays = [cuda.to_device(np.ones(n, np.float32)) for _ in range(2)]
turn[n // 256, 256](*arrays)
"""
#: Arguments: blocks, threads of each, rounds. A round is two statements.
LONG = """
import sys
import numpy as np
from numba import cuda

@cuda.jit
def work(out, rounds):
    i = cuda.grid(1)
    total = 0.0  # first
    for k in range(rounds):
        total += k
    out[i] = total  # last

blocks, threads, rounds = map(int, sys.argv[1:])
out = cuda.to_device(np.zeros(blocks * threads))
work[blocks, threads](out, rounds)
"""
#: Statements of a thread besides those of its rounds.
OTHERS = 4
SECONDS = 600
STEPS_MEASURED = 200


class Session:
    """A program under cudasim's debugger, and its client."""

    def __init__(self, text, *arguments):
        self.lines = text.splitlines()
        self._folder = tempfile.TemporaryDirectory()
        self.script = pathlib.Path(self._folder.name, "script.py")
        self.script.write_text(text)
        path = os.path.join(self._folder.name, "socket")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen(1)
            listening.settimeout(SECONDS)
            self._program = subprocess.Popen(
                [sys.executable, "-m", "cudasim.debugging.debuggee", str(self.script), *map(str, arguments)],
                env={**os.environ, "ENABLE_CUDASIM": "1", "CUDASIM_DEBUGGER": f"connect:{path}"},
            )
            self._connection, _ = listening.accept()
        self._connection.settimeout(SECONDS)
        self._received, self._sequence, self._events = b"", 0, []
        self.ask("initialize", adapterID="bench")
        self.event("initialized")
        self.ask("attach")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._program.kill()
        self._program.wait()
        self._connection.close()
        self._folder.cleanup()

    def ask(self, command, **arguments):
        """A request; its response's body."""
        self._sequence += 1
        message = {
            "seq": self._sequence, "type": "request", "command": command, "arguments": arguments,
        }  # fmt: skip
        body = json.dumps(message).encode()
        self._connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        while True:
            answer = self._message()
            if answer["type"] == "response" and answer["request_seq"] == self._sequence:
                if not answer["success"]:
                    raise SystemExit(f"bench: {command} failed: {answer.get('message')}")
                return answer.get("body")
            if answer["type"] == "event":
                self._events.append(answer)

    def event(self, name):
        """The next event of this name; others are passed over."""
        while True:
            message = self._events.pop(0) if self._events else self._message()
            if message["type"] == "event" and message["event"] == name:
                return message.get("body")

    def _message(self):
        while b"\r\n\r\n" not in self._received:
            self._read()
        header, _, self._received = self._received.partition(b"\r\n\r\n")
        length = int(header.split(b":")[1])
        while len(self._received) < length:
            self._read()
        body, self._received = self._received[:length], self._received[length:]
        return json.loads(body)

    def _read(self):
        data = self._connection.recv(1 << 16)
        if not data:
            raise SystemExit("bench: the debugged program has ended")
        self._received += data

    # -- what sessions do

    def line(self, mark):
        return next(n for n, each in enumerate(self.lines, 1) if each.endswith(f"# {mark}"))

    def break_at(self, *breakpoints):
        """(mark, more about it): these, and no others."""
        wanted = [{"line": self.line(mark), **more} for mark, more in breakpoints]
        self.ask("setBreakpoints", source={"path": str(self.script)}, breakpoints=wanted)

    def begin(self):
        self.ask("configurationDone")

    def stop(self, command, mark=None, **arguments):
        """Moves; where it has stopped."""
        self.ask(command, **arguments)
        where = self.event("stopped")["cudasim"]
        if mark is not None and where.get("line") != self.line(mark):
            raise SystemExit(f"bench: {command} has stopped at {where}")
        return where

    def cpu(self):
        """Processor time of the program so far."""
        return time.clock_gettime((~self._program.pid << 3) | 2)  # as clock_getcpuclockid() makes it

    def timed_stop(self, *command, **arguments):
        """Processor time of a movement."""
        start = self.cpu()
        self.stop(*command, **arguments)
        return self.cpu() - start


def last_thread():
    """From the kernel's entry to a breakpoint in the last of 2**20 threads; compiled before. Processor time."""
    repeats = 6
    entry = [{"name": "*"}]
    with Session(LAST_THREAD, repeats) as session:
        session.ask("setFunctionBreakpoints", breakpoints=entry)
        session.break_at(("last", {}))
        session.begin()
        session.event("stopped")
        times = []
        for repeat in range(repeats):
            session.ask("setFunctionBreakpoints", breakpoints=[])
            times.append(session.timed_stop("continue", "last", threadId=1))
            session.ask("setFunctionBreakpoints", breakpoints=entry)
            if repeat < repeats - 1:
                session.stop("continue", threadId=1)
    return statistics.median(times[1:])


def last_thread_in_oclgrind():
    """The same in Oclgrind's debugger. :raises Absent: without it"""
    if shutil.which("oclgrind-kernel") is None:
        raise Absent("oclgrind is not installed")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "add.cl").write_text(LAST_THREAD_CL)
        pathlib.Path(folder, "add.sim").write_text(LAST_THREAD_SIM)

        def cost(*commands):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(
                ["oclgrind-kernel", "-i", "add.sim"], cwd=folder, capture_output=True, text=True,
                input="\n".join([*commands, "quit"]) + "\n", timeout=SECONDS,
            )  # fmt: skip
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout

        start, _ = cost("break 7")
        whole, output = cost("break 7", "continue")
    if "hit at line 7 by work-item (1048575,0,0)" not in output:
        raise Absent(f"Oclgrind's debugger does not stop at a breakpoint here: {output.strip()}")
    return whole - start


def step():
    """`next`, then the stack and the variables of its innermost frame, until the answers are there. Time on the wall."""
    with Session(STEPS) as session:
        session.break_at(("step", {}))
        session.begin()
        session.event("stopped")
        session.break_at()
        times = []
        for _ in range(STEPS_MEASURED):
            start = time.perf_counter()
            session.stop("next", threadId=1)
            frames = session.ask("stackTrace", threadId=1)["stackFrames"]
            scopes = session.ask("scopes", frameId=frames[0]["id"])["scopes"]
            found = session.ask("variables", variablesReference=scopes[0]["variablesReference"])["variables"]
            times.append(time.perf_counter() - start)
        if not {"i", "v"} <= {each["name"] for each in found}:
            raise SystemExit(f"bench: the step found {found}")
    return statistics.median(times)


class Gdb:
    """gdb and its machine interface. :raises Absent: without gdb, a compiler, or the right to trace"""

    def __init__(self, text, folder):
        missing = [name for name in ("gdb", "cc") if shutil.which(name) is None]
        if missing:
            raise Absent(f"{' and '.join(missing)} not installed")
        pathlib.Path(folder, "program.c").write_text(text)
        subprocess.run(["cc", "-g", "-O0", "-o", "program", "program.c"], cwd=folder, check=True)
        self._gdb = subprocess.Popen(
            ["gdb", "-nx", "-q", "--interpreter=mi3", "./program"], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._until("(gdb)")

    def end(self):
        self._gdb.kill()
        self._gdb.wait()

    def _until(self, beginning):
        for line in self._gdb.stdout:
            if line.startswith("^error"):
                raise Absent(f"gdb cannot trace processes here: {line.strip()}")
            if line.startswith(beginning):
                return line
        raise Absent("gdb has ended")

    def ask(self, command):
        """The line of its answer."""
        self._gdb.stdin.write(command + "\n")
        self._gdb.stdin.flush()
        return self._until("^")

    def stop(self, command):
        self.ask(command)
        return self._until("*stopped")


def step_in_gdb():
    """The same in gdb, in a loop of a C program."""
    with tempfile.TemporaryDirectory() as folder:
        gdb = Gdb(STEPS_C, folder)
        try:
            line = next(n for n, each in enumerate(STEPS_C.splitlines(), 1) if "out[i] = v" in each)
            gdb.ask(f"-break-insert -t program.c:{line}")
            gdb.stop("-exec-run")
            times = []
            for _ in range(STEPS_MEASURED):
                start = time.perf_counter()
                gdb.stop("-exec-next")
                gdb.ask("-stack-list-frames")
                found = gdb.ask("-stack-list-variables --simple-values")
                times.append(time.perf_counter() - start)
            if not re.search(r'name="v"', found):
                raise SystemExit(f"bench: gdb's step found {found}")
        finally:
            gdb.end()
    return statistics.median(times)


def stop_among_a_million():
    """A step of one thread of 2**20, and then all threads by groups, as `info threads` and editors list them. Time on the wall."""
    times = []
    with Session(MILLION) as session:
        session.break_at(("behind", {"cudasim": {"threads": "100", "blocks": "2000..2040"}}))
        session.begin()
        session.event("stopped")
        for _ in range(40):
            start = time.perf_counter()
            session.stop("next", threadId=1)
            groups = session.ask("cudasim/groups")["groups"]
            session.ask("threads")
            times.append(time.perf_counter() - start)
            session.stop("continue", "behind", threadId=1)
    if sum(group["count"] for group in groups) != 1 << 20:
        raise SystemExit(f"bench: the groups are {groups}")
    return statistics.median(times)


@contextlib.contextmanager
def _at_the_end(blocks, threads, statements):
    """A session that stands at the end of its last thread, when about so many statements have begun; what the way took."""
    rounds = (statements // (blocks * threads) - OTHERS) // 2
    with Session(LONG, blocks, threads, rounds) as session:
        first = ("first", {"cudasim": {"threads": "0", "blocks": "0"}})
        last = ("last", {"cudasim": {"threads": str(threads - 1), "blocks": str(blocks - 1)}})
        session.break_at(first, last)
        session.begin()
        session.event("stopped")
        yield session, session.timed_stop("continue", "last", threadId=1)


def reverse_step(blocks, threads, repeats):
    """A step back after 10**9 statements. Processor time."""
    with _at_the_end(blocks, threads, 10**9) as (session, _):
        return statistics.median(
            session.timed_stop("stepBack", threadId=1, cudasim={"kind": "in"}) for _ in range(repeats)
        )


def reverse_continue():
    """From the end of a launch back to a breakpoint at its beginning, in parts of what the way there took. Processor time."""
    ratios = []
    for _ in range(3):
        with _at_the_end(4096, 256, 10**8) as (session, forward):
            ratios.append(session.timed_stop("reverseContinue", "first", threadId=1) / forward)
    return statistics.median(ratios)

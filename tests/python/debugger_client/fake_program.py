"""A program that speaks the debugger's protocol and simulates one small kernel, for tests of the client alone.

It is deliberately simple: 2 blocks of 32 threads run SOURCE line by line, one thread after the other. Used in this process
(FakeProgram), and as a process of its own with a terminal (`fake_program.py`, started as the debugged program is).
"""

import base64
import contextlib
import json
import os
import queue
import signal
import socket
import struct
import sys
import threading
import types

from cudasim.debugger_client.dap import Connection, encoded, read_message

SOURCE = """\
import numpy as np
from numba import cuda

@cuda.jit(device=True)
def square(v):
    return v * v

@cuda.jit
def invert(x, y):
    i = cuda.grid(1)
    v = square(x[i])
    y[i] = 255 - v

invert[2, 32](x, y)
"""
#: (function, line, depth) of each statement that a thread runs.
TRACE = [("invert", 10, 1), ("invert", 11, 1), ("square", 6, 2), ("invert", 12, 1)]
LINES = sorted({line for _, line, _ in TRACE})
GRID, BLOCK = [2, 1, 1], [32, 1, 1]
THREADS = 64


def _in_range(text, index):
    if text in (None, "*"):
        return True
    for item in text.strip("[]").replace("),", ");").split(";" if ")" in text else ","):
        first, _, last = item.strip("()").partition("..")
        first = first.split(",")[0]
        if int(first) <= index <= int(last or first):
            return True
    return False


class FakeServer:
    """Answers requests on a socket until the kernel is over."""

    def __init__(self, connected, path, fails_at=None, status=0):
        self._socket, self.stream = connected, connected.makefile("rb")
        self.path, self.fails_at, self.status = path, fails_at, status
        self.requests = []  # (command, arguments) of all that came
        self._lines, self._functions, self._watches = {}, [], []
        self._positions = [-1] * THREADS
        self._focus, self._launched, self._values, self._hits = 0, False, {}, {}
        self.refuse = {}  # command → message
        self.extra_events = []  # sent with the next stop
        self._sequence = 0

    # Messages

    def _send(self, **message):
        self._sequence += 1
        self._socket.sendall(encoded({"seq": self._sequence, **message}))

    def event(self, name, **body):
        self._send(type="event", event=name, body=body)

    def serve(self):
        while (message := read_message(self.stream)) is not None:
            command, arguments = message["command"], message["arguments"]
            self.requests.append((command, arguments))
            method = getattr(self, "_" + command.replace("/", "_"), None)
            answer = {"type": "response", "request_seq": message["seq"], "command": command}
            if command in self.refuse or method is None:
                self._send(
                    **answer, success=False, message=self.refuse.get(command, f"unsupported: {command}")
                )
                continue
            try:
                body = method(arguments)
            except Exception as error:  # noqa: BLE001 - what a request fails with is its answer
                self._send(**answer, success=False, message=str(error))
                continue
            after = body.pop("after", None) if isinstance(body, dict) else None
            self._send(**answer, success=True, body=body or {})
            if after is not None and after() == "over":
                return

    # The beginning

    def _initialize(self, arguments):
        filters = [{"filter": "errors", "label": "errors"}, {"filter": "calls", "label": "calls"}]
        return {"supportsConfigurationDoneRequest": True, "exceptionBreakpointFilters": filters,
                "after": lambda: self.event("initialized")}  # fmt: skip

    def _disconnect(self, arguments):
        return {"after": lambda: "over"}

    def _attach(self, arguments):
        return {}

    def _configurationDone(self, arguments):
        return {"after": self._launch}

    def _launch(self):
        self._launched = True
        self.event("cudasim/launch", event="begin", kernel="invert", launch=1, grid=GRID, blockDim=BLOCK)
        for function in self._functions:
            if function["name"] == "*":
                self._positions[0] = 0
                return self._stopped("entry", ids=[function["cudasim"]["id"]])
        return self._run()

    def _setBreakpoints(self, arguments):
        self._lines[arguments["source"]["path"]] = arguments["breakpoints"]
        return {"breakpoints": [self._verified(one) for one in arguments["breakpoints"]]}

    def _verified(self, one):
        number = one["cudasim"]["id"]
        if not self._launched:
            return {
                "id": number,
                "verified": False,
                "message": "pending: no kernel with code there has been launched",
            }
        if one.get("condition") == "bad(":
            return {"id": number, "verified": False, "message": "the condition is no expression"}
        later = [line for line in LINES if line >= one["line"]]
        if not later:
            return {"id": number, "verified": False, "message": "no code there"}
        return {"id": number, "verified": True, "line": later[0]}

    def _setFunctionBreakpoints(self, arguments):
        self._functions = arguments["breakpoints"]
        return {
            "breakpoints": [
                {"id": one["cudasim"]["id"], "verified": self._launched} for one in self._functions
            ]
        }

    def _dataBreakpointInfo(self, arguments):
        """Elements of y can be watched, as if they lay in shared memory; v is a variable."""
        name = arguments["name"]
        if name == "v":
            return {
                "dataId": "1:v",
                "description": name,
                "accessTypes": ["write"],
                "cudasim": {"space": "variable"},
            }
        if not name.startswith("y["):
            return {"dataId": None, "description": f"there is no variable '{name}' here"}
        access = ["write", "read", "readWrite"]
        return {
            "dataId": f"2:{name}",
            "description": name,
            "accessTypes": access,
            "cudasim": {"space": "shared", "block": 0},
        }

    def _setDataBreakpoints(self, arguments):
        self._watches = arguments["breakpoints"]
        return {
            "breakpoints": [
                {"id": one["cudasim"]["id"], "verified": True}
                if one.get("condition") != "bad("
                else {"verified": False, "message": "names nothing that is there"}
                for one in self._watches
            ]
        }

    def _watched_by(self, index):
        """Threads write their element of y when they come to line 12."""
        for one in self._watches:
            name = one["dataId"][2:]
            if (
                TRACE[self._positions[index]][1] != 12
                or f"y[{index}]" != name
                or not self._matches(one, index)
            ):
                continue
            is_read = one["accessType"] == "read"
            told = {"id": one["cudasim"]["id"], "expression": name, "access": "read" if is_read else "write", "new": "5",
                    "changed": not is_read, "file": self.path, "line": 11 if index == 20 else 12}  # fmt: skip
            return told if is_read else {**told, "old": "0", "element": f"{name}*"}
        return None

    def _setExceptionBreakpoints(self, arguments):
        return {}

    # Running

    def _breakpoint_at(self, index):
        function, line, _ = TRACE[self._positions[index]]
        for one in self._lines.get(self.path, []):
            later = [number for number in LINES if number >= one["line"]]
            if later and later[0] == line and self._matches(one, index):
                return one, "breakpoint"
        for one in self._functions:
            if one["name"] == function and line in (10, 6) and self._matches(one, index):
                return one, "function breakpoint"
        return None

    def _matches(self, one, index):
        own = one["cudasim"]
        if not _in_range(own.get("threads"), index % 32) or not _in_range(own.get("blocks"), index // 32):
            return False
        if one.get("condition") and not eval(one["condition"], self._names(index)):
            return False
        count = self._hits[own["id"]] = self._hits.get(own["id"], 0) + 1
        if one.get("hitCondition") and count < int(one["hitCondition"].removeprefix(">= ")):
            return False
        if "logMessage" in one:
            text = eval("f" + repr(one["logMessage"]), self._names(index))
            self.event("output", category="console", output=text + "\n")
            return False
        return True

    def _run(self, only=None):
        """The focus runs on, then the others in their order."""
        order = [self._focus] + [index for index in range(THREADS) if index != self._focus]
        for index in order:
            while self._positions[index] < len(TRACE):
                self._positions[index] += 1
                if self._positions[index] == len(TRACE):
                    break
                self._focus = index
                if index == self.fails_at and TRACE[self._positions[index]][1] == 12:
                    return self._stopped("exception", text=f"IndexError: index {index} is out of bounds")
                if hit := self._breakpoint_at(index):
                    return self._stopped(hit[1], ids=[hit[0]["cudasim"]["id"]])
                if told := self._watched_by(index):
                    return self._stopped("data breakpoint", ids=[told["id"]], watches=[told])
        return self._over()

    def _over(self):
        self.event("cudasim/launch", event="end", kernel="invert", launch=1, grid=GRID, blockDim=BLOCK)
        self.event("terminated")
        return "over"

    def _stopped(self, reason, ids=(), text="", notes=(), watches=()):
        function, line, _ = TRACE[self._positions[self._focus]]
        for name, body in self.extra_events:
            self.event(name, **body)
        self.extra_events = []
        own = {"kernel": "invert", "block": [self._focus // 32, 0, 0], "thread": [self._focus % 32, 0, 0], "file": self.path,
               "line": line, "function": function, "launch": 1, "grid": GRID, "blockDim": BLOCK, "notes": list(notes)}  # fmt: skip
        own["hits"] = [{"id": number, "hits": count} for number, count in self._hits.items()]
        if watches:
            own["watches"] = list(watches)
        body = {"reason": reason, "threadId": 1, "allThreadsStopped": True, "cudasim": own}
        if ids:
            body["hitBreakpointIds"] = list(ids)
        if text:
            body["text"] = text
        self.event("stopped", **body)

    def _step_where(self, wanted, reason="step"):
        """The focus runs until a position that is wanted, or its end; then the others."""
        start = TRACE[self._positions[self._focus]]

        def go():
            while True:
                self._positions[self._focus] += 1
                if self._positions[self._focus] >= len(TRACE):
                    return self._run()
                if wanted(start, TRACE[self._positions[self._focus]]):
                    return self._stopped(reason)

        return {"after": go}

    def _continue(self, arguments):
        return {"after": self._run}

    def _stepIn(self, arguments):
        return self._step_where(lambda start, now: True)

    def _next(self, arguments):
        return self._step_where(lambda start, now: now[2] <= start[2])

    def _stepOut(self, arguments):
        levels = arguments["cudasim"].get("levels", 0)
        return self._step_where(lambda start, now: now[2] < start[2] - levels)

    def _cudasim_until(self, arguments):
        line = arguments.get("line")
        return self._step_where(
            lambda start, now: now[2] <= start[2] and (now[1] == line if line else now[1] > start[1])
        )

    def _cudasim_barrier(self, arguments):
        return self._step_where(lambda start, now: now[1] == 12)

    # Looking

    def _names(self, index):
        names = {"x": [10 * one for one in range(THREADS)], "threadIdx": types.SimpleNamespace(x=index % 32), "i": index,
                 "blockIdx": types.SimpleNamespace(x=index // 32), "warpsize": 32}  # fmt: skip
        names["v"] = names["x"][index] ** 2
        return {**names, **self._values}

    def _threads(self, arguments):
        return {"threads": [{"id": 1, "name": "focus"}]}

    def _cudasim_focus(self, arguments):
        block, thread = (
            value[0] if isinstance(value, list) else value
            for value in (
                arguments.get("block", self._focus // 32),
                arguments.get("thread", 0 if "block" in arguments else self._focus % 32),
            )
        )
        if block > 1 or thread > 31:
            raise ValueError(f"there is no thread {thread} in block {block}")
        self._focus = 32 * block + thread
        position = self._positions[self._focus]
        body = {
            "threadId": 1,
            "kernel": "invert",
            "block": [block, 0, 0],
            "thread": [thread, 0, 0],
            "grid": GRID,
            "blockDim": BLOCK,
        }
        if not 0 <= position < len(TRACE):
            return {**body, "state": "not started" if position < 0 else "over"}
        function, line, _ = TRACE[position]
        return {**body, "state": "stopped", "file": self.path, "line": line, "function": function}

    def _cudasim_groups(self, arguments):
        groups = []
        for index, position in enumerate(self._positions):
            state = "not started" if position < 0 else "over" if position >= len(TRACE) else "stopped"
            key = (state, position, index // 32, index == self._focus)
            if groups and groups[-1]["key"] == key:
                groups[-1]["last_index"] = index
                groups[-1]["count"] += 1
                continue
            groups.append({"key": key, "threadId": len(groups) + 1, "focus": key[3], "state": state, "count": 1, "blocks": str(index // 32),
                           "first_index": index, "last_index": index})  # fmt: skip
            if state == "stopped":
                groups[-1].update(file=self.path, line=TRACE[position][1], function=TRACE[position][0])
        for group in groups:
            first, last = group.pop("first_index") % 32, group.pop("last_index") % 32
            block = [group.pop("key")[2], 0, 0]
            group["threads"] = str(first) if first == last else f"{first}..{last}"
            group["first"], group["last"] = ({"block": block, "thread": [one, 0, 0]} for one in (first, last))
        return {"groups": groups}

    def _cudasim_kernel(self, arguments):
        return {"kernel": "invert", "launch": 1, "grid": GRID, "blockDim": BLOCK, "sharedBytes": 0, "device": "A100",
                "blocksOnDevice": [0], "blocksDone": 0}  # fmt: skip

    def _stackTrace(self, arguments):
        position = self._positions[self._focus]
        if not 0 <= position < len(TRACE):
            return {"stackFrames": [], "totalFrames": 0}
        function, line, depth = TRACE[position]
        places = [(function, line)] + ([("invert", 11)] if depth == 2 else [])
        frames = [{"id": 100 + at, "name": name, "line": number, "column": 1, "source": {"name": "k.py", "path": self.path}}
                  for at, (name, number) in enumerate(places)]  # fmt: skip
        return {"stackFrames": frames, "totalFrames": len(frames)}

    def _scopes(self, arguments):
        names = {1: "Locals", 2: "Arguments", 3: "Special registers"}
        return {
            "scopes": [
                {"name": name, "variablesReference": number, "expensive": False}
                for number, name in names.items()
            ]
        }

    def _variables(self, arguments):
        names = self._names(self._focus)
        chosen = {1: {"i": names["i"], "v": names["v"]}, 2: {"x": "array([0., 10.])"}, 3: {"threadIdx": f"({self._focus % 32}, 0, 0)"},
                  9: {"a": 1, "b": 2.0}}  # fmt: skip
        return {"variables": [{"name": name, "value": str(value), "type": "int64", "variablesReference": 0}
                              for name, value in chosen[arguments["variablesReference"]].items()]}  # fmt: skip

    def _evaluate(self, arguments):
        value = eval(
            arguments["expression"].removeprefix("&"),
            self._names(self._focus),
            {"np": types.SimpleNamespace(int64=int, float64=float)},
        )
        body = {
            "result": repr(value),
            "type": {int: "int64", float: "float64"}.get(type(value), type(value).__name__),
            "variablesReference": 0,
        }
        if isinstance(value, list):
            body["memoryReference"] = "0x1000"
        return body

    def _cudasim_evaluateLanes(self, arguments):
        count = 32
        base = self._focus // 32 * 32
        found = []
        for thread in range(count):
            try:
                one = {"result": repr(eval(arguments["expression"], self._names(base + thread)))}
            except Exception as error:  # noqa: BLE001 - told for each thread
                one = {"error": str(error)}
            if found and found[-1][1] == one:
                found[-1][0][1] = thread
            else:
                found.append(([thread, thread], one))
        return {"values": [{"threads": str(a) if a == b else f"{a}..{b}", **one} for (a, b), one in found]}

    def _completions(self, arguments):
        text = arguments["text"][: arguments["column"] - 1]
        names = [*self._names(self._focus), "threadIdx", "blockIdx", "warpsize"]
        return {"targets": [{"label": name} for name in dict.fromkeys(names) if name.startswith(text)]}

    def _setExpression(self, arguments):
        self._values[arguments["expression"]] = eval(arguments["value"], self._names(self._focus))
        return {"value": str(self._values[arguments["expression"]])}

    def _readMemory(self, arguments):
        address = int(arguments["memoryReference"], 16)
        data = (
            b"".join(struct.pack("<f", one) for one in range(64))[: arguments["count"]]
            if address == 0x1000
            else b""
        )
        return {"address": hex(address), "data": base64.b64encode(data).decode()}

    def _source(self, arguments):
        if arguments["source"]["path"] != self.path:
            raise ValueError("no such source")
        return {"content": SOURCE}

    def _breakpointLocations(self, arguments):
        return {"breakpoints": [{"line": line} for line in LINES if line == arguments["line"]]}


class FakeProgram:
    """Stands for a process: the server runs in a thread of this one."""

    is_attached = False

    def __init__(self, path, **how):
        self.notices = queue.SimpleQueue()
        self.status = None
        ours, theirs = socket.socketpair()
        self._theirs = theirs
        self.server = FakeServer(theirs, path, **how)
        self.connection = Connection(ours, self.notices)
        self.log = []  # what was done with it
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        with contextlib.suppress(OSError), self.server.stream:
            self.server.serve()
        self._die(self.server.status)

    def _die(self, status):
        if self.status is None:
            self.status = status
            with contextlib.suppress(OSError):
                self._theirs.shutdown(socket.SHUT_RDWR)
            self._theirs.close()
            self.connection.drain(5)
            self.notices.put(("exited", status))

    def die(self, status):
        """It ends without a word."""
        self._die(status)

    def send_raw(self, data):
        self._theirs.sendall(data)

    def run_in_foreground(self):
        self.log.append("foreground")

    def leave_foreground(self):
        self.log.append("background")

    def interrupt(self):
        self.log.append("interrupt")

    def suspend_with(self):
        self.log.append("suspended")

    def end(self):
        self.log.append("end")
        self._die(-9)
        self.connection.close()


def main():
    """As a process: what the script's first line says happens before and after the launch.

    The arguments are the script and words: ask (reads a line), spin (waits for Ctrl-C), raw (changes the terminal's
    settings), exit=N, die (by a signal), vanish (closes the connection), nonsense (sends no message), fork (leaves a child),
    flood (ends behind thousands of messages), writes (prints more than a pipe holds at its end, then makes the file `went_on`).
    """
    path, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(os.environ["CUDASIM_DEBUGGER"].removeprefix("connect:"))
    status = next((int(word[5:]) for word in words if word.startswith("exit=")), 0)
    server = FakeServer(connected, path, status=status)
    if "ask" in words or "spin" in words or "raw" in words:
        server._launch = lambda launch=server._launch: before_launch(words, server, launch)
    if "die" in words:
        server._launch = lambda: os.kill(os.getpid(), signal.SIGSEGV)
    if "flood" in words:
        server._launch = lambda: (
            [server.event("output", output=f"line {number} {'x' * 500}\n") for number in range(5000)]
            and os._exit(0)
        )
    if "vanish" in words:
        server._launch = lambda: (connected.shutdown(socket.SHUT_RDWR), signal.pause())
    if "nonsense" in words:
        server._launch = lambda: (connected.sendall(b"Content-Length: x\r\n\r\n"), signal.pause())
    if "fork" in words and os.fork() == 0:
        os.closerange(0, 3)
        signal.pause()
    print("the script begins", flush=True)
    server.serve()
    print("the script ends", flush=True)
    if "writes" in words:
        print("x" * 1_000_000, flush=True)
        with open("went_on", "w"):
            pass
    return status


def before_launch(words, server, launch):
    if "raw" in words:
        import termios

        settings = termios.tcgetattr(0)
        settings[3] |= termios.TOSTOP
        termios.tcsetattr(0, termios.TCSANOW, settings)
    if "ask" in words:
        print("got", json.dumps(sys.stdin.readline()), flush=True)
    if "spin" in words:
        try:
            print("spinning", flush=True)
            while True:
                signal.pause()
        except KeyboardInterrupt:
            server._positions[0] = 0
            return server._stopped("pause")
    return launch()


if __name__ == "__main__":
    sys.exit(main())

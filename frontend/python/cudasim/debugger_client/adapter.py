"""`cudasim dap`: starts programs, and attaches to them, for editors that speak the Debug Adapter Protocol.

The debugged program is a DAP server of its own (docs/debug_protocol.md). This adapter answers what comes before there is a
program (`initialize`, `launch`), starts it, and hands requests, responses and events on. What it adds: the program's
output as events, its exit status, `stopOnEntry`, and the program's end when the editor goes away.
"""

from __future__ import annotations

import codecs
import contextlib
import hmac
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from typing import TYPE_CHECKING

from cudasim.debugger_client.attached import connected_to
from cudasim.debugger_client.dap import ConnectionLost, MalformedBody, encoded, read_message
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from typing import Any, BinaryIO

#: What `launch` takes, with the types of its values. Editors add members of their own, which are ignored.
LAUNCH_ARGUMENTS: dict[str, type | tuple[type, ...]] = {
    "program": str,
    "module": str,
    "args": list,
    "cwd": str,
    "env": dict,
    "python": str,
    "stopOnEntry": bool,
    "noDebug": bool,
    "console": str,
    "token": str,
}
CONSOLES = ("internalConsole", "integratedTerminal", "externalTerminal")
#: The number of the breakpoint at every kernel's entry that stands for `stopOnEntry`.
_ENTRY = {"name": "*", "cudasim": {"id": 2_000_000, "temporary": True}}
#: Seconds that a program may take to connect (it is only starting Python), and to end when it is asked to.
_TIME_TO_CONNECT, _TIME_TO_END = 60.0, 3.0
#: A program that reads what comes at its standard input, and forgets it.
_READ_TO_THE_END = "import os\nwhile os.read(0, 1 << 16): pass"


class Refusal(Exception):
    """A request cannot be carried out; the text says why."""


class _Answer:
    """The editor's to a request of ours."""

    def __init__(self) -> None:
        self.came = threading.Event()
        self.success = False


class Adapter:
    """One session of an editor."""

    def __init__(self, from_editor: BinaryIO, to_editor: BinaryIO, token: str | None = None) -> None:
        """:param token: what `launch` has to give as "token"; None: nothing"""
        self._from_editor, self._to_editor = from_editor, to_editor
        self._token = token
        self._sequence = 0
        self._lock = threading.Lock()  # guards what is written to the editor, and _sequence
        self._initialize: dict[str, Any] = {}
        self._program: _Program | None = None
        self._stops_on_entry = False
        self._answers: dict[int, _Answer] = {}  # of the editor, by the request's number
        self._ended = threading.Event()  # the editor was told of the program's end

    def serve(self) -> int:
        """Serves the editor until it goes away. Returns the exit status: 2 where the header of a message is none.

        Behind such a header nobody knows where the next message begins. A body that is no message is passed over.
        """
        try:
            while True:
                try:
                    message = read_message(self._from_editor)
                except MalformedBody as error:
                    self._complain(str(error))
                    continue
                if message is None or not self._take_message(message):
                    return 0
        except ConnectionLost as error:
            print(f"cudasim dap: the connection to the editor ends: {error}", file=sys.stderr)
            return 2
        finally:
            self.end_program()

    def end_program(self) -> None:
        """Ends the program that was started; one that was attached to is let go."""
        if self._program is not None:
            self._program.end()

    def _take_message(self, message: dict[str, Any]) -> bool:
        """Takes what the editor has sent. False when it was the last request."""
        if _is_request(message):
            return self._take(message)
        if message.get("type") == "response":
            self._take_answer(message)
        else:
            self._complain("a message is no request")
        return True

    def _complain(self, problem: str) -> None:
        """Tells the user of a message of the editor's that means nothing."""
        self.tell("output", {"category": "console", "output": f"cudasim: {problem}, and is passed over\n"})

    # -- the editor's requests ----------------------------------------------------------------------------

    def _take(self, request: dict[str, Any]) -> bool:
        """Carries a request out or hands it on. False when it was the last one."""
        command = str(request.get("command"))
        arguments = request.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        try:
            if command == "initialize":
                self._initialize = arguments
                self._respond(request, {"supportsConfigurationDoneRequest": True})
            elif command == "launch":
                threading.Thread(target=self._launch, args=(request, arguments), daemon=True).start()
            elif command == "attach":
                self._attach(request, arguments)
            elif command == "disconnect":
                self._disconnect(arguments)
                self._respond(request)
                return False
            elif command == "terminate":
                if self._program is not None and self._program.is_attached:
                    self._program.request("terminate", {}, None)
                elif self._program is not None:
                    self._program.ask_to_end()
                self._respond(request)
            elif self._program is None or not self._program.connected:
                raise Refusal("no program has been started; the first request is launch, or attach")
            else:
                self._hand_on(self._program, request, arguments)
        except Refusal as refusal:
            self._refuse(request, str(refusal))
        except (
            OverflowError,
            RecursionError,
            ValueError,
        ) as error:  # of numbers and texts that nothing takes
            self._refuse(request, f"the request {command} cannot be carried out: {error}")
        return True

    def _hand_on(self, program: _Program, request: dict[str, Any], arguments: dict[str, Any]) -> None:
        command = request.get("command")
        if self._stops_on_entry and command == "setFunctionBreakpoints":
            given = arguments.get("breakpoints")
            arguments = {**arguments, "breakpoints": [*(given if isinstance(given, list) else []), _ENTRY]}
        if self._stops_on_entry and command == "configurationDone":
            # The editor has sent all breakpoints that it has: those of functions may be none.
            if not program.knows_functions:
                program.request("setFunctionBreakpoints", {"breakpoints": [_ENTRY]}, None)
        if command == "setFunctionBreakpoints":
            program.knows_functions = True
        program.request(str(command), arguments, request)

    def _launch(self, request: dict[str, Any], arguments: dict[str, Any]) -> None:
        try:
            if self._program is not None:
                raise Refusal("this session has started its program already")
            self._check_token(arguments)
            command = _command(arguments)
            self._stops_on_entry = arguments.get("stopOnEntry") is True and not arguments.get("noDebug")
            program = self._program = _Program(self, debugged=not arguments.get("noDebug"))
            try:
                program.start(command, arguments, self._terminal_of(arguments))
            except BaseException:
                self._program = None
                raise
            self._respond(request)
        except Refusal as refusal:
            self._refuse(request, str(refusal))

    def _attach(self, request: dict[str, Any], arguments: dict[str, Any]) -> None:
        if self._program is not None:
            raise Refusal("this session has its program already")
        self._check_token(arguments)
        process = arguments.get("processId")
        if isinstance(process, str) and process.isdigit():  # as editors' lists of processes give it
            process = int(process)
        if not isinstance(process, int) or isinstance(process, bool):
            raise Refusal('the attach request needs "processId", the number of a process')
        program = _Program(self, debugged=True)
        try:
            program.attach(connected_to(process))
        except CommandError as error:
            raise Refusal(str(error)) from None
        self._program = program
        self._respond(request)

    def _disconnect(self, arguments: dict[str, Any]) -> None:
        """A program that was started ends, unless the editor says that it goes on; for one that was attached to it is the other way round."""
        if self._program is None:
            return
        ends = arguments.get("terminateDebuggee")
        if ends is False or (self._program.is_attached and not ends):
            self._program.let_go()
        elif self._program.is_attached:
            self._program.request("terminate", {}, None)
        else:
            self._program.end()

    def _check_token(self, arguments: dict[str, Any]) -> None:
        given = arguments.get("token")
        if self._token is None:
            return
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), self._token.encode()):
            raise Refusal('the request needs "token": the one that cudasim dap has printed')

    def _terminal_of(self, arguments: dict[str, Any]) -> str | None:
        """The kind of terminal that the editor is to start the program in; None where the adapter starts it."""
        console = arguments.get("console", CONSOLES[0])
        if console == CONSOLES[0]:
            return None
        if self._initialize.get("supportsRunInTerminalRequest") is not True:
            raise Refusal(f'"console": {console!r} needs an editor that supports the request runInTerminal')
        return "external" if console == "externalTerminal" else "integrated"

    # -- to the editor ------------------------------------------------------------------------------------

    def send(self, message: dict[str, Any], answer: _Answer | None = None) -> int:
        """Sends a message, which gets its number here; returns the number. :param answer: of a request to the editor"""
        with self._lock:
            self._sequence += 1
            if answer is not None:
                self._answers[self._sequence] = answer
            with contextlib.suppress(OSError, ValueError):  # the editor has gone: serve() notices
                self._to_editor.write(encoded({**message, "seq": self._sequence}))
                self._to_editor.flush()
            return self._sequence

    def tell(self, event: str, body: dict[str, Any] | None = None) -> None:
        """Sends an event."""
        self.send({"type": "event", "event": event, **({} if body is None else {"body": body})})

    def ask(self, command: str, arguments: dict[str, Any], seconds: float) -> bool:
        """Sends a request to the editor. Returns whether it has carried it out within the time."""
        answer = _Answer()
        number = self.send({"type": "request", "command": command, "arguments": arguments}, answer)
        answer.came.wait(seconds)
        self._answers.pop(number, None)
        return answer.success

    def _take_answer(self, response: dict[str, Any]) -> None:
        number = response.get("request_seq", 0)
        answer = self._answers.get(number) if isinstance(number, int) else None
        if answer is not None:
            answer.success = response.get("success") is True
            answer.came.set()

    def _respond(self, request: dict[str, Any], body: dict[str, Any] | None = None) -> None:
        response = {"type": "response", "request_seq": request.get("seq", 0), "success": True,
                    "command": str(request.get("command"))}  # fmt: skip
        self.send(response if body is None else {**response, "body": body})

    def _refuse(self, request: dict[str, Any], reason: str) -> None:
        self.send({"type": "response", "request_seq": request.get("seq", 0), "success": False,
                   "command": str(request.get("command")), "message": reason,
                   "body": {"error": {"id": 1, "format": reason.replace("{", "(").replace("}", ")"), "showUser": True}}})  # fmt: skip

    # -- from the program ---------------------------------------------------------------------------------

    def initialize_of_program(self) -> dict[str, Any]:
        """What the program's server is told of the editor."""
        return {"adapterID": "cudasim", **self._initialize}

    def take_event(self, message: dict[str, Any]) -> None:
        """An event of the program's. Its end is told when the process has ended, too."""
        if message.get("event") != "terminated":
            self.send(message)

    def program_ended(self, status: int | None) -> None:
        """:param status: of the process, as a shell gives it; None where nobody knows"""
        if self._ended.is_set():
            return
        self._ended.set()
        if status is not None:
            self.tell("exited", {"exitCode": status})
        self.tell("terminated")


class _Program:
    """The debugged program: its process, and its connection."""

    def __init__(self, adapter: Adapter, debugged: bool) -> None:
        self.connected = False
        self.is_attached = False
        self.knows_functions = False
        self._debugged = debugged
        self._adapter = adapter
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._sequence = 0
        self._lock = threading.Lock()  # guards what is written to the program, and what follows
        self._waiting: dict[int, dict[str, Any] | None] = {}  # the editor's requests by our numbers
        self._filters: set[str] = set()  # of exceptions, that it has
        self._lost = False  # nothing comes from it any more
        self._readers: list[threading.Thread] = []

    def start(self, command: list[str], arguments: dict[str, Any], terminal: str | None) -> None:
        """Starts it, and its session, so that requests can be handed on. :raises Refusal:"""
        folder = tempfile.mkdtemp(prefix="cudasim_debug_")
        path = os.path.join(folder, "socket")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(path)
            os.chmod(path, 0o600)
            listening.listen(1)
            environment = {"ENABLE_CUDASIM": "1"}
            if self._debugged:
                environment["CUDASIM_DEBUGGER"] = f"connect:{path}"
            environment |= {
                name: value for name, value in arguments.get("env", {}).items() if value is not None
            }
            self._start_process(command, environment, arguments, terminal)
            if self._debugged:
                self._connect(listening)
        finally:
            listening.close()
            shutil.rmtree(folder, ignore_errors=True)
        self.connected = self._debugged
        if self._process is not None:
            threading.Thread(target=self._wait, daemon=True).start()

    def _start_process(self, command, environment, arguments, terminal):
        folder = arguments.get("cwd") or os.getcwd()
        if terminal is not None:
            request = {
                "kind": terminal,
                "title": "cudasim",
                "cwd": folder,
                "args": command,
                "env": environment,
            }
            if not self._adapter.ask("runInTerminal", request, _TIME_TO_CONNECT):
                raise Refusal("the editor has not started the program in a terminal")
            return
        unset = {name for name, value in arguments.get("env", {}).items() if value is None}
        inherited = {name: value for name, value in os.environ.items() if name not in unset}
        try:
            self._process = subprocess.Popen(
                command, cwd=folder, env={**inherited, **environment, "PYTHONUNBUFFERED": "1"}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)  # fmt: skip
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise Refusal(f"{command[0]} cannot be started in {folder}: {reason}") from None
        for stream, category in ((self._process.stdout, "stdout"), (self._process.stderr, "stderr")):
            reader = threading.Thread(target=self._read_output, args=(stream, category), daemon=True)
            reader.start()
            self._readers.append(reader)

    def _connect(self, listening: socket.socket) -> None:
        listening.settimeout(0.05)
        left = _TIME_TO_CONNECT
        while True:
            try:
                self._socket, _ = listening.accept()
                break
            except TimeoutError:
                left -= 0.05
                if self._process is not None and self._process.poll() is not None:
                    self._finish_output()
                    raise Refusal(f"the program ended before it connected, with exit status {self._process.returncode}") from None  # fmt: skip
                if left <= 0:
                    self.end()
                    raise Refusal("the program does not connect") from None
        self._socket.settimeout(None)
        self._begin()

    def attach(self, connected: socket.socket) -> None:
        """Debugs a process that runs already."""
        self._socket, self.is_attached, self.connected = connected, True, True
        self._begin()

    def let_go(self) -> None:
        """Lets it run on without the debugger. What a program that was started writes from now on is lost."""
        if self.connected:
            with contextlib.suppress(Refusal):
                self.request("disconnect", {"terminateDebuggee": False}, None)
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            # This process ends, and whoever writes to a pipe that nobody reads is killed.
            reader = [sys.executable, "-I", "-S", "-c", _READ_TO_THE_END]
            for stream in (process.stdout, process.stderr):
                with contextlib.suppress(OSError):
                    subprocess.Popen(reader, stdin=stream, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                     cwd="/", start_new_session=True)  # fmt: skip
        self.end()

    def _begin(self) -> None:
        assert self._socket is not None
        threading.Thread(target=self._read, args=(self._socket.makefile("rb"),), daemon=True).start()
        self.request("initialize", self._adapter.initialize_of_program(), None)
        self.request("attach", {}, None)

    def request(self, command: str, arguments: dict[str, Any], asked: dict[str, Any] | None) -> None:
        """Sends a request. :param asked: the editor's, which its response answers; None: nobody hears of it"""
        with self._lock:
            if self._lost:
                raise Refusal("the program has ended")
            if command == "cancel":  # by the number that the request has here
                wanted = arguments.get("requestId")
                here = (number for number, one in self._waiting.items() if one and one.get("seq") == wanted)
                arguments = {**arguments, "requestId": next(here, 0)}
            number = self._sequence + 1
            message = encoded({"seq": number, "type": "request", "command": command, "arguments": arguments})
            self._sequence = number
            self._waiting[number] = asked
            try:
                assert self._socket is not None
                self._socket.sendall(message)
            except OSError:
                del self._waiting[number]
                raise Refusal("the program has ended") from None

    def _read(self, stream: BinaryIO) -> None:
        """Hands on what the program sends."""
        reason = "the program has ended"
        try:
            with stream:
                while (message := read_message(stream)) is not None:
                    self._take(message)
        except ConnectionLost as error:
            reason = str(error)
        except OSError:
            pass
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            self._lost = True
        for asked in waiting.values():
            if asked is not None:
                self._adapter._refuse(asked, reason)
        if self._process is None:  # of the editor's terminal
            self._adapter.program_ended(None)

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("type") == "event":
            self._adapter.take_event(message)
            return
        with self._lock:
            asked = self._waiting.pop(message.get("request_seq", 0), None)
        if asked is not None:
            if asked.get("command") == "setExceptionBreakpoints" and message.get("success"):
                message = {**message, "body": self._filters_told(asked, message.get("body"))}
            self._adapter.send({**message, "request_seq": asked.get("seq", 0)})
        elif message.get("command") == "initialize" and message.get("success"):
            body = message.get("body") or {}
            self._filters = {str(one.get("filter")) for one in body.get("exceptionBreakpointFilters") or []}
            self._adapter.tell("capabilities", {"capabilities": body})

    def _filters_told(self, asked: dict[str, Any], body: Any) -> dict[str, Any]:
        """The answer to setExceptionBreakpoints, which says of each filter whether there is one of this name."""
        arguments = asked.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        names, options = arguments.get("filters"), arguments.get("filterOptions")
        names = list(names) if isinstance(names, list) else []
        names += (
            [one.get("filterId") for one in options if isinstance(one, dict)]
            if isinstance(options, list)
            else []
        )
        told: list[dict[str, Any]] = []
        for name in names:
            known = name in self._filters if isinstance(name, str) else False
            there_are = ", ".join(sorted(self._filters)) or "none"
            reason = f"there is no exception filter {name!r}; there are: {there_are}"
            told.append({"verified": True} if known else {"verified": False, "message": reason})
        return {"breakpoints": told, **(body if isinstance(body, dict) else {})}

    def _read_output(self, stream: BinaryIO, category: str) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while data := os.read(stream.fileno(), 1 << 16):
            if text := decoder.decode(data):
                self._adapter.tell("output", {"category": category, "output": text})

    def _finish_output(self) -> None:
        for reader in self._readers:
            reader.join(_TIME_TO_END)  # a process that the program has forked may keep the pipes open

    def _wait(self) -> None:
        assert self._process is not None
        status = self._process.wait()
        self._finish_output()
        self._adapter.program_ended(status if status >= 0 else 128 - status)

    def ask_to_end(self) -> None:
        """Asks it to end, as `kill` does."""
        self._signal(signal.SIGTERM)

    def end(self) -> None:
        """Ends it by force, with all processes that it has started. Does nothing after its end."""
        self._signal(signal.SIGKILL)
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _signal(self, number: int) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)


def _is_request(message: dict[str, Any]) -> bool:
    """Whether it is one that can be answered."""
    number, command = message.get("seq"), message.get("command")
    return message.get("type") == "request" and type(number) is int and isinstance(command, str)


def _command(arguments: dict[str, Any]) -> list[str]:
    """The command line of a launch. :raises Refusal: for arguments that are wrong"""
    for name, kind in LAUNCH_ARGUMENTS.items():
        if name in arguments and not isinstance(arguments[name], kind):
            wanted = {str: "a text", list: "a list of texts", dict: "an object", bool: "true or false"}[kind]  # type: ignore[index]
            raise Refusal(f'"{name}" of the launch request is {wanted}, not {arguments[name]!r}')
    if ("program" in arguments) == ("module" in arguments):
        raise Refusal('the launch request needs either "program", a script, or "module"')
    if arguments.get("console", CONSOLES[0]) not in CONSOLES:
        raise Refusal(f'"console" is one of {", ".join(CONSOLES)}')
    words = arguments.get("args", [])
    if not all(isinstance(word, str) for word in words):
        raise Refusal(f'"args" of the launch request is a list of texts, not {words!r}')
    for name, value in arguments.get("env", {}).items():
        if not isinstance(value, (str, type(None))):
            raise Refusal(f'"env" gives {name} the value {value!r}; it is a text, or null to unset it')
    target = ["-m", arguments["module"]] if "module" in arguments else [arguments["program"]]
    if "program" in arguments:
        path = os.path.join(arguments.get("cwd") or os.getcwd(), arguments["program"])
        if not os.path.isfile(path):
            raise Refusal(f"there is no script {path}")
    python = arguments.get("python") or sys.executable
    runs = [] if arguments.get("noDebug") else ["-m", "cudasim.debugging.debuggee"]
    return [python, *runs, *target, *words]

"""A program under cudasim's debug server, and a client of it. Every message is checked against the protocol's schema, which debugpy
brings, where debugpy and jsonschema are installed."""

import contextlib
import functools
import importlib.util
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import textwrap

from dap_client import Client
from processes import clean_environment

SECONDS = 60

#: Requests and events of cudasim's own, which the schema does not know.
OWN = "cudasim/"


@functools.cache
def _validator():
    """validate(message), or None where the schema is not there."""
    if not all(map(importlib.util.find_spec, ("debugpy", "jsonschema"))):
        return None
    import jsonschema

    folder = pathlib.Path(importlib.util.find_spec("debugpy").origin).parent
    (path,) = folder.rglob("debugProtocol.json")
    schema = json.loads(path.read_text())
    definitions = schema["definitions"]
    # debugpy's own schema knows its own commands only; the published one lists none.
    validators = {}

    def validate(message, command):
        if message["type"] == "event":
            name = _definition(message["event"], "Event", definitions)
        elif message["type"] == "response":
            name = _definition(command, "Response", definitions) if message["success"] else "ErrorResponse"
        else:
            name = "ProtocolMessage"
        if name not in validators:
            validators[name] = jsonschema.Draft4Validator({**schema, "$ref": f"#/definitions/{name}"})
        validators[name].validate(message)

    return validate


def has_schema():
    return _validator() is not None


def _definition(name, suffix, definitions):
    if name.startswith(OWN):
        return "Event" if suffix == "Event" else "Response"
    full = name[0].upper() + name[1:] + suffix
    assert full in definitions, f"the protocol has no {full}"
    return full


class DebugClient(Client):
    """Requests, and what comes back. `seen` has every message."""

    def __init__(self, connection, program, output, script):
        super().__init__(connection, program, output)
        self.script = script
        self.seen = []
        self._commands = {}

    def send(self, command, **arguments):
        number = super().send(command, **arguments)
        self._commands[number] = command
        return number

    def send_bytes(self, data):
        self._connection.sendall(data)

    def refused(self, command, **arguments):
        """The message of a request that must fail."""
        number = self.send(command, **arguments)
        while number not in self._responses:
            self._receive()
        response = self._responses.pop(number)
        assert not response["success"], response
        return response["message"]

    def _receive(self):
        events, responses = len(self._events), set(self._responses)
        super()._receive()
        new = self._events[events:] + [self._responses[each] for each in set(self._responses) - responses]
        for message in new:
            self.seen.append(message)
            if _validator():
                _validator()(message, self._commands.get(message.get("request_seq")))

    # -- what tests do often

    def line(self, mark):
        """The line of the script that ends with this comment."""
        lines = self.script.read_text().splitlines()
        (found,) = [index + 1 for index, line in enumerate(lines) if line.rstrip().endswith(f"# {mark}")]
        return found

    def break_at(self, *marks, **more):
        """Breakpoints at these lines, and at no others; what the server says of them."""
        breakpoints = [{"line": mark if isinstance(mark, int) else self.line(mark), **more} for mark in marks]
        return self.ask("setBreakpoints", source={"path": str(self.script)}, breakpoints=breakpoints)[
            "breakpoints"
        ]

    def run(self):
        self.ask("configurationDone")

    def wait(self, mark=None, reason=None):
        """The body of the next stop, which must be there."""
        body = self.event("stopped")
        if reason:
            assert body["reason"] == reason, body
        if mark:
            assert body["cudasim"]["line"] == self.line(mark), (body, self.line(mark))
        return body

    def go(self, command="continue", mark=None, reason=None, **arguments):
        """continue, next, …: the next stop."""
        self.ask(command, **{"threadId": 1, **arguments})
        return self.wait(mark, reason)

    def frames(self, thread=1):
        return self.ask("stackTrace", threadId=thread)["stackFrames"]

    def scope(self, name, thread=1, frame=0):
        """{variable: its description}"""
        frame_id = self.frames(thread)[frame]["id"]
        for scope in self.ask("scopes", frameId=frame_id)["scopes"]:
            if scope["name"] == name:
                return self.children(scope["variablesReference"])
        return {}

    def children(self, reference, **arguments):
        found = self.ask("variables", variablesReference=reference, **arguments)["variables"]
        return {variable["name"]: variable for variable in found}

    def value(self, expression, thread=1, frame=0):
        frame_id = self.frames(thread)[frame]["id"]
        return self.ask("evaluate", expression=expression, frameId=frame_id, context="watch")["result"]

    def focus(self, thread=None, block=None):
        wanted = {"thread": thread, "block": block}
        return self.ask("cudasim/focus", **{key: value for key, value in wanted.items() if value is not None})

    def stops(self):
        """Events `stopped` that nobody has waited for."""
        return [event for event in self._events if event["event"] == "stopped"]

    def end(self, status=0):
        """Goes on to the end of the program; its output."""
        self.event("terminated")
        found, output = self.finish()
        assert found == status, output
        return output

    def go_to_end(self, status=0):
        self.ask("continue", threadId=1)
        return self.end(status)


@contextlib.contextmanager
def debugging(folder, code, *arguments, command=None, filters=None, **variables):
    """A script that waits for configurationDone; gives a DebugClient."""
    script = folder / "script.py"
    script.write_text(textwrap.dedent(code))
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "socket"
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(1)
            listener.settimeout(SECONDS)
            environment = clean_environment(
                ENABLE_CUDASIM="1", CUDASIM_DEBUGGER=f"connect:{path}", **variables
            )
            output = folder / "output"
            with output.open("w") as stream:
                program = subprocess.Popen(
                    command or [sys.executable, "-m", "cudasim.debugging.debuggee", str(script), *arguments],
                    env=environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, cwd=folder,
                )  # fmt: skip
            try:
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    raise AssertionError(f"the program did not connect: {output.read_text()}") from None
                connection.settimeout(SECONDS)
                with connection:
                    client = DebugClient(connection, program, output, script)
                    client.ask("initialize", adapterID="cudasim")
                    client.event("initialized")
                    client.ask("attach")
                    if filters is not None:
                        client.ask("setExceptionBreakpoints", filters=list(filters))
                    yield client
            finally:
                program.kill()
                program.wait()


def numbers(text):
    """The numbers that a program has printed."""
    return [int(number) for number in re.findall(r"-?\d+", text)]


def plain_output(folder, code, **variables):
    """What the script prints without a debugger, on one worker."""
    script = folder / "plain.py"
    script.write_text(textwrap.dedent(code))
    environment = clean_environment(ENABLE_CUDASIM="1", CUDASIM_WORKERS="1", **variables)
    return subprocess.run(
        [sys.executable, str(script)], env=environment, check=True, capture_output=True, text=True
    ).stdout

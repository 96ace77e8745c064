"""A client of the Debug Adapter Protocol, as editors have one, for a program under debugpy."""

import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import time

from processes import clean_environment


@contextlib.contextmanager
def debugged(script, breakpoints, **variables):
    """A program that waits for us under debugpy; gives a Client when its breakpoints ([{"line": 3}, …]) are set."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}",
               "--wait-for-client", str(script)]  # fmt: skip
    output = pathlib.Path(f"{script}.output")  # no pipe: debugpy's adapter would hold it open
    with output.open("w") as stream:
        program = subprocess.Popen(command, env=clean_environment(ENABLE_CUDASIM="1", **variables),
                                   stdout=stream, stderr=subprocess.STDOUT)  # fmt: skip
    try:
        with _connected(port, program, output) as connection:
            client = Client(connection, program, output)
            client.ask("initialize", adapterID="cudasim-tests")
            attached = client.send("attach", justMyCode=True)
            client.event("initialized")
            client.ask(
                "setBreakpoints",
                source={"path": str(pathlib.Path(script).resolve())},
                breakpoints=breakpoints,
            )
            client.ask("configurationDone")
            client.response(attached)
            yield client
    finally:
        program.kill()
        program.wait()


def _connected(port, program, output):
    end = time.monotonic() + 90
    while time.monotonic() < end and program.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=90)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError(f"debugpy did not start: {output.read_text()}")


class Client:
    """Requests and what comes back."""

    def __init__(self, connection, program, output):
        self._connection, self._program, self._output = connection, program, output
        self._received, self._sequence = b"", 0
        self._events, self._responses = [], {}

    def send(self, command, **arguments):
        """Sends a request; its number."""
        self._sequence += 1
        message = {"seq": self._sequence, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self._connection.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self._sequence

    def response(self, number):
        """The body of a request's response, which must be a success."""
        while number not in self._responses:
            self._receive()
        response = self._responses.pop(number)
        assert response["success"], response
        return response.get("body")

    def ask(self, command, **arguments):
        """Sends a request and waits; the response's body."""
        return self.response(self.send(command, **arguments))

    def event(self, name):
        """Waits for an event; its body."""
        while True:
            for event in self._events:
                if event["event"] == name:
                    self._events.remove(event)
                    return event.get("body")
            self._receive()

    def stopped(self):
        """Waits until the program stops: (reason, thread's number, [(function, line), …], {local: text})."""
        body = self.event("stopped")
        frames = self.ask("stackTrace", threadId=body["threadId"])["stackFrames"]
        scopes = self.ask("scopes", frameId=frames[0]["id"])["scopes"]
        variables = self.ask("variables", variablesReference=scopes[0]["variablesReference"])["variables"]
        return (body["reason"], body["threadId"], [(frame["name"], frame["line"]) for frame in frames],
                {variable["name"]: variable["value"] for variable in variables})  # fmt: skip

    def evaluate(self, expression, thread):
        """The text of an expression's value in a thread's innermost frame."""
        frame = self.ask("stackTrace", threadId=thread)["stackFrames"][0]
        return self.ask("evaluate", expression=expression, frameId=frame["id"], context="watch")["result"]

    def finish(self):
        """(exit status, output) when the program has ended."""
        return self._program.wait(timeout=90), self._output.read_text()

    def _receive(self):
        header, separator, rest = self._received.partition(b"\r\n\r\n")
        length = int(header.partition(b":")[2]) if separator else 0
        if not separator or len(rest) < length:
            data = self._connection.recv(65536)
            if not data:
                raise AssertionError(f"the debug adapter went away: {self._output.read_text()}")
            self._received += data
            return
        message, self._received = json.loads(rest[:length]), rest[length:]
        if message["type"] == "event":
            self._events.append(message)
        elif message["type"] == "response":
            self._responses[message["request_seq"]] = message

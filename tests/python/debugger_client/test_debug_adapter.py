"""`cudasim dap`, as an editor uses it, with a fake program (fake_program.py); and the VS Code extension that starts it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time

import pytest
from cudasim.debugger_client.adapter import CONSOLES, LAUNCH_ARGUMENTS
from cudasim.debugger_client.dap import encoded, read_message
from fake_program import SOURCE
from processes import clean_environment

FAKE = pathlib.Path(__file__).with_name("fake_program.py")
EXTENSION = pathlib.Path(__file__).resolve().parents[3] / "debugger" / "vscode"
ADAPTER = [sys.executable, "-m", "cudasim", "dap"]
ENVIRONMENT = clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH"))


class Editor:
    """The editor's side of a connection."""

    def __init__(self, reading, writing):
        self._reading, self._writing = reading, writing
        self._sequence = 0
        self.messages = []  # all that came

    def write(self, **message):
        self._sequence += 1
        self._writing.write(encoded({"seq": self._sequence, **message}))
        self._writing.flush()
        return self._sequence

    def send(self, command, **arguments):
        return self.write(type="request", command=command, arguments=arguments)

    def wait(self, wanted):
        """The first message that wanted(message) is true for; read now where it has not come."""
        for message in self.messages:
            if wanted(message):
                return message
        while True:
            message = read_message(self._reading)
            assert message is not None, self.messages
            self.messages.append(message)
            if wanted(message):
                return message

    def answer(self, number):
        return self.wait(lambda message: message["type"] == "response" and message["request_seq"] == number)

    def ask(self, command, **arguments):
        response = self.answer(self.send(command, **arguments))
        assert response["success"], response
        return response.get("body")

    def refused(self, command, **arguments):
        response = self.answer(self.send(command, **arguments))
        assert not response["success"], response
        return response["message"]

    def event(self, name):
        return self.wait(lambda message: message["type"] == "event" and message["event"] == name).get("body")

    def output(self, category="stdout"):
        return "".join(
            message["body"]["output"]
            for message in self.messages
            if message.get("event") == "output" and message["body"]["category"] == category
        )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "k.py").write_text(SOURCE)
    python = tmp_path / "python"  # runs the fake program in the place of `-m cudasim.debugging.debuggee`
    python.write_text(f'#!/bin/sh\nshift 2\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return tmp_path


@pytest.fixture
def editor(folder):
    process = subprocess.Popen(
        ADAPTER, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    )
    one = Editor(process.stdout, process.stdin)
    too_long = threading.Timer(60, process.kill)
    too_long.start()
    yield one
    too_long.cancel()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    assert process.wait(timeout=20) == 0
    process.stdout.close()


def start(editor, folder, *words, **more):
    editor.ask("initialize", clientID="test", adapterID="cudasim", **more.pop("capabilities", {}))
    editor.ask(
        "launch", program="k.py", cwd=str(folder), python=str(folder / "python"), args=list(words), **more
    )
    editor.event("initialized")


def stop_at_line_10(editor, folder, *words):
    start(editor, folder, *words)
    source = {"path": str(folder / "k.py")}
    editor.ask(
        "setBreakpoints",
        source=source,
        breakpoints=[{"line": 10, "cudasim": {"id": 7, "threads": "3", "blocks": "0"}}],
    )
    editor.ask("configurationDone")
    return editor.event("stopped")


def test_a_session(editor, folder):
    stopped = stop_at_line_10(editor, folder)
    assert stopped["reason"] == "breakpoint" and stopped["cudasim"]["thread"] == [3, 0, 0]
    assert editor.event("capabilities")["capabilities"]["supportsConfigurationDoneRequest"]
    frames = editor.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"]
    assert [(frame["name"], frame["line"]) for frame in frames] == [("invert", 10)]
    assert editor.ask("evaluate", expression="i + 1", frameId=frames[0]["id"])["result"] == "4"
    assert editor.refused("evaluate", expression="nothing", frameId=1) == "name 'nothing' is not defined"
    assert editor.ask("cudasim/kernel")["kernel"] == "invert"
    editor.ask("continue", threadId=1)
    assert editor.event("exited") == {"exitCode": 0}
    editor.event("terminated")
    assert [m["event"] for m in editor.messages if m.get("event") in ("exited", "terminated")] == [
        "exited",
        "terminated",
    ]
    assert editor.output() == "the script begins\nthe script ends\n"
    assert [message["seq"] for message in editor.messages] == list(range(1, len(editor.messages) + 1))
    assert "has ended" in editor.refused("threads")
    editor.ask("disconnect")


def test_the_exit_status_is_the_programs(editor, folder):
    start(editor, folder, "exit=7")
    editor.ask("configurationDone")
    assert editor.event("exited") == {"exitCode": 7}


@pytest.mark.parametrize("own", [[], [{"name": "square", "cudasim": {"id": 5}}]])
def test_stop_on_entry(editor, folder, own):
    start(editor, folder, stopOnEntry=True)
    if own:
        editor.ask("setFunctionBreakpoints", breakpoints=own)
    editor.ask("configurationDone")
    assert editor.event("stopped")["reason"] == "entry"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, 'needs either "program", a script, or "module"'),
        ({"program": "k.py", "module": "k"}, 'needs either "program", a script, or "module"'),
        ({"program": "missing.py"}, "there is no script .*missing.py"),
        ({"program": 5}, '"program" of the launch request is a text, not 5'),
        ({"program": "k.py", "args": "words"}, '"args" of the launch request is a list of texts'),
        ({"program": "k.py", "args": [1]}, '"args" of the launch request is a list of texts'),
        ({"program": "k.py", "env": {"A": 1}}, '"env" gives A the value 1'),
        ({"program": "k.py", "cwd": "/nowhere"}, "there is no script /nowhere/k.py"),
        ({"module": "k", "cwd": "/nowhere"}, "cannot be started in /nowhere"),
        ({"program": "k.py", "python": "/nowhere/python"}, "/nowhere/python cannot be started"),
        ({"program": "k.py", "console": "window"}, '"console" is one of internalConsole'),
        ({"program": "k.py", "console": "integratedTerminal"}, "runInTerminal"),
        ({"program": "k.py", "python": "/bin/false"}, "ended before it connected, with exit status 1"),
    ],
)
def test_wrong_launches_are_refused_and_the_session_goes_on(editor, folder, wrong, message):
    editor.ask("initialize", adapterID="cudasim")
    assert re.search(message, editor.refused("launch", **wrong))
    editor.ask("launch", program="k.py", python=str(folder / "python"))
    assert "already" in editor.refused("launch", program="k.py")
    editor.event("initialized")


def test_what_a_program_says_before_it_fails_to_connect(editor, folder):
    (folder / "python").write_text("#!/bin/sh\nsleep 0.2\necho 'No module named cudasim' >&2\nexit 1\n")
    editor.ask("initialize", adapterID="cudasim")
    assert "exit status 1" in editor.refused("launch", program="k.py", python=str(folder / "python"))
    assert editor.output("stderr") == "No module named cudasim\n"


def test_requests_before_the_launch(editor):
    assert "first request is launch" in editor.refused("threads")
    assert editor.refused("attach", processId=999999999).startswith("There is no process 999999999.")
    for wrong in ({}, {"processId": True}, {"processId": "k.py"}):
        assert "the number of a process" in editor.refused("attach", **wrong)


def fake_processes(folder):
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if str(FAKE).encode() in words and os.readlink(entry / "cwd") == str(folder):
                    found.append(entry.name)
    return found


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{]}", "a message is not JSON"),
        (b"", "a message is not JSON"),
        (b'{"seq": 5, "type": "request", "command": "\xff\xfe"}', "a message is not JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "a message is not JSON"),
        (b"[1, 2]", "a message is no JSON object"),
        (b"null", "a message is no JSON object"),
        (b"{}", "a message is no request"),
        (b'{"seq": "a", "type": "request", "command": "threads"}', "a message is no request"),
        (b'{"seq": true, "type": "request", "command": "threads"}', "a message is no request"),
        (b'{"seq": 5, "type": "request"}', "a message is no request"),
        (b'{"seq": 5, "type": "request", "command": 5}', "a message is no request"),
        (b'{"seq": 5, "type": "event", "event": "stopped"}', "a message is no request"),
    ],
)
def test_a_message_that_means_nothing_is_passed_over(editor, folder, body, problem):
    stop_at_line_10(editor, folder)
    editor._writing.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert editor.ask("evaluate", expression="i + 1", frameId=100)["result"] == "4"
    assert editor.output("console") == f"cudasim: {problem}, and is passed over\n"


def test_an_answer_to_nothing_is_passed_over(editor, folder):
    stop_at_line_10(editor, folder)
    for number in ([], {}, 99, "a", None):
        editor.write(type="response", request_seq=number, success=True)
    assert editor.ask("evaluate", expression="i + 1", frameId=100)["result"] == "4"


def test_a_program_goes_on_where_the_editor_says_so(folder):
    process = subprocess.Popen(
        ADAPTER, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    )
    editor = Editor(process.stdout, process.stdin)
    stop_at_line_10(editor, folder, "writes")
    editor.ask("disconnect", terminateDebuggee=False)
    process.stdin.close()
    assert process.wait(timeout=20) == 0
    process.stdout.close()
    end = time.monotonic() + 20
    while not (folder / "went_on").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert (folder / "went_on").exists()


def test_a_filter_that_nobody_has_is_told(editor, folder):
    start(editor, folder)
    told = editor.ask(
        "setExceptionBreakpoints",
        filters=["errors", "nosuch"],
        filterOptions=[{"filterId": "calls"}, {"filterId": 5}],
    )
    assert [one["verified"] for one in told["breakpoints"]] == [True, False, True, False]
    assert (
        told["breakpoints"][1]["message"] == "there is no exception filter 'nosuch'; there are: calls, errors"
    )


@pytest.mark.parametrize("how", ["disconnect", "terminate", "vanish", "nonsense", "SIGTERM"])
def test_the_program_ends_with_its_session(folder, how):
    process = subprocess.Popen(ADAPTER, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT,
                               stderr=subprocess.PIPE)  # fmt: skip
    editor = Editor(process.stdout, process.stdin)
    stop_at_line_10(editor, folder, "fork")  # a process that does not end with the connection
    assert len(fake_processes(folder)) == 2
    if how == "vanish":
        process.stdin.close()
    elif how == "SIGTERM":
        process.terminate()
    elif how == "nonsense":
        process.stdin.write(b"GET / HTTP/1.1\r\n\r\n")
        process.stdin.flush()
    else:
        editor.ask(how)
    if how == "terminate":
        assert editor.event("exited") == {"exitCode": 128 + 15}
        process.stdin.close()
    assert process.wait(timeout=20) == {"nonsense": 2, "SIGTERM": 128 + 15}.get(how, 0)
    said = b"cudasim dap: the connection to the editor ends: a message has no length\n"
    assert process.stderr.read() == (said if how == "nonsense" else b"")
    end = time.monotonic() + 10
    while fake_processes(folder) and time.monotonic() < end:
        time.sleep(0.02)
    assert not fake_processes(folder)
    process.stdout.close()
    process.stderr.close()
    if how != "vanish" and not process.stdin.closed:
        process.stdin.close()


def test_a_program_that_breaks_the_connection(editor, folder):
    start(editor, folder, "nonsense")
    response = editor.answer(editor.send("configurationDone"))
    assert response["success"]
    assert "length" in editor.refused("threads") or "has ended" in editor.refused("threads")
    editor.ask("disconnect")


def test_a_terminal_of_the_editors(editor, folder):
    editor.ask("initialize", adapterID="cudasim", supportsRunInTerminalRequest=True)
    number = editor.send(
        "launch", program="k.py", python=str(folder / "python"), console="integratedTerminal", cwd=str(folder)
    )
    request = editor.wait(lambda message: message["type"] == "request")
    assert request["command"] == "runInTerminal" and request["arguments"]["kind"] == "integrated"
    started = subprocess.Popen(request["arguments"]["args"], cwd=request["arguments"]["cwd"],
                               env={**os.environ, **request["arguments"]["env"]}, stdout=subprocess.DEVNULL)  # fmt: skip
    editor.write(type="response", request_seq=request["seq"], command="runInTerminal", success=True, body={})
    assert editor.answer(number)["success"]
    editor.event("initialized")
    editor.ask("configurationDone")
    editor.event("terminated")
    assert started.wait(timeout=20) == 0
    assert not [message for message in editor.messages if message.get("event") == "exited"]  # nobody knows


def test_without_the_debugger(editor, folder):
    (folder / "plain.py").write_text(
        "import os, sys\nprint(os.environ['A'], os.environ.get('HOME'), file=sys.stderr)\nsys.exit(3)\n"
    )
    editor.ask("initialize", adapterID="cudasim")
    editor.ask("launch", program="plain.py", noDebug=True, env={"A": "ä", "HOME": None})
    assert editor.event("exited") == {"exitCode": 3}
    assert editor.output("stderr") == "ä None\n"


def test_a_port_needs_the_token(folder):
    process = subprocess.Popen(
        [*ADAPTER, "--port", "0"], cwd=folder, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    try:
        line = process.stdout.readline()
        port, token = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+), token (\w{32})\n", line).groups()
        with socket.create_connection(("127.0.0.1", int(port))) as connected:
            editor = Editor(connected.makefile("rb"), connected.makefile("wb"))
            editor.ask("initialize", adapterID="cudasim")
            for wrong in ({}, {"token": "0" * 32}):
                assert "token" in editor.refused(
                    "launch", program="k.py", python=str(folder / "python"), **wrong
                )
            editor.ask("launch", program="k.py", python=str(folder / "python"), token=token)
            editor.event("initialized")
            editor.ask("disconnect")
        # The end of the server is that of the programs that it has started.
        with socket.create_connection(("127.0.0.1", int(port))) as connected:
            editor = Editor(connected.makefile("rb"), connected.makefile("wb"))
            editor.ask("initialize", adapterID="cudasim")
            editor.ask("launch", program="k.py", python=str(folder / "python"), token=token)
            editor.event("initialized")
            assert fake_processes(folder)
            process.terminate()
            assert process.wait(timeout=20) == 128 + 15
        end = time.monotonic() + 10
        while fake_processes(folder) and time.monotonic() < end:
            time.sleep(0.02)
        assert not fake_processes(folder)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("port", ["65536", "-1", "1"])
def test_a_port_that_cannot_be_had(port):
    if port == "1" and os.geteuid() == 0:
        pytest.skip("root may listen on every port")
    done = subprocess.run(
        [*ADAPTER, "--port", port], capture_output=True, text=True, env=ENVIRONMENT, timeout=20
    )
    assert done.returncode == 2 and done.stderr.startswith(f"cudasim dap: cannot listen on port {port}: ")


def test_the_extension_offers_what_the_adapter_takes():
    debugger = json.loads((EXTENSION / "package.json").read_text())["contributes"]["debuggers"][0]
    properties = debugger["configurationAttributes"]["launch"]["properties"]
    kinds = {"string": str, "boolean": bool, "array": list, "object": dict}
    assert {name: kinds[one["type"]] for name, one in properties.items()} == LAUNCH_ARGUMENTS
    assert tuple(properties["console"]["enum"]) == CONSOLES


def test_the_extension_reads_what_people_type(tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    (tmp_path / "vscode.js").write_text("module.exports = {};")
    script = f"""
        const Module = require("module");
        const resolve = Module._resolveFilename;
        Module._resolveFilename = (name, ...rest) => name === "vscode" ? {json.dumps(str(tmp_path / "vscode.js"))} : resolve(name, ...rest);
        const {{ coordinates, threadName }} = require({json.dumps(str(EXTENSION / "extension.js"))});
        console.log(JSON.stringify(["3", "(10, 0,2)", "1,2", "1,2,3,4", "x", "-1", ""].map(coordinates)));
        console.log(threadName({{ block: [1, 0, 0], thread: [2, 3, 0] }}));
    """
    done = subprocess.run([node, "-e", script], capture_output=True, text=True, timeout=20)
    assert done.stderr == ""
    assert done.stdout == "[[3,0,0],[10,0,2],[1,2,0],null,null,null,[0,0,0]]\nblock(1,0,0) thread(2,3,0)\n"

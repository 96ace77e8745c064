"""Every request that the client sends is valid by the protocol's published schema, which debugpy's package contains."""

import json
import pathlib

import pytest
from client_sessions import client_in

COMMANDS = """
break 12 thread 0..3 block * if i >= 0
tbreak invert
dprintf 11,"{i}"
ignore 1 1
run
info threads
info cuda warps
info cuda kernels
info line 11
cuda block 0 thread 0
thread 0
bt full
info args
info registers
print i
print/x x
print -warp i
thread find i > 3
display v
set var v = 3
x/4fw x
list
next
step
finish
until 12
advance 12
barrier
continue
disable 1
delete
continue
"""


def schema():
    debugpy = pytest.importorskip("debugpy")
    found = sorted(pathlib.Path(debugpy.__file__).parent.rglob("debugProtocol.json"))
    if not found:
        pytest.skip("this debugpy has no schema")
    return json.loads(found[0].read_text())


def test_requests_are_valid(tmp_path, monkeypatch):
    jsonschema = pytest.importorskip("jsonschema")
    whole = schema()
    with client_in(tmp_path, monkeypatch) as client:
        client.ask(*COMMANDS.split("\n"))
        sent = client.server.requests
    names = {}
    for name, definition in whole["definitions"].items():
        if name.endswith("Request"):
            for part in definition.get("allOf", []):
                for command in part.get("properties", {}).get("command", {}).get("enum", []):
                    names[command] = name
    seen = {command for command, _ in sent}
    assert {
        "setBreakpoints",
        "evaluate",
        "next",
        "stepIn",
        "stepOut",
        "readMemory",
        "setExpression",
        "source",
        "scopes",
    } <= seen
    for number, (command, arguments) in enumerate(sent, 1):
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        kind = names.get(command, "Request")
        assert kind != "Request" or command.startswith("cudasim/"), command
        jsonschema.validate(message, {**whole, "$ref": f"#/definitions/{kind}"})

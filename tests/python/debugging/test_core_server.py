"""The program cudasim-debug-server: core files over the Debug Adapter Protocol, without Python. Every message is checked against
the protocol's schema, where debugpy and jsonschema are installed (debug_session.py)."""

import contextlib
import glob
import os
import re
import socket
import subprocess
import sys

import pytest
from cudasim import native_programs
from debug_session import SECONDS, DebugClient, debugging
from processes import clean_environment

pytestmark = pytest.mark.skipif(
    native_programs.path("cudasim-debug-server") is None,
    reason="cudasim-debug-server was built where CLI11 was missing",
)

SCRIPT = """\
import numpy as np
from numba import cuda

point = np.dtype([("mass", np.float64), ("place", np.int32, 3)])


@cuda.jit
def spread(x, points, out):
    i = cuda.grid(1)
    p = points[i]
    total = x[i] * 2  # total
    if i == 0:
        print("sum", total)
    out[i * i] = total  # store


points = np.zeros(32, point)
points["mass"] = np.arange(32) + 0.5
points["place"] = np.arange(96).reshape(32, 3)
spread[1, 32](np.arange(32.0), points, np.zeros(20))
"""


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """A core file in a folder of its own, and its script, which is not where it was."""
    folder, home = tmp_path_factory.mktemp("ci"), tmp_path_factory.mktemp("home")
    (folder / "script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=120,
                          env=clean_environment(ENABLE_CUDASIM="1", CUDASIM_CORE=str(folder)))  # fmt: skip
    (written,) = glob.glob(str(folder / "*.cudasim"))
    assert "IndexError" in done.stderr
    os.rename(written, home / "core.cudasim")
    os.rename(folder / "script.py", home / "kept.py")
    return home / "core.cudasim"


def server(core, *more):
    return [native_programs.path("cudasim-debug-server"), "--core", str(core), *more]


@contextlib.contextmanager
def serving(core, folder, *more):
    """A DebugClient of a server that has connected to it; configurationDone is still to be sent."""
    with socket.socket(socket.AF_UNIX) as listener:
        path = str(folder / "s")
        listener.bind(path)
        listener.listen(1)
        listener.settimeout(SECONDS)
        output = folder / "output"
        with output.open("w") as stream:
            program = subprocess.Popen(server(core, "--connect", path, *more), env=clean_environment(), cwd=folder,
                                       stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT)  # fmt: skip
        try:
            connection, _ = listener.accept()
            connection.settimeout(SECONDS)
            with connection:
                client = DebugClient(connection, program, output, core.parent / "kept.py")
                client.ask("initialize", adapterID="cudasim")
                client.event("initialized")
                client.ask("launch")
                yield client
        finally:
            program.kill()
            program.wait()


def test_it_stands_at_the_thread_that_failed_with_all_variables(core, tmp_path):
    with serving(core, tmp_path) as client:
        client.run()
        stop = client.wait("store", "exception")
        assert stop["text"] == "IndexError: index 25 is out of bounds for axis 0 with size 20"
        assert stop["cudasim"]["thread"] == [5, 0, 0]
        frame, launching = client.frames()
        assert (frame["name"], launching["name"]) == ("spread", "<module>")
        values = {name: described["value"] for name, described in client.scope("Locals").items()}
        assert (values["i"], values["total"]) == ("5", "10.0")
        assert client.value("x[3]") == "3.0"
        assert client.value("p.mass") == "5.5"
        assert client.value("points[2].place[1]") == "7"
        assert client.value("threadIdx.x") == "5"
        lanes = client.ask("cudasim/evaluateLanes", expression="x[1]", scope="warp")["values"]
        assert {"threads": "5", "result": "1.0"} in lanes
        # The text that was compiled, though its file is gone.
        text = client.ask(
            "source", source=frame["source"], sourceReference=frame["source"].get("sourceReference", 0)
        )["content"]
        assert text == SCRIPT
        client.go_to_end(0)
        shown = [event["body"] for event in client.seen if event.get("event") == "output"]
        assert {"category": "stdout", "output": "sum 0.000000\n"} in shown
        assert "The launch has ended as it was recorded, to the bit.\n" in [body["output"] for body in shown]


def test_a_file_that_has_changed_since_is_shown_as_it_was_compiled(core, tmp_path):
    with serving(core, tmp_path) as client:
        client.run()
        client.wait("store", "exception")
        place = client.frames()[0]["source"]["path"]
        try:
            for text, is_it in ((SCRIPT, True), ("changed\n" + SCRIPT, False)):
                with open(place, "w", encoding="utf-8") as file:
                    file.write(text)
                source = client.frames()[0]["source"]
                assert ("sourceReference" not in source) == is_it
                assert (
                    client.ask("source", source=source, sourceReference=source.get("sourceReference", 0))[
                        "content"
                    ]
                    == SCRIPT
                )
        finally:
            os.unlink(place)


def test_it_steps_breaks_and_sets(core, tmp_path):
    with serving(core, tmp_path) as client:
        client.ask("setFunctionBreakpoints", breakpoints=[{"name": "spread", "cudasim": {"threads": "3"}}])
        client.run()
        stop = client.wait(reason="function breakpoint")
        assert stop["cudasim"]["thread"] == [3, 0, 0]
        client.go("next", reason="step")
        assert client.value("i") == "3"
        client.go("next", reason="step")
        client.go("next", reason="step")
        frame = client.frames()[0]["id"]
        client.ask("setExpression", expression="total", value="77", frameId=frame)
        assert client.value("total") == "77.0"
        client.ask("setFunctionBreakpoints", breakpoints=[])
        client.go(reason="exception")
        client.ask("continue", threadId=1)
        client.end(1)
        said = "".join(event["body"]["output"] for event in client.seen if event.get("event") == "output")
        assert "The launch has ended otherwise than it was recorded:" in said
        assert "memory differs after the launch" in said


def test_expressions_are_a_subset_of_cplusplus_and_others_are_refused_with_the_reason(core, tmp_path):
    with serving(core, tmp_path) as client:
        client.ask(
            "setFunctionBreakpoints", breakpoints=[{"name": "spread", "condition": "threadIdx.x == 1"}]
        )
        client.run()
        assert client.wait(reason="function breakpoint")["cudasim"]["thread"] == [1, 0, 0]
        frame = client.frames()[0]["id"]
        assert float(client.value("x[3] + 1")) == 4
        for expression, reason in {
            "np.sum(x)": "this server has no Python",
            "nothing": "nothing",
            "x[99]": "99",
        }.items():
            refusal = client.refused("evaluate", expression=expression, frameId=frame)
            assert reason in refusal, refusal
        assert "no Python" in client.refused("setExpression", expression="x[:]", value="3", frameId=frame)
        client.ask("setFunctionBreakpoints", breakpoints=[{"name": "spread", "condition": "threadIdx.x > 3"}])
        assert client.go(reason="function breakpoint")["cudasim"]["thread"] == [4, 0, 0]


def test_it_is_an_adapter_on_standard_input_and_output(core, tmp_path):
    """As editors start it. A socket pair stands for the two pipes."""
    mine, its = socket.socketpair()
    errors = tmp_path / "errors"
    with mine, its, errors.open("w") as stream:
        program = subprocess.Popen(
            server(core), env=clean_environment(), cwd=tmp_path, stdin=its, stdout=its, stderr=stream
        )
        try:
            its.close()
            mine.settimeout(SECONDS)
            client = DebugClient(mine, program, errors, core.parent / "kept.py")
            client.ask("initialize", adapterID="cudasim")
            client.event("initialized")
            client.ask("launch")
            client.run()
            client.wait("store", "exception")
            client.ask("terminate")
            client.event("terminated")
            assert client.finish() == (1, "")
        finally:
            program.kill()
            program.wait()


def test_a_port_needs_the_token(core, tmp_path):
    program = subprocess.Popen(server(core, "--port", "0"), env=clean_environment(), cwd=tmp_path, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)  # fmt: skip
    try:
        found = re.fullmatch(
            r"listening on 127\.0\.0\.1:(\d+), token ([0-9a-f]{32})\n", program.stdout.readline()
        )
        assert found
        port, token = int(found[1]), found[2]

        def connect():
            connection = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
            client = DebugClient(connection, program, tmp_path / "none", core.parent / "kept.py")
            client.ask("initialize", adapterID="cudasim")
            return connection, client

        connection, client = connect()
        with connection:
            assert "token" in client.refused("configurationDone")
            assert "token" in client.refused("attach")
            assert "token" in client.refused("launch", token=token[:-1] + "x")
        connection, client = connect()  # the server goes on after one that did not know it
        with connection:
            client.ask("launch", token=token)
            client.run()
            client.wait("store", "exception")
            client.ask("continue", threadId=1)
            client.event("terminated")
        assert program.wait(SECONDS) == 0
    finally:
        program.kill()
        program.wait()


def run(*arguments, folder):
    done = subprocess.run([native_programs.path("cudasim-debug-server"), *arguments], cwd=folder, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, env=clean_environment())  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_files_that_cannot_be_served(core, tmp_path):
    whole = core.read_bytes()
    (tmp_path / "text").write_text("no record")
    (tmp_path / "half").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "bits").write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    for name in ("text", "half", "bits", "nothing", "."):
        status, said = run("--core", name, folder=tmp_path)
        assert status == 2
        assert said.startswith(f"cudasim-debug-server: {name}: "), said
        assert len(said.splitlines()) == 1, said
    status, said = run("--core", str(core), "--launch", "9", folder=tmp_path)
    assert (status, "there is no launch 9 in it; it has 1" in said) == (2, True), said
    status, said = run("--core", str(core), "--connect", str(tmp_path / "nobody"), folder=tmp_path)
    assert status == 2
    assert "there is no debugger at" in said


def test_arguments(core, tmp_path):
    from cudasim import __version__

    assert run("--version", folder=tmp_path) == (0, f"{__version__}\n")
    status, said = run("--help", folder=tmp_path)
    assert status == 0
    assert "--stdio" in said
    for wrong in ([], ["--core"], ["--core", str(core), "--port", "70000"], ["--core", str(core), "--stdio", "--port", "0"],
                  ["--core", str(core), "--launch", "x"]):  # fmt: skip
        status, said = run(*wrong, folder=tmp_path)
        assert status == 2
        assert said.strip()


def test_a_client_that_vanishes_ends_the_server(core, tmp_path):
    with serving(core, tmp_path) as client:
        client.run()
        client.wait("store", "exception")
        client._connection.shutdown(socket.SHUT_RDWR)
        assert client.finish()[0] == 1


def test_the_program_of_the_package_becomes_it(core, tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from cudasim.native_programs import debug_server; debug_server()",
            "--version",
        ],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_that_runs_cannot_be_launched(tmp_path):
    with debugging(tmp_path, "print(1)") as client:
        assert "the request is attach" in client.refused("launch")
        client.run()
        client.end()

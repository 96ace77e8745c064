"""Debuggers of tests, with a fake program (fake_program.py): a command goes in, what is shown comes out."""

import contextlib
import io

from cudasim.debugger_client import commands
from cudasim.debugger_client.console import Console
from cudasim.debugger_client.debugger import Debugger
from fake_program import SOURCE, FakeProgram

assert commands.TABLE.commands


class Client:
    """A debugger of a script k.py in a folder, which must be the current one."""

    def __init__(self, folder, interactive=False, **how):
        self.path = str(folder / "k.py")
        (folder / "k.py").write_text(SOURCE)
        self.how, self.started = how, []
        self._out = io.StringIO()
        self.debugger = Debugger(["k.py"], Console(interactive, self._out, self._out), self._start)
        self.programs = []

    def _start(self, command, variables):
        self.started.append((command, variables))
        self.programs.append(FakeProgram(self.path, **self.how))
        return self.programs[-1]

    @property
    def server(self):
        return self.programs[-1].server

    def ask(self, *lines):
        """Runs commands; what they show."""
        self._out.seek(0)
        self._out.truncate()
        for line in lines:
            self.debugger.run_line(line)
        text = self._out.getvalue()
        assert "Internal error" not in text, text
        return text

    def requests(self, command):
        """The arguments of all requests with this name that the present program got."""
        return [arguments for name, arguments in self.server.requests if name == command]

    def read(self, text):
        """Runs commands that are typed, line by line, empty lines included; what they show."""
        self._out.seek(0)
        self._out.truncate()
        lines = iter(text.split("\n"))
        self.debugger.interact(lambda prompt: next(lines, None))
        return self._out.getvalue()

    def close(self):
        self.debugger.kill()


@contextlib.contextmanager
def client_in(folder, monkeypatch, **how):
    """A client whose current folder is this one."""
    monkeypatch.chdir(folder)
    client = Client(folder, **how)
    try:
        yield client
    finally:
        client.close()

"""Programs on a pseudo-terminal, as a person uses them: what they show is awaited, then the next line is typed.

    terminal = Terminal([sys.executable, "script.py"], folder)
    terminal.expect("(Pdb")                  # waits; gives what was shown until then
    terminal.ask("p i")                      # types a line, waits for the next prompt
    status, rest = terminal.finish("c")      # types a line, waits for the end

A program that does not show what is expected fails the test with all that it did show.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

from processes import clean_environment

#: A prompt of pdb or one of its kin, inside of a kernel or not.
PROMPT = re.compile(r"\((?:Pdb|pdb|ipdb)[^\n]*?\) |ipdb[^\n]*?> ")
_ESCAPES = re.compile(r"\x1b\[[0-9;?$><=]*[a-zA-Z]|\x1b[=>]|\x1b\][^\x07]*\x07")


def _own_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """A program and the terminal it runs on."""

    def __init__(self, command, folder, seconds=60, **variables):
        self._master, slave = pty.openpty()
        settings = termios.tcgetattr(slave)
        settings[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        fcntl.ioctl(
            slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0)
        )  # tcsetwinsize() came with 3.11
        variables.setdefault("TERM", "dumb")
        self._process = subprocess.Popen(
            [str(part) for part in command], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
            env=clean_environment(**variables), start_new_session=True, preexec_fn=_own_terminal,
        )  # fmt: skip
        os.close(slave)
        self._deadline = time.monotonic() + seconds
        self._unread, self.shown = "", ""

    def close(self):
        """Ends the program."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._master)

    def expect(self, wanted=PROMPT):
        """Waits for a text or a pattern; everything shown since the last one, that included."""
        pattern = wanted if isinstance(wanted, re.Pattern) else re.compile(re.escape(wanted))
        while True:
            found = pattern.search(self._unread)
            if found:
                text, self._unread = self._unread[: found.end()], self._unread[found.end() :]
                return text
            if not self._read():
                raise AssertionError(f"{pattern.pattern!r} was not shown. All that was:\n{self.shown}")

    def type(self, line):
        """A line and the return key."""
        self.send(line + "\n")

    def send(self, keys):
        """Keys as they are."""
        os.write(self._master, keys.encode())

    def ask(self, line, wanted=PROMPT):
        """Types a line; what is shown then, until the next prompt."""
        self.type(line)
        return self.expect(wanted)

    def finish(self, line=None):
        """(exit status, what was shown until the program ended)."""
        if line is not None:
            self.type(line)
        while self._read():
            pass
        try:
            status = self._process.wait(max(1, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the program did not end. All that it showed:\n{self.shown}") from None
        return status, self._unread

    def _read(self):
        """False at the program's end, or when the time is over."""
        ready, _, _ = select.select([self._master], [], [], max(0, self._deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux: the other side is closed
            return False
        text = _ESCAPES.sub("", data.decode(errors="replace")).replace("\r", "")
        self._unread, self.shown = self._unread + text, self.shown + text
        return bool(data)


def on_a_terminal(run, code, columns=100, **variables):
    """What a script writes to a terminal, as one text. Lines end in CR LF there."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, run.write(code)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=run.folder,
        env=clean_environment(TERM="xterm", **variables),
    )
    os.close(slave)
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    pieces = []
    try:
        while piece := os.read(master, 1 << 16):
            pieces.append(piece)
    except OSError:  # the other end is closed
        pass
    os.close(master)
    process.wait()
    watchdog.cancel()
    return b"".join(pieces).decode()


def screen_lines(text):
    """What is left on the screen when all is written."""
    lines = []
    for line in text.split("\n"):
        cells = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        lines.append("".join(cells).rstrip())
    return [line for line in lines if line]

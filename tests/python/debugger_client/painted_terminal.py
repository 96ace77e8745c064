"""A terminal that is drawn on: a test awaits what stands on the screen, as a person sees it.

screen = PaintedTerminal(command, folder)
screen.see("(cudasim)")           # waits until a line shows it
screen.keys("next\\r")
"""

import fcntl
import os
import re
import select
import struct
import termios
import time

import pyte
from terminal import Terminal

F5, F9, F10 = "\x1b[15~", "\x1b[20~", "\x1b[21~"


class PaintedTerminal(Terminal):
    """24 lines of 80 columns, unless others are said."""

    def __init__(self, command, folder, lines=24, columns=80, seconds=60, **variables):
        self._screen = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        super().__init__(command, folder, seconds, **{"TERM": "xterm-256color", **variables})
        self.resize(lines, columns)
        self.settings = termios.tcgetattr(self._master)

    def resize(self, lines, columns):
        """The window gets another size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._screen.resize(lines, columns)

    @property
    def lines(self):
        """What stands on the screen."""
        return [line.rstrip() for line in self._screen.display]

    def keys(self, keys):
        """Types keys."""
        os.write(self._master, keys.encode())

    def see(self, *patterns):
        """Waits until each of these patterns is in a line of the screen."""
        self.until(
            lambda: all(any(re.search(one, line) for line in self.lines) for one in patterns), *patterns
        )

    def see_no(self, pattern):
        """Waits until no line of the screen has this pattern."""
        self.until(lambda: not any(re.search(pattern, line) for line in self.lines), "no", pattern)

    def until(self, condition, *wanted):
        """Waits until something is true of what was shown. :param wanted: what that is, for the failure"""
        while not condition():
            assert self._read(), f"{wanted} is not on the screen, which is\n" + "\n".join(self.lines)

    def wipe(self):
        """Forgets what stands on the screen: what is seen from now on is new."""
        self._screen.reset()

    def end(self):
        """Waits for the end of the program; its status."""
        while self._read():
            pass
        return self._process.wait(max(1, self._deadline - time.monotonic()))

    @property
    def number(self):
        """The process."""
        return self._process.pid

    @property
    def is_restored(self):
        """Whether the terminal's settings are those of before, on the first screen, with a cursor, without the mouse."""
        left = self.raw.rfind(b"\x1b[?1049l") > self.raw.rfind(b"\x1b[?1049h") >= 0
        cursor = self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l")
        mouse = self.raw.rfind(b"\x1b[?1000l") > self.raw.rfind(b"\x1b[?1000h")
        return left and cursor and mouse and termios.tcgetattr(self._master) == self.settings

    def _read(self):
        ready, _, _ = select.select([self._master], [], [], max(0, self._deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:  # Linux: the other side is closed
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)

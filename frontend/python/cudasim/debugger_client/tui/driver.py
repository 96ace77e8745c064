"""The terminal under the application, which runs in a thread: textual's own driver handles signals, which only the main thread may do.
The size is looked at while nothing is typed, and the terminal can be lent to others at any time.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import threading
import time
from codecs import getincrementaldecoder
from typing import TYPE_CHECKING

from textual import events
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.geometry import Size

if TYPE_CHECKING:
    from typing import Any

#: Seconds between looks at the terminal's size, and after which a lone escape is a key.
_TICK = 0.1
#: The other screen, no cursor, no wrapping; reports of the mouse's buttons and of pasted text.
_BEGIN = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[?2004h"
_END = "\x1b[?2004l\x1b[?1006l\x1b[?1002l\x1b[?1000l\x1b[0m\x1b[?7h\x1b[?1049l\x1b[?25h"


class ThreadDriver(Driver):
    """The user's terminal: standard input, and standard output where that is the terminal."""

    def __init__(
        self, app: Any, *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._input = 0
        stdout = sys.__stdout__.fileno() if sys.__stdout__ is not None else 1
        self._output = stdout if os.isatty(stdout) else 0
        self._lock = threading.RLock()  # guards what follows, and writing
        self._is_there = False
        self._wanted = False
        self._settings: Any = None
        self._reported: os.terminal_size | None = None
        self._reader: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None
        app.driver_made(self)

    # What the application calls

    def write(self, data: str) -> None:
        """Writes to the terminal; nothing while that is lent."""
        with self._lock:
            if self._is_there:
                self._put(data)

    def start_application_mode(self) -> None:
        """Begins with the application."""
        self._wanted = True
        self.enter()

    def disable_input(self) -> None:
        """Keys are not read any more."""
        self._stop_reading()

    def stop_application_mode(self) -> None:
        """Ends with the application."""
        self._wanted = False
        self.leave()

    # What the debugger calls, in any thread

    def enter(self) -> None:
        """The application has the terminal: its settings are set, everything is drawn."""
        with self._lock:
            if self._is_there or not self._wanted:
                return
            self._is_there = True
            with contextlib.suppress(termios.error):  # the terminal has gone away
                self._settings = termios.tcgetattr(self._input)
                termios.tcsetattr(self._input, termios.TCSADRAIN, _raw(termios.tcgetattr(self._input)))
            self._put(_BEGIN)
            self._reported = None
            self._wake = os.pipe()
            self._reader = threading.Thread(
                target=self._read, args=(self._wake[0],), name="cudasim debug: keys", daemon=True
            )
            self._reader.start()

    def leave(self) -> None:
        """The terminal is as it was before enter()."""
        self._stop_reading()
        with self._lock:
            if not self._is_there:
                return
            self._put(_END)
            self._is_there = False
            if self._settings is not None:
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(self._input, termios.TCSADRAIN, self._settings)

    def _stop_reading(self) -> None:
        with self._lock:
            reader, self._reader = self._reader, None
            wake, self._wake = self._wake, None
        if reader is None or wake is None:
            return
        os.write(wake[1], b"x")
        if reader is not threading.current_thread():
            reader.join(5)
        for descriptor in wake:
            os.close(descriptor)

    def _put(self, data: str) -> None:
        left = data.encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # the terminal has gone away; reading tells it
            while left:
                try:
                    left = left[os.write(self._output, left) :]
                except BlockingIOError:
                    time.sleep(0.01)

    # Keys

    def _read(self, wake: int) -> None:
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        while True:
            self._report_size()
            ready, _, _ = select.select([self._input, wake], [], [], _TICK)
            if wake in ready:
                return
            if ready:
                try:
                    data = os.read(self._input, 4096)
                except OSError:
                    data = b""
                if not data:  # the terminal has gone away
                    self._loop.call_soon_threadsafe(self._app.exit)
                    return
                for message in parser.feed(decode(data)):
                    self.process_message(message)
            for message in parser.tick():
                self.process_message(message)

    def _report_size(self) -> None:
        try:
            size = os.get_terminal_size(self._output)
        except OSError:
            size = os.terminal_size((80, 24))
        if size == self._reported:
            return
        self._reported = size
        columns, lines = size.columns or 80, size.lines or 24
        self.send_message(events.Resize(Size(columns, lines), Size(columns, lines)))
        self._loop.call_soon_threadsafe(self._app.redraw)  # type: ignore[attr-defined]


def _raw(settings: list[Any]) -> list[Any]:
    """Every key is read as it is; what is written stays as usual."""
    settings[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    settings[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    settings[6][termios.VMIN], settings[6][termios.VTIME] = 1, 0
    return settings

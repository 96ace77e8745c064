"""How far a long launch is: a bar on a terminal and in a notebook, a line a minute in a log (option progress).

The launching thread makes a LaunchProgress for a launch that has run for AFTER_SECONDS, or whose kernel has been compiled
for so long, and calls it about every 50 ms (frontend/bindings/host_poll.cpp). tqdm draws, and is not imported before. All goes to sys.stderr; nothing
that goes wrong there ends a launch, but what signal handlers raise meanwhile (Ctrl-C) does.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from typing import TYPE_CHECKING

from cudasim import options
from cudasim.reports.user_warnings import warn_at_users_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

AFTER_SECONDS = 2.0
#: Seconds between two lines in a log.
LOG_INTERVAL = 60.0
#: Seconds between two pictures of a bar: as quickly as one can read; in a notebook each is a message.
_TERMINAL_INTERVAL, _NOTEBOOK_INTERVAL = 0.1, 0.5
#: Numbers of blocks from here on are written as 1.23M.
_MANY_BLOCKS = 1_000_000

_COUNTS = "{n_fmt}/{total_fmt} blocks, {elapsed} elapsed, {remaining} left, {rate_fmt}"
_COMPILING = "{desc}: {elapsed} elapsed"
_BAR = "{desc}: {percentage:3.0f}%|{bar}| " + _COUNTS
_LINE = "{desc}: {percentage:3.0f}%, " + _COUNTS


_in_debugger: set[Any] = set()  # host threads, by number: simulated threads have a threading.local each


def hand_to_debugger(stopped: Any) -> None:
    """Whether a debugger has stopped in this host thread's launch: it has the terminal to the launch's end."""
    (_in_debugger.add if stopped else _in_debugger.discard)(threading.get_ident())


def shown_as(kernel: str, mode: str) -> Callable[..., Any] | None:
    """What makes the LaunchProgress of a launch, given its number of blocks, None while its kernel is compiled; None when
    progress is switched off.

    :param kernel: its name, for people
    :param mode: how it runs: "native" or "python"
    """
    return functools.partial(LaunchProgress, kernel, mode) if options.get("progress") else None


class LaunchProgress:
    """The display of one launch. Its methods raise what signal handlers raise and nothing else."""

    def __init__(self, kernel: Any, mode: Any, blocks: Any) -> None:
        self._title, self._blocks = f"{kernel} ({mode if blocks is not None else 'compiling'})", blocks
        self._display: Any = None
        self._guarded(self._choose)

    def show(self, done: Any, seconds: Any) -> None:
        """So many blocks are done, so many seconds after the launch began."""
        if self._display is not None and threading.get_ident() not in _in_debugger:
            self._guarded(self._display.show, done, seconds)

    def make_room(self) -> None:
        """Something else is about to be written to the terminal."""
        if self._display is not None:
            self._guarded(self._display.make_room)

    def close(self, done: Any = None) -> None:
        """The launch is over, with so many blocks done."""
        if self._display is not None:
            self._guarded(self._display.close, done)
            self._display = None

    def _guarded(self, function, *arguments):
        try:
            function(*arguments)
        except KeyboardInterrupt as error:
            raise error.with_traceback(None) from None  # where in the display it came is nobody's concern
        except Exception as error:
            if _came_from_a_signal_handler(error):
                raise
            if self._display is not None:
                self._display.give_stdout_back()
                self._display = None

    def _choose(self):
        if sys.stderr is None:
            return
        try:
            if _in_notebook():
                self._display = _Bar(
                    _notebook_class(), self._title, self._blocks, _NOTEBOOK_INTERVAL, leave=True
                )
            elif sys.stderr.isatty():
                from tqdm import tqdm  # only for launches of two seconds and more

                self._display = _Bar(tqdm, self._title, self._blocks, _TERMINAL_INTERVAL, leave=False)
            else:
                self._display = _Log(self._title, self._blocks)
        except ImportError:
            warn_at_users_line(
                "no-progress-bar",
                "this launch takes long, but its progress cannot be shown: tqdm is not installed (pip install tqdm)",
            )


def _came_from_a_signal_handler(error):
    """Whether one of the process's signal handlers is among the exception's frames."""
    import signal  # only where showing the progress failed

    codes = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in codes:
            return True
        traceback = traceback.tb_next
    return False


def _code(handler):
    while isinstance(handler, functools.partial):
        handler = handler.func
    handler = getattr(handler, "__func__", handler)
    if not hasattr(handler, "__code__"):
        handler = getattr(type(handler), "__call__", None)  # noqa: B004 - the method, for its code
    return getattr(handler, "__code__", None)


def _in_notebook():
    kernel = sys.modules.get("ipykernel.zmqshell")
    return kernel is not None and isinstance(sys.modules["IPython"].get_ipython(), kernel.ZMQInteractiveShell)


def _notebook_class():
    """The one with widgets where ipywidgets is installed, else text; tqdm need not warn of either."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.autonotebook import tqdm  # only for launches of two seconds and more
    return tqdm


class _Bar:
    """A bar of tqdm, which takes care of other bars that the program shows."""

    def __init__(self, tqdm: Any, title: Any, blocks: Any, interval: Any, leave: Any) -> None:
        class Bar(tqdm):
            monitor_interval = 0  # no thread that looks after it

        self._interval, self._next = interval, 0.0
        self._make = functools.partial(
            Bar,
            total=blocks,
            desc=title,
            leave=leave,
            unit="block",
            unit_scale=(blocks or 0) >= _MANY_BLOCKS,
            bar_format=_COMPILING if blocks is None else _BAR,
            dynamic_ncols=True,
        )
        self._bar: Any = None
        self._stdout: _Stdout | None = None
        self._drawn = False

    def show(self, done, seconds):
        if seconds < self._next or self._stdout is not None and self._stdout.in_line:
            return
        self._next = seconds + self._interval
        if self._bar is None:
            self._bar = self._make()
            self._bar.start_t -= seconds
            self._stdout = _Stdout.beside(self)
        self._bar.n, self._drawn = done, True
        with self._bar.get_lock():  # which refresh() would keep if Ctrl-C came meanwhile
            self._bar.refresh(nolock=True)

    def make_room(self):
        if self._drawn:
            self._drawn, self._next = False, 0.0
            with self._bar.get_lock():
                self._bar.clear(nolock=True)

    def give_stdout_back(self):
        in_force: Any = sys.stdout
        if self._stdout is not None and in_force is self._stdout:
            sys.stdout = self._stdout.stream

    def close(self, done):
        self.give_stdout_back()
        if self._bar is None:
            return
        if done is not None:
            self._bar.n = done
        self._bar.close()


class _Stdout:
    """sys.stdout while a bar is on the same terminal: the bar makes room for what is written. (Compiled kernels print
    through the launching thread; Python code, in Python mode or in other threads, writes when it likes.)"""

    def __init__(self, stream, bar):
        self.stream, self._bar = stream, bar
        self.in_line = False  #: the last line is not complete: a bar would overwrite it

    @classmethod
    def beside(cls, bar):
        """Takes the place of sys.stdout, if that is a terminal."""
        if sys.stdout is None or isinstance(sys.stdout, cls) or not sys.stdout.isatty():
            return None
        sys.stdout = cls(sys.stdout, bar)
        return sys.stdout

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def write(self, text):
        """Writes to the stream."""
        self._bar.make_room()
        if text:
            self.in_line = not text.endswith("\n")
        return self.stream.write(text)

    def writelines(self, lines):
        """Writes lines to the stream."""
        for line in lines:
            self.write(line)


class _Log:
    def __init__(self, title, blocks):
        self._title, self._blocks, self._next = title, blocks, LOG_INTERVAL

    def show(self, done, seconds):
        if seconds < self._next:
            return
        from tqdm import tqdm  # only for launches of two seconds and more

        self._next = seconds + LOG_INTERVAL
        line = tqdm.format_meter(
            done,
            self._blocks,
            seconds,
            prefix=self._title,
            unit="block",
            unit_scale=(self._blocks or 0) >= _MANY_BLOCKS,
            bar_format=_COMPILING if self._blocks is None else _LINE,
        )
        sys.stderr.write(f"cudasim: {line}\n")
        sys.stderr.flush()

    def make_room(self):
        pass

    def give_stdout_back(self):
        pass

    def close(self, done):
        pass

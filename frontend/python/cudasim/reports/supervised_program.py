"""A program in a child of this process, which learns how it ended: by exit(), os._exit(), a signal or a crash.

Both are in one group of processes, so that the terminal, its Ctrl-C and its Ctrl-Z reach both.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import warnings

#: Signals that the parent passes on. Those of the terminal have reached the child already.
_PASSED_ON = frozenset(
    (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
)
_PR_SET_PDEATHSIG = 1


class Program:
    """The child, as the parent sees it."""

    def __init__(self, process: int, mask: set[int]) -> None:
        self._process = process
        self._mask = mask

    def wait(self) -> int:
        """Waits for its end. Returns its exit status, or the negative number of the signal that ended it."""
        awaited = {*_PASSED_ON, signal.SIGCHLD}
        try:
            while True:
                # The time limit is for a signal that was lost.
                arrived = signal.sigtimedwait(awaited, 1.0)
                ended, status = os.waitpid(self._process, os.WNOHANG)
                if ended:
                    return os.waitstatus_to_exitcode(status)
                # The code is positive where the kernel sent it, as it does for the terminal's keys.
                if arrived and arrived.si_signo in _PASSED_ON and arrived.si_code <= 0:
                    os.kill(self._process, arrived.si_signo)
        finally:
            while signal.sigtimedwait(awaited, 0):
                pass
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)


def begin() -> Program | None:
    """Goes on in two processes. Returns None in the child, which ends when its parent is killed."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*_PASSED_ON, signal.SIGCHLD})
    parent, on_child = os.getpid(), signal.getsignal(signal.SIGCHLD)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an ignored one would take the child's status away
    with warnings.catch_warnings():
        # It would warn of the threads that NumPy's library has started, which is prepared for fork().
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return Program(child, mask)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGKILL)
    if on_child is not None:
        signal.signal(signal.SIGCHLD, on_child)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return None

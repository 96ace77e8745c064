"""numba.core.compiler_lock: what programs hold while they look at compilers. cudasim's needs no lock."""

from __future__ import annotations

import functools
import threading


class _CompilerLock:
    """A lock that a thread may take again; a decorator too."""

    def __init__(self):
        self._lock = threading.RLock()
        self._holds = threading.local()

    def acquire(self):
        self._lock.acquire()
        self._holds.depth = getattr(self._holds, "depth", 0) + 1

    def release(self):
        self._holds.depth -= 1
        self._lock.release()

    def is_locked(self):
        """Whether this thread holds it."""
        return getattr(self._holds, "depth", 0) > 0

    def __enter__(self):
        self.acquire()

    def __exit__(self, *error):
        self.release()

    def __call__(self, function):
        @functools.wraps(function)
        def locked(*args, **keywords):
            with self:
                return function(*args, **keywords)

        return locked


global_compiler_lock = _CompilerLock()


def require_global_compiler_lock() -> None:
    """:raises AssertionError: unless this thread holds the lock"""
    assert global_compiler_lock.is_locked()

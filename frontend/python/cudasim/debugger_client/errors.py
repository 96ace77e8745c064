"""What commands raise."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot be carried out; the text says why, in one sentence."""


class QuitDebugger(BaseException):
    """The debugger is to end, with this status."""

    def __init__(self, status: int | None = None) -> None:
        super().__init__(status)
        self.status = status

"""A file in memory to which a program and the processes that it forks append what `cudasim check` is to report.

What has been written survives the program's end, whichever way it ends. The process that started the program reads it.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_LENGTH = struct.Struct("<Q")


class Journal:
    """The file. The process that makes it keeps it open until it has read it."""

    def __init__(self) -> None:
        self._descriptor = os.memfd_create("cudasim check")
        fcntl.fcntl(self._descriptor, fcntl.F_SETFL, os.O_APPEND)
        self._path = f"/proc/{os.getpid()}/fd/{self._descriptor}"
        self._identity = _identity(self._descriptor)

    def append(self, entry: Any) -> None:
        """Adds an entry by one write(), so that entries of several processes and threads do not mix.

        :raises OSError: where it cannot be written
        """
        data = pickle.dumps(entry)
        if not self._is_open():
            # The program has closed the file, and another one may have its number now.
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        os.write(self._descriptor, _LENGTH.pack(len(data)) + data)

    def entries(self) -> Iterator[Any]:
        """What was written, in this order. An entry that was cut off when its process was killed is left out."""
        with open(self._path, "rb") as file:
            while len(prefix := file.read(_LENGTH.size)) == _LENGTH.size:
                (size,) = _LENGTH.unpack(prefix)
                data = file.read(size)
                if len(data) < size:
                    return
                yield pickle.loads(data)  # noqa: S301 - by our own child

    def close(self) -> None:
        """Gives the file back."""
        os.close(self._descriptor)

    def _is_open(self):
        try:
            return _identity(self._descriptor) == self._identity
        except OSError:
            return False


def _identity(descriptor):
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino

"""Where launches in Python mode find the recorder, which is a room further up (cudasim.recording). Compiled launches are recorded by the
engine (`_native.record_launches`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol


class HostRecorder(Protocol):
    """Records launches in Python mode."""

    def host_launch(self, kernel: Any, plan: Any, numbers: list) -> AbstractContextManager[None]:
        """A context manager around one launch.

        :param kernel: the PythonKernel
        :param plan: the _native.HostPlan that is launched inside
        :param numbers: the arguments as `arguments.Flattener` makes them
        """


#: None while nothing is recorded.
recorder: HostRecorder | None = None

"""Where launches in Python mode find the recorder, which is a room further up (cudasim.recording). Compiled launches are recorded by the
engine (`_native.record_launches`). Comparisons with a GPU (cudasim.comparing) begin here, where the option gpu asks for them.
"""

from __future__ import annotations

import importlib
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

_gpu = "off"  # the value of the option gpu that is in force


def apply_gpu_option(value: str) -> None:
    """Before a launch is prepared: begins or ends comparing with a GPU. :raises errors.NoGpuError: where there is none"""
    global _gpu
    if value != _gpu:
        # Loaded by its name: nothing of it is needed where the option is off.
        importlib.import_module("cudasim.comparing.option").apply(value)
        _gpu = value

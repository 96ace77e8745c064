"""The engine's device with the rule of CUDA's synchronous calls: they wait for the work in the device's streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cudasim import _native

if TYPE_CHECKING:
    from typing import Any


def _nothing_waits(device: int) -> None:
    """What holds until streams are in use."""


#: Called with a device's number before each call that waits for its streams; streams/stream_work.py registers what that means.
before_synchronous_call: Callable[[int], None] = _nothing_waits


class EngineDevice(_native.Device):
    """Copies and fills that name no stream run after everything that was enqueued before them."""

    def __init__(self, profile: dict[str, Any], memory: int, number: int, memory_base: int = 0) -> None:
        """
        :param profile: as device_profiles.profile() gives it
        :param memory: bytes that it has, if not those of the profile; 0: the profile's
        :param memory_base: where its addresses begin, if that place is free; 0: anywhere
        """
        super().__init__(_native.DeviceProfile(profile), memory, memory_base)
        self._number = number

    def contains(self, address: int, size: int) -> bool:
        """Whether the bytes are those of one live allocation; numbers of any size."""
        return 0 <= address < 1 << 64 and 0 <= size < 1 << 64 and super().contains(address, size)

    def copy_to_device(self, target: int, source: Any) -> None:
        before_synchronous_call(self._number)
        super().copy_to_device(target, source)

    def copy_to_new_memory(self, target: Any, source: Any) -> None:
        """The same for memory that nothing else knows yet."""
        super().copy_to_device(target, source)

    def copy_from_device(self, target: Any, source: int) -> None:
        before_synchronous_call(self._number)
        super().copy_from_device(target, source)

    def copy_within_device(self, target: int, source: int, count: int) -> None:
        before_synchronous_call(self._number)
        super().copy_within_device(target, source, count)

    def fill(self, target: int, value: int, count: int) -> None:
        before_synchronous_call(self._number)
        super().fill(target, value, count)

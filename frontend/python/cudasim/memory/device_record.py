"""DeviceRecord: one record in device memory, an element of an array of records or copied from a NumPy record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim.memory.device_contents import DeviceContents
from cudasim.type_system.array_layout import contiguous_strides
from cudasim.type_system.scalar_types import as_type
from cudasim.type_system.typeof import type_of_elements

if TYPE_CHECKING:
    from typing import Any


class DeviceRecord(DeviceContents):
    """A record; its fields are read and written by name, one copy each."""

    __slots__ = ()

    def __cudasim_typeof__(self) -> Any:
        return type_of_elements(self.dtype) or as_type(self.dtype)  # the latter says why there is none

    def __init__(self, dtype: Any, stream: Any = 0, gpu_data: Any = None, **where: Any) -> None:
        super().__init__((), (), dtype, stream, gpu_data, **where)

    @classmethod
    def at(cls, array: DeviceContents) -> DeviceRecord:
        """The record that is all of a device array without dimensions."""
        return cls(
            array.dtype,
            array.stream,
            array._allocation,
            address=array._address,
            device=array.device,
            foreign=array.foreign,
        )

    def __copy__(self) -> DeviceRecord:
        return DeviceRecord.at(self)

    @property
    def _numba_type_(self):
        from cudasim.type_system.numpy_support import from_dtype  # only for Numba's typeof

        return from_dtype(self.dtype)

    def _field(self, name, stream):
        """The memory of a field, as a device array."""
        fields: Any = self.dtype.fields
        try:
            dtype, offset = fields[name][:2]
        except KeyError:
            raise KeyError(
                f"{name!r}: the record has the fields {', '.join(self.dtype.names or ())}"
            ) from None
        element, shape = dtype.subdtype or (dtype, ())
        strides = contiguous_strides(shape, element.itemsize, "C")
        return self._view(shape, strides, self._address + offset, element, stream)

    def __getitem__(self, item: str) -> Any:
        return self.getitem(item)

    def getitem(self, item: str, stream: Any = 0) -> Any:
        """The field: a NumPy scalar, a device record, or a device array."""
        field = self._field(item, stream)
        if field.ndim:
            return field
        if field.dtype.names is not None:
            return DeviceRecord.at(field)
        return field._read(self._default_stream(stream), check=True)[()]

    def __setitem__(self, key: str, value: Any) -> None:
        self.setitem(key, value)

    def setitem(self, key: str, value: Any, stream: Any = 0) -> None:
        """Assigns to a field."""
        field = self._field(key, stream)
        if isinstance(value, DeviceContents):
            value = value._read()
        field._write(np.asarray(value, dtype=field.dtype), self._default_stream(stream))

"""Globals and closure variables whose values a compiled kernel keeps: numbers, tuples, strings, NumPy arrays.

As in Numba they are frozen when the kernel is compiled for the types of its arguments. A launch that finds one
changed since warns, once for each, with the place where the kernel uses it. A look costs a dictionary look-up;
arrays are compared as a whole up to 64 KiB, larger ones at 4,096 places spread over them.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from cudasim.compile.resolve import describe, dotted_name, look_up
from cudasim.reports.user_warnings import warn_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.compile.kernel_source import KernelSource

_FROZEN_KINDS = {
    "integer",
    "real",
    "complex",
    "date",
    "boolean",
    "tuple",
    "array",
    "device_array",
    "record",
    "text",
}
_WHOLE_BYTES = 1 << 16
_SAMPLES = 4096


class FrozenConstant:
    """One outer name of one function, and what it stood for."""

    __slots__ = ("function", "source", "name", "value", "description", "sample", "warned")

    def __init__(
        self, function: Callable[..., Any], source: KernelSource, name: str, description: tuple[Any, ...]
    ) -> None:
        self.function, self.source, self.name, self.description = function, source, name, description
        self.value = look_up(function, name)
        self.sample = _sample(self.value).copy() if isinstance(self.value, np.ndarray) else None
        self.warned = False

    def changed(self) -> Any:
        """Whether the name stands for another value now."""
        value = look_up(self.function, self.name)
        if self.sample is not None:
            if not isinstance(value, np.ndarray) or value.shape != self.value.shape:
                return True
            return _sample(value).tobytes() != self.sample.tobytes()
        return value is not self.value and describe(value, self.name, lambda _: 0) != self.description

    def warn(self) -> None:
        """Says so, at the line that uses it first."""
        self.warned = True
        lines = [
            node.lineno
            for node in ast.walk(self.source.node)
            if isinstance(node, (ast.Name, ast.Attribute)) and dotted_name(node) == self.name
        ]
        line = min(lines, default=self.source.node.lineno) + self.source.line_offset
        warn_at(
            "changed-constant",
            f"'{self.name}' has changed since {self.function.__name__}() was compiled; the kernel keeps the value that "
            "it had then, as in Numba: pass it as an argument, or make the kernel again",
            self.source.file,
            line,
        )


def _sample(array):
    if array.nbytes <= _WHOLE_BYTES:
        return array
    flat = array.reshape(-1)  # a copy only where the array is not contiguous
    return flat[:: max(1, flat.size // _SAMPLES)]


def frozen_constants(
    function: Callable[..., Any], source: KernelSource, descriptions: dict[Any, Any]
) -> list[FrozenConstant]:
    """The frozen constants of one function. :param descriptions: what resolve.globals_of() gives"""
    return [
        FrozenConstant(function, source, name, description)
        for name, description in descriptions.items()
        if description[0] in _FROZEN_KINDS
    ]


def warn_of_changes(constants: Any) -> None:
    """Looks at all of them."""
    for constant in constants:
        if not constant.warned and constant.changed():
            constant.warn()

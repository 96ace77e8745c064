"""The arrays of a recorded launch, and how close their elements have to be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cudasim.recording.parameters import ArrayArgument, arguments_of


class Tolerance(NamedTuple):
    """How far values may be apart. None: the default of the element's type, as torch.testing.assert_close has it
    (docs/gpu.md, "Tolerances").
    """

    rtol: float | None = None  #: relative to the GPU's value
    atol: float | None = None
    ulp: float | None = None  #: steps between neighbouring floats; given alone, only they count
    exact: bool = False  #: only the same value will do

    def checked(self, name: str) -> Tolerance:
        """Itself. :raises ValueError: for numbers that are no tolerance; `name` is whose it is"""
        for what in ("rtol", "atol", "ulp"):
            value = getattr(self, what)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{what} of {name} is {value!r}; it takes a number")
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{what} of {name} is {value!r}; it takes a finite number from 0 on")
        return self


def tolerances_of(
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    exact: bool = False,
    arrays: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Tolerance]:
    """Tolerances by the names of arrays; "" has that of all others.

    :param arrays: name of an array → its own rtol, atol, ulp, exact
    :raises ValueError: for what is no tolerance
    """
    result = {"": Tolerance(rtol, atol, ulp, exact).checked("the arrays")}
    if exact and (
        given := [name for name, value in (("rtol", rtol), ("atol", atol), ("ulp", ulp)) if value is not None]
    ):
        raise ValueError(f"exact allows no difference: leave out either exact or {' and '.join(given)}")
    if arrays is not None and not isinstance(arrays, Mapping):
        raise ValueError(f"tolerances is {arrays!r}; it takes a dictionary such as {{'y': {{'ulp': 2}}}}")
    for name, own in (arrays or {}).items():
        if not isinstance(own, Mapping):
            raise ValueError(
                f"the tolerance of {name} is {own!r}; it takes a dictionary such as {{'ulp': 2}}"
            )
        unknown = set(own) - set(Tolerance._fields)
        if unknown:
            raise ValueError(
                f"the tolerance of {name} has {', '.join(sorted(unknown))}; it takes {', '.join(Tolerance._fields)}"
            )
        result[name] = Tolerance(**own).checked(name)
    return result


def arrays_of(record: Any) -> Iterator[tuple[str, ArrayArgument]]:
    """(name, array) of each array with elements that the kernel was given, those in tuples, too: "x", "pair[0]".

    :raises errors.RecordError: for types that no kernel's arguments have
    """
    for name, _, value in arguments_of(record):
        yield from _arrays_in(name, value)


def _arrays_in(name: str, value: Any) -> Iterator[tuple[str, ArrayArgument]]:
    if isinstance(value, ArrayArgument):
        if 0 not in value.shape:
            yield name, value
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        for index, part in enumerate(value):
            yield from _arrays_in(f"{name}.{fields[index]}" if fields else f"{name}[{index}]", part)


def compared(record: Any, tolerances: Mapping[str, Tolerance]) -> list[tuple[Any, ...]]:
    """The arrays as `_native.compare_launch` takes them.

    :raises ValueError: where there is a tolerance for an array that the launch does not have
    """
    arrays = dict(arrays_of(record))
    missing = [name for name in tolerances if name and name not in arrays]
    if missing:
        known = ", ".join(arrays) or "none"
        raise ValueError(
            f"there is a tolerance for {', '.join(missing)}, but {record.display_name} has the arrays: {known}"
        )
    result = []
    for name, array in arrays.items():
        own = tolerances.get(name) or tolerances.get("") or Tolerance()
        layout = (name, array.address, str(array.dtype), list(array.shape), list(array.strides))
        result.append((*layout, own.exact, own.rtol, own.atol, own.ulp))
    return result

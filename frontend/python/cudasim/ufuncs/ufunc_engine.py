"""Layouts of generalised ufuncs, "(m,n),(n)->(m)": what they say, and what a call's shapes mean by them.

An argument's last axes are its core dimensions, named in the layout; those before are loop dimensions, over which the
function is called once per element. Rules are those of NumPy's generalised ufuncs, with numba.cuda's restriction: the
arguments' loop dimensions are equal, or absent, or a single 1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cudasim.type_system.array_layout import element_count

if TYPE_CHECKING:
    from typing import Any

_GROUPS = r"(\s*\(([^()]*)\)\s*,?)*\s*"


def parse_signature(text: str) -> tuple[list[Any], ...]:
    """(inputs, outputs) of a layout: a list of tuples of symbols each.

    :raises ValueError: for what is not a layout
    :raises NameError: for outputs with symbols that no input has
    """
    inputs, arrow, outputs = text.partition("->")
    inputs, outputs = _groups(inputs, text), _groups(outputs, text)
    known = {symbol for group in inputs for symbol in group}
    unknown = sorted({symbol for group in outputs for symbol in group} - known)
    if unknown:
        raise NameError(
            f"undefined output symbols: {','.join(unknown)}; the inputs of {text!r} have no such dimension"
        )
    return inputs, outputs


def _groups(text, whole):
    if not re.fullmatch(_GROUPS, text):
        raise ValueError(f'bad token in signature {whole!r}; a layout is written "(m,n),(n)->(m)"')
    groups = []
    for inner in re.findall(r"\(([^()]*)\)", text):
        symbols = tuple(symbol.strip() for symbol in inner.split(",") if symbol.strip())
        for symbol in symbols:
            if not symbol.isidentifier():
                raise ValueError(f"bad token in signature {whole!r}: {symbol!r} is not a name")
        groups.append(symbols)
    return groups


class GUFuncEngine:
    """What a layout says. sin, sout: symbols of inputs and outputs; nin, nout: how many they are."""

    def __init__(self, inputsig: list[Any], outputsig: list[Any]) -> None:
        self.sin, self.sout = inputsig, outputsig
        self.nin, self.nout = len(inputsig), len(outputsig)

    @classmethod
    def from_signature(cls, signature: str) -> GUFuncEngine:
        """Makes an engine of a layout's text."""
        return cls(*parse_signature(signature))

    def schedule(self, ishapes: list[Any]) -> GUFuncSchedule:
        """The shapes of a call's inputs, taken apart.

        :raises TypeError: for another number of inputs
        :raises ValueError: for shapes that do not fit the layout or each other
        """
        if len(ishapes) != self.nin:
            raise TypeError(
                f"invalid number of input arguments: {len(ishapes)} given, the layout has {self.nin}"
            )
        sizes: dict[str, int] = {}
        loops: list[Any] = []
        cores: list[Any] = []
        for number, (shape, symbols) in enumerate(zip(ishapes, self.sin), 1):
            loop, core = self._split(number, tuple(shape), symbols)
            for axis, (extent, symbol) in enumerate(zip(core, symbols), len(loop)):
                if sizes.setdefault(symbol, extent) != extent:
                    raise ValueError(
                        f"arg #{number}: shape[{axis}] mismatch argument: it is {extent}, but {symbol} is {sizes[symbol]}"
                    )
            loops.append(loop)
            cores.append(core)
        loopdims = max(loops, key=element_count) if loops else ()
        pinned = [loop != loopdims for loop in loops]
        for number, loop in enumerate(loops, 1):
            if loop not in (loopdims, (), (1,)):
                raise ValueError(
                    f"arg #{number}: outer dimension mismatch: {loop}, where another argument has {loopdims}"
                )
        outputs = [tuple(sizes[symbol] for symbol in symbols) for symbols in self.sout]
        return GUFuncSchedule(cores, outputs, loopdims, pinned)

    @staticmethod
    def _split(number, shape, symbols):
        if len(shape) < len(symbols):
            raise ValueError(
                f"arg #{number}: insufficient inner dimension: shape {shape}, and the layout asks for "
                f"{len(symbols)} ({', '.join(symbols)})"
            )
        at = len(shape) - len(symbols)
        return shape[:at], shape[at:]


class GUFuncSchedule:
    """ishapes, oshapes: core shapes of inputs and outputs. loopdims: the loop dimensions; loopn: calls of the function.
    pinned: which inputs are the same for all calls. output_shapes: whole shapes of the outputs."""

    def __init__(
        self, ishapes: list[Any], oshapes: list[Any], loopdims: tuple[int, ...], pinned: list[bool]
    ) -> None:
        self.ishapes, self.oshapes, self.loopdims, self.pinned = ishapes, oshapes, loopdims, pinned
        self.loopn = element_count(loopdims)
        self.output_shapes = [loopdims + shape for shape in oshapes]

    def __repr__(self) -> str:
        return f"GUFuncSchedule(ishapes={self.ishapes}, oshapes={self.oshapes}, loopdims={self.loopdims})"

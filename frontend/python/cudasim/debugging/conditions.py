"""Conditions of breakpoints as kernels, so that a thread that comes by evaluates them in nanoseconds.

    s[i] > 2    def condition(cudasim_condition_holds, s, i):
                    cudasim_condition_holds[()] = 1 if (s[i] > 2) else 0

The kernel compiler gives the types, the arithmetic and the checks that the expression would have in the kernel itself, and the names
around it: constants, device functions. What it does not compile, and what is more than a look at values, is evaluated by Python
(evaluation.py).
"""

from __future__ import annotations

import symtable
from typing import TYPE_CHECKING

from cudasim.debugging.expression_functions import (
    FILE,
    RESULT,
    NotCompiled,
    asks_for_thread,
    checked,
    compiled,
    known_names,
    type_of,
)
from cudasim.debugging.names_around import values_around
from cudasim.findings import SourceLocation
from cudasim.types import uint8

if TYPE_CHECKING:
    from cudasim import _native

    #: File, function and line of a statement of the function that has the breakpoint.
    Place = tuple[str, str, int]


class ConditionCompiler:
    """What the debug server calls, on any thread. What it raises is why there is no kernel."""

    #: Raised where nothing is wrong with the condition.
    left_to_python = NotCompiled

    def names_in(self, expression: str, place: Place | None = None) -> list[tuple[str, bool]]:
        """The names of an expression that are not its own, and whether each means something where no variable is called so.

        :raises SyntaxError: where the text is no expression
        """
        table = symtable.symtable(expression.strip(), FILE, "eval")
        names = list(dict.fromkeys(_outer_names(table)))
        around = _around(place, names)
        known = known_names()
        return [(name, name in known or name in around) for name in names]

    def compile(
        self, expression: str, variables: list[tuple[str, str]], place: Place | None = None
    ) -> tuple[_native.KernelImage, str, bool]:
        """A kernel of the condition, its name, and whether it asks which thread it runs in.

        :param variables: names and types (simulator/jit/debug_types.h) of those that the expression names
        :raises NotCompiled: for more than a look at values
        :raises Exception: what the kernel compiler refuses
        """
        text = expression.strip()
        names = [name for name, _ in variables]
        others = {name for name, _ in self.names_in(text)} - set(names)
        around = _around(place, others)
        value = checked(text, set(names), around)
        kinds = [type_of(kind) for _, kind in variables]
        try:
            kernel = compiled([f"{RESULT}[()] = 1 if ({text}", ") else 0"], uint8, names, kinds, around)
        except Exception as refusal:
            if not hasattr(refusal, "reason"):
                raise
            raise TypeError(" ".join(str(refusal.reason).split())) from None  # without the function's text
        return kernel.image, kernel.kernel_name, asks_for_thread(value, around)


def _around(place, names):
    return {} if place is None else values_around(SourceLocation(place[0], place[1], place[2], 0), names)


def _outer_names(table):
    """Names that a scope, or one inside it, takes from outside."""
    is_top = table.get_type() == "module"
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or is_top and not symbol.is_assigned()):
            yield symbol.get_name()
    for inner in table.get_children():
        yield from _outer_names(inner)

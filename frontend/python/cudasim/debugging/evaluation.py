"""Expressions and assignments on the variables of a stopped thread: Python's, with NumPy.

Only variables that an expression names are read, so that a condition on a number does not copy the arrays beside it. Arrays are copies;
an assignment writes back the bytes that have changed.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import enum
import json
import math
import operator
from collections import namedtuple
from types import CodeType
from typing import TYPE_CHECKING

import numpy as np

from cudasim.debugging import parts
from cudasim.debugging.compiled_expressions import CompiledExpressions
from cudasim.debugging.expression_functions import NotCompiled
from cudasim.debugging.names_around import Registers, kinds_around, names_around
from cudasim.launch import stops
from cudasim.reports.captured_variables import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cudasim import _native
    from cudasim.launch.stops import Thread

Dim3 = namedtuple("Dim3", "x y z")

_WARP_SIZE = 32
#: Elements of an array that a text shows, and characters of a text.
_MOST_ELEMENTS, _MOST_CHARACTERS = 60, 10_000


class Evaluator:
    """What the debug server calls on the launching thread. What it raises is told to the user."""

    def __init__(self) -> None:
        self._compiled = CompiledExpressions()

    def evaluate(
        self, launch: _native.StoppedLaunch, thread: Thread, frame: int, expression: str
    ) -> tuple[str, str, bool, str]:
        """The value's text and type, whether it counts as true, and why that cannot be said ("" where it can)."""
        code = compile(expression.strip(), "<debugger>", "eval")
        try:
            value = self._compiled.value(launch, thread, frame, expression)
        except NotCompiled:
            names = _namespace(launch, thread, frame, code)[0]
            with _unassigned_names_told(launch, thread, frame):
                value = eval(code, names)  # noqa: S307 - the user of a debugger evaluates expressions
        try:
            truth, doubt = bool(value), ""
        except ValueError as error:  # an array's
            truth, doubt = False, str(error)
        return _text(value), _type_name(value), truth, doubt

    def assign(
        self, launch: _native.StoppedLaunch, thread: Thread, frame: int, target: str, value: str
    ) -> tuple[str, str, bool, str]:
        """target = value; the target's new value as evaluate() gives it.

        :param value: an expression, or further targets and an expression: "b = i + 1"
        :raises ValueError: where the value does not fit, or the target cannot be set
        """
        read_target = compile(target.strip(), "<debugger>", "eval")
        statement = f"{target.strip()} = {value.strip()}"
        tree = ast.parse(statement, "<debugger>")
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Assign):
            raise SyntaxError(f"'{value.strip()}' is no expression")
        names, variables = _namespace(launch, thread, frame, compile(statement, "<debugger>", "exec"))
        code = compile(parts.rewritten(tree, names), "<debugger>", "exec")
        before = {name: (names[name], _contents(variable)) for name, variable in variables.items()}
        others = {name: value for name, value in names.items() if name not in variables}
        with _unassigned_names_told(launch, thread, frame):
            exec(code, around := {**parts.HELPERS, **names})  # noqa: S102
        names = {name: value for name, value in around.items() if not parts.is_own(name)}
        for name in set(names) - set(variables) - {"__builtins__"}:
            if name not in others:
                raise ValueError(f"there is no variable {name!r} here")
            if names[name] is not others[name]:
                raise ValueError(f"{name} is no variable of the kernel's, and cannot be set")
        for name, variable in variables.items():
            _write_back(launch, thread, frame, variable, names[name], *before[name])
        names, _ = _namespace(launch, thread, frame, read_target)  # what has been kept of it
        shown = eval(read_target, names)  # noqa: S307
        return _text(shown), _type_name(shown), False, ""

    def names_around(
        self, launch: _native.StoppedLaunch, thread: Thread, frame: int
    ) -> list[tuple[str, str]]:
        """What expressions know besides variables and special registers: names, and "function", "module" or "value"."""
        places = stops.location(launch, thread)
        return kinds_around(places[frame]) if frame < len(places) else []


@contextlib.contextmanager
def _unassigned_names_told(launch, thread, frame):
    """A NameError says so where the name is a variable that has no value yet."""
    try:
        yield
    except NameError as error:
        if error.name is None or not launch.declares(thread, frame, error.name):
            raise
        raise NameError(
            f"{error.name!r} is not assigned yet: go on to a statement behind its assignment"
        ) from None


def _names_in(code: CodeType) -> Iterator[str]:
    """Names that code reads or writes, also in comprehensions and lambdas."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _namespace(launch, thread, frame, code):
    """({name: value}, {name: variable}) of what the code names."""
    wanted = set(_names_in(code))
    variables = stops.variables_in(launch, thread, frame, wanted)
    registers = _special_registers(launch, thread)
    kinds = {variable["name"]: variable["type"] for variable in variables}
    values = {
        name: _with_members(
            parts.with_names(json.loads(kinds[name]), value) if type(value) is tuple else value
        )
        for name, value in stops.values_of(variables, frame).items()
    }
    names = {"math": math, "np": np, "numpy": np, **registers, **values}
    unknown = wanted - set(names) - set(vars(builtins))
    places = stops.location(launch, thread) if unknown else []
    if frame < len(places):
        names.update(names_around(places[frame], unknown, registers["cuda"]))
    return names, {variable["name"]: variable for variable in variables}


def _with_members(value):
    """Records whose fields are attributes, as in kernels."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    if isinstance(value, np.void) and value.dtype.names:
        return value.view((np.record, value.dtype))
    return value


def _special_registers(launch, thread):
    thread_index, block_index = launch.coordinate(thread)
    grid, block = launch.configuration
    registers = {
        "threadIdx": Dim3(*thread_index),
        "blockIdx": Dim3(*block_index),
        "blockDim": Dim3(*block),
        "gridDim": Dim3(*grid),
        "laneid": thread[1] % _WARP_SIZE,
        "warpsize": _WARP_SIZE,
    }
    return {**registers, "cuda": Registers(**registers)}


# -- assignment -------------------------------------------------------------------------------------------


def _contents(variable):
    return None if variable["contents"] is None else bytes(variable["contents"])


def _write_back(launch, thread, frame, variable, value, value_before, contents_before):
    name = variable["name"]
    if contents_before is not None:
        if value is not value_before:
            raise ValueError(f"the array {name} cannot be replaced; assign to its elements: {name}[:] = ...")
        for first, run in _changed_runs(contents_before, variable["contents"]):
            if not launch.write(thread, variable["contents_address"] + first, run):
                raise ValueError(f"the thread may not write to {name}")
    elif value is not value_before:
        data = _encoded(json.loads(variable["type"]), value, name)
        # Debug information leaves out what follows a tuple's last element up to the next one in an array.
        data = data.ljust(len(variable["value"] or b""), b"\0")
        if not launch.set_variable(thread, frame, name, data):
            raise ValueError(f"{name} cannot be set here")


def _changed_runs(before, after):
    """(offset, bytes) of what differs; gaps of less than a word are written, too."""
    old, new = np.frombuffer(before, np.uint8), np.frombuffer(after, np.uint8)
    changed = np.flatnonzero(old != new)
    if not changed.size:
        return
    for run in np.split(changed, np.flatnonzero(np.diff(changed) > 1) + 1):
        first, end = int(run[0]), int(run[-1]) + 1
        yield first, bytes(after[first:end])


def _encoded(kind, value, name):
    """The bytes of a value of a type (simulator/jit/debug_types.h)."""
    what, type_name = kind["kind"], kind.get("name", "")
    if what == "alias":
        return _encoded(kind["of"], value, name)
    if type_name.startswith(("datetime64", "timedelta64")):
        return np.asarray(value, type_name).tobytes()
    if what in ("signed", "unsigned", "bool"):
        value = value.value if isinstance(value, enum.Enum) else value
        if isinstance(value, (float, complex, np.inexact)):
            raise ValueError(f"{_text(value)} is no whole number, and {name} is {type_name}")
        number = operator.index(value) if not isinstance(value, (bool, np.bool_)) else int(value)
        dtype = np.dtype(f"{'i' if what == 'signed' else 'u'}{kind['bytes']}")
        limits = np.iinfo(dtype)
        if what == "bool":
            number = int(bool(number))
        if not limits.min <= number <= limits.max:
            raise ValueError(f"{number} does not fit into {name}, which is {type_name}")
        return np.array(number, dtype).tobytes()
    if what == "float" and type_name != "bfloat16":
        return np.array(float(value), f"f{kind['bytes']}").tobytes()
    if what == "complex":
        return np.array(complex(value), f"c{kind['bytes']}").tobytes()
    if what == "struct":
        return _encoded_tuple(kind, value, name)
    raise ValueError(f"{name} cannot be set: it is {type_name or what}")


def _encoded_tuple(kind, value, name):
    members = kind["members"]
    names = {each for each, _, _ in members}
    if "present" in names or {"data", "shape"} <= names or kind["name"].startswith("range") or not members:
        raise ValueError(
            f"{name} cannot be set: compiled code reads a value of type {kind['name']} elsewhere"
        )
    if not isinstance(value, (tuple, list)) or len(value) != len(members):
        shown = f"a tuple of {len(value)}" if isinstance(value, (tuple, list)) else _text(value)
        raise ValueError(f"{name} is a tuple of {len(members)}, and the value is {shown}")
    data = bytearray(kind["bytes"])
    for (member, offset, of), each in zip(members, value):
        part = f"{name}[{member[1:]}]" if member[1:].isdigit() else f"{name}.{member}"
        encoded = _encoded(of, each, part)
        data[offset : offset + len(encoded)] = encoded
    return bytes(data)


# -- texts ------------------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, separator=", ", threshold=_MOST_ELEMENTS, edgeitems=3)
        text = " ".join(text.split())
    elif isinstance(value, np.void):
        text = str(value.view(_plain_dtype(value)))
    elif isinstance(value, np.generic):
        text = repr(value.item()) if value.dtype.kind in "SUMm" else str(value)
    elif isinstance(value, tuple) and type(value) is tuple:
        text = "(" + ", ".join(map(_text, value)) + (",)" if len(value) == 1 else ")")
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        named = (f"{name}={_text(each)}" for name, each in zip(value._fields, value))
        text = "(" + ", ".join(named) + ")"
    elif isinstance(value, list):
        text = "[" + ", ".join(map(_text, value)) + "]"
    else:
        text = repr(value)
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "..."


def _type_name(value):
    if isinstance(value, Unavailable):
        return "unknown"
    if isinstance(value, np.ndarray):
        return f"array({_plain_dtype(value)}, {value.ndim}d) shape {value.shape}"
    return str(_plain_dtype(value)) if isinstance(value, np.generic) else type(value).__name__


def _plain_dtype(value):
    return np.dtype((np.void, value.dtype)) if value.dtype.names else value.dtype

"""Numba's further names of numbers: those of C, NumPy and Python, and sets of types ("domains")."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp", "uintp")
#: NumPy's and C's names; each is there without the prefix too.
_NUMPY = ("bool_", "char", "uchar", "short", "ushort", "int_", "uint", "intc", "uintc", "long", "ulong", "longlong", "ulonglong",
          "double", "complex64", "complex128", "float16", "float32", "float64", *_INTEGERS)  # fmt: skip
_C = ("float16", "float32", "float64", *_INTEGERS)


def names(known: dict[str, Any]) -> dict[str, Any]:
    """Name → type, or set of types.

    :param known: the types by their own names
    """
    signed = frozenset(known[f"int{bits}"] for bits in (8, 16, 32, 64))
    unsigned = frozenset(known[f"uint{bits}"] for bits in (8, 16, 32, 64))
    real = frozenset((known["float32"], known["float64"]))
    complexes = frozenset((known["complex64"], known["complex128"]))
    domains = {"signed": signed, "unsigned": unsigned, "integer": signed | unsigned, "real": real, "complex": complexes,
               "number": signed | unsigned | real | complexes}  # fmt: skip
    found = {f"{name}_domain": domain for name, domain in domains.items()}
    found |= {f"np_{name}_domain": domain for name, domain in domains.items()}
    found |= {f"py_{name}_domain": domain for name, domain in domains.items() if name != "unsigned"}
    found |= {f"np_{name}": known[{"long": "long_"}.get(name, name)] for name in _NUMPY}
    found |= {f"c_{name}": known[name] for name in _C} | {
        "c_bool": known["boolean"],
        "np_float_": known["float32"],
    }
    python = {"bool": "boolean", "int": "intp", "float": "float64", "complex": "complex128"}
    return found | {f"py_{name}": known[plain] for name, plain in python.items()}

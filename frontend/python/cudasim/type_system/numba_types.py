"""cudasim's types as the objects of a real numba that programs have imported: what its users compare and ask."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

from cudasim.type_system import added_types, container_types, scalar_types, value_types
from cudasim.type_system.element_types import Record

if TYPE_CHECKING:
    from typing import Any


def real_numba_types() -> Any:
    """The module numba.core.types of a real numba that has been imported, or None."""
    if getattr(sys.modules.get("numba"), "__cudasim_stand_in__", False):
        return None
    return sys.modules.get("numba.core.types")


def public(kind: Any) -> Any:
    """A type as users see it: Numba's own object where numba has been imported and has one, else ours."""
    numba_types = real_numba_types()
    found = None if numba_types is None else numba_type(numba_types, kind)
    return kind if found is None else found  # not `or`: the type of () is empty itself


def public_types(kinds: Any) -> tuple[Any, ...]:
    """Types as users see them."""
    return tuple(map(public, kinds))


def numba_type(numba_types: Any, own: Any) -> Any:
    """Numba's object for one of our types, or None where it has none.

    :param numba_types: the module numba.core.types
    """
    for kind, make in _makers().items():
        if isinstance(own, kind):
            return make(numba_types, own)
    if own.name == "bool":
        return numba_types.boolean
    if own.name in ("Dim3", "GridGroup"):
        return device_types()[own.name.lower() if own.name == "Dim3" else "grid_group"]
    found = getattr(numba_types, own.name, None)
    return found if isinstance(found, numba_types.Type) else None


def device_types() -> dict[str, Any]:
    """Dim3, GridGroup, dim3 and grid_group, name → object: Numba's kind of types where numba has been imported, else ours."""
    numba_types = real_numba_types()
    if numba_types is not None:
        return _device_types(numba_types)
    return {name: getattr(value_types, name) for name in ("Dim3", "GridGroup", "dim3", "grid_group")}


@functools.cache
def _device_types(numba_types):
    made = {}
    for name, instance in (("Dim3", "dim3"), ("GridGroup", "grid_group")):
        # They are where numba-cuda has them, so that they count as Numba's.
        made[name] = type(
            name, (numba_types.Type,), {"__module__": "numba.cuda.types", "__doc__": f"The type {name}."}
        )
        made[instance] = made[name](name)
    return made


def _array(numba_types, own):
    element = numba_type(numba_types, own.dtype)
    if element is None:
        return None
    return numba_types.Array(element, own.ndim, own.layout, readonly=own.readonly, aligned=own.aligned)


def _tuple(numba_types, own):
    elements = [numba_type(numba_types, each) for each in own.types]
    if None in elements:
        return None
    return numba_types.BaseTuple.from_types(elements, getattr(own, "instance_class", None))


def _record(numba_types, own):
    from numba.np.numpy_support import from_dtype  # numba may be absent

    return from_dtype(own.dtype)


def _member(numba_types, own):
    if own.instance_class is None:
        return None
    kind = (
        numba_types.IntEnumMember
        if isinstance(own, container_types.IntEnumMember)
        else numba_types.EnumMember
    )
    return kind(own.instance_class, numba_type(numba_types, own.dtype))


def _optional(numba_types, own):
    inner = numba_type(numba_types, own.type)
    return None if inner is None else numba_types.Optional(inner)


def _pointer(numba_types, own):
    pointee = numba_type(numba_types, own.dtype)
    return None if pointee is None else numba_types.CPointer(pointee)


def _type_value(numba_types, own):
    inner = numba_type(numba_types, own.instance_type)
    return None if inner is None else numba_types.NumberClass(inner)


def _type_reference(numba_types, own):
    inner = numba_type(numba_types, own.instance_type)
    return None if inner is None else numba_types.TypeRef(inner)


@functools.cache
def _bfloat16(numba_types):
    """numba-cuda's type, which Numba lacks: signatures of Numba's types (`float32(bfloat16)`) take Numba's types only."""

    class Bfloat16(numba_types.Number):  # type: ignore[name-defined]  # a module that is known when it runs
        bitwidth = 16

        def __init__(self):
            super().__init__(name="__nv_bfloat16")

    Bfloat16.__module__ = "numba.cuda.types.ext_types"
    return Bfloat16()


@functools.cache
def _makers():
    return {
        value_types.Literal: lambda numba_types, own: numba_types.literal(own.literal_value),
        value_types.Optional: _optional,
        value_types.Omitted: lambda numba_types, own: numba_types.Omitted(own.value),
        value_types.SliceType: lambda numba_types, own: (
            numba_types.slice3_type if own.has_step else numba_types.slice2_type
        ),
        value_types.EllipsisType: lambda numba_types, own: numba_types.ellipsis,
        value_types.CharSeq: lambda numba_types, own: numba_types.CharSeq(own.count),
        value_types.UnicodeCharSeq: lambda numba_types, own: numba_types.UnicodeCharSeq(own.count),
        value_types.NumberClass: _type_value,
        value_types.TypeRef: _type_reference,
        scalar_types.NPTimedelta: lambda numba_types, own: numba_types.NPTimedelta(own.unit),
        scalar_types.NPDatetime: lambda numba_types, own: numba_types.NPDatetime(own.unit),
        scalar_types.Bfloat16: lambda numba_types, own: _bfloat16(numba_types),
        container_types.Array: _array,
        container_types.BaseTuple: _tuple,
        Record: _record,
        added_types.AddedType: lambda numba_types, own: own.numba_type,
        container_types.EnumMember: _member,
        container_types.CPointer: _pointer,
    }

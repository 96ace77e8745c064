"""Type objects with Numba's names: `float32`, `float32[:, ::1]`, `void(float32[:], int32)`.

Types that are equal are the same object. What the kernel compiler reads is `name_of` a type ("array(float32, 2d, C)");
str() is Numba's name, which does not always say enough ("Point(int64, float64)"). `as_type` takes Numba's own type objects, NumPy
dtypes and Python's int, float and bool too, without importing numba.
"""

from __future__ import annotations

from cudasim.type_system import plain_types, type_aliases
from cudasim.type_system.added_types import AddedType, is_added  # noqa: F401
from cudasim.type_system.container_types import (  # noqa: F401
    Array,
    ArrayCompatible,
    BaseAnonymousTuple,
    BaseNamedTuple,
    BaseTuple,
    Buffer,
    CompilerType,
    ConstSized,
    Container,
    CPointer,
    Dummy,
    EnumMember,
    IntEnumMember,
    IterableType,
    NamedTuple,
    NamedUniTuple,
    NoneType,
    Opaque,
    RawPointer,
    Sequence,
    Sized,
    Tuple,
    UnionType,
    UniTuple,
    array_name,
    member_type,
    named_tuple_name,
    note_class,
    tuple_name,
)
from cudasim.type_system.element_types import Record  # noqa: F401
from cudasim.type_system.numba_types import public, public_types, real_numba_types  # noqa: F401
from cudasim.type_system.plain_types import *  # noqa: F403
from cudasim.type_system.scalar_types import (  # noqa: F401
    ALIASES,
    Bfloat16,
    Boolean,
    Complex,
    Float,
    Hashable,
    Integer,
    NPDatetime,
    NPTimedelta,
    Number,
    Scalar,
    Type,
    as_type,
    is_numba_type,
    is_type_like,
)
from cudasim.type_system.signatures import Signature, is_signature, parse_signature  # noqa: F401
from cudasim.type_system.type_names import (  # noqa: F401
    dtype_of,
    evaluate,
    from_compiler,
    from_dtype,
    name_of,
    parse_type,
    type_named,
)

globals().update(type_aliases.names(vars(plain_types)))

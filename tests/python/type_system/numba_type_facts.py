"""What numba.cuda's type objects answer, as JSON: {"usual": [facts], "types": {"expression": {"str": …, …}, …}}.

Runs with Numba's types and with cudasim's (test_types_as_numba.py). Answers that most types give are left out (USUAL).
"""

import collections
import copy
import enum
import json
import pickle
import sys

import numpy as np
from numba.cuda import types as t
from numba.cuda.np.numpy_support import from_dtype  # noqa: F401 - expressions use it
from numba.cuda.typing.typeof import typeof  # noqa: F401

Point = collections.namedtuple("Point", "x y")
Colour = enum.Enum("Colour", "red green", module=__name__)
Number = enum.IntEnum("Number", "one two", module=__name__)
packed = np.dtype([("a", np.int32), ("b", np.float64), ("m", np.int16, (2, 3))])
titled = np.dtype({"names": ["a", "b"], "formats": ["i4", "f8"], "titles": ["alpha", None]})
padded = np.dtype([("a", np.int8), ("b", np.float64)], align=True)
nested = np.dtype([("in", packed), ("name", "U4"), ("tag", "S3"), ("when", "M8[D]"), ("z", "c16")])


def a_function(x):
    return x


EXPRESSIONS = """
t.int8
t.uint64
t.intp
t.boolean
t.float16
t.float32
t.complex64
t.complex128
t.none
t.void
t.Integer.from_bitwidth(16)
t.Integer.from_bitwidth(32, False)
t.Integer("int32")
t.Float("float32")
t.Boolean("bool")
t.Complex("complex128", t.float64)
t.NPDatetime("D")
t.NPTimedelta("ms")
t.NPDatetime("")
t.unicode_type
t.string
t.slice2_type
t.slice3_type
t.ellipsis
t.voidptr
t.pyobject
t.ffi_forced_object
t.undefined
t.unknown
t.code_type
t.pyfunc_type
t.Any
t.py2_string_type
t.range_state32_type
t.range_state64_type
t.unsigned_range_state64_type
t.range_iter32_type
t.Array(t.float32, 1, "C")
t.Array(t.float32, 2, "F", readonly=True)
t.Array(t.float32, 2, "A", True, aligned=False)
t.Array(t.float32, 0, "C")
t.Array(t.NPDatetime("D"), 1, "C")
t.Array(t.UnicodeCharSeq(4), 1, "A")
t.Array(t.complex64, 3, "A")
t.Array(from_dtype(packed), 1, "C")
t.Array(from_dtype(padded), 1, "C")
t.Array(t.Array(t.int8, 1, "C"), 1, "C")
t.Array(dtype=t.int32, ndim=1, layout="C").copy(ndim=2, layout="F")
t.Array(t.int32, 1, "C").copy(dtype=t.int8, readonly=True)
t.float32[:]
t.float32[:, ::1]
t.float32[::1, :]
t.int8[::1]
t.boolean[:]
t.int32[...]
t.NestedArray(t.int32, (2, 3))
t.NestedArray(t.float64, (4,))
t.NestedArray(t.NestedArray(t.int8, (2,)), (3,))
t.Array(t.NestedArray(t.int8, (2,)), 1, "C")
t.float32[:][:]
t.NestedArray(dtype=t.int8, shape=(2,)).copy()
t.UniTuple(t.int64, 3)
t.UniTuple(dtype=t.int64, count=0)
t.UniTuple(t.UniTuple(t.int8, 2), 2)
t.UniTuple(t.float32[:], 2)
t.Tuple((t.int64, t.float32))
t.Tuple((t.int64, t.int64))
t.Tuple(())
t.Tuple(types=(t.int64,))
t.Tuple([t.int8, t.Tuple((t.int8, t.float32))])
t.NamedTuple((t.int64, t.float64), Point)
t.NamedTuple((t.int64, t.int64), Point)
t.NamedUniTuple(t.int64, 2, Point)
t.Tuple((t.NamedUniTuple(t.int64, 2, Point), t.int8))
t.BaseTuple.from_types((t.int64, t.int64))
t.BaseTuple.from_types((t.int64, t.int8))
t.BaseTuple.from_types((t.int64, t.int64), Point)
t.BaseTuple.from_types((t.int64, t.int8), Point)
t.BaseTuple.from_types(())
t.StarArgTuple((t.int8, t.float32))
t.StarArgUniTuple(t.int8, 2)
t.NamedTupleClass(Point)
t.EnumMember(Colour, t.int64)
t.IntEnumMember(Number, t.int64)
t.EnumClass(Colour, t.int64)
t.IntEnumClass(Number, t.int64)
t.Literal(3)
t.literal(3)
t.literal(-1)
t.literal(2**63)
t.literal(True)
t.literal("abc")
t.IntegerLiteral(7)
t.BooleanLiteral(False)
t.StringLiteral("x")
t.literal(slice(1, 2))
t.SliceLiteral(slice(1, 2))
t.SliceLiteral(slice(1, 2, 3))
t.unliteral(t.literal(3))
t.unliteral(t.literal("s"))
t.unliteral(t.int8)
t.unliteral(t.Omitted(3))
t.unliteral(t.Tuple((t.literal(3), t.int8)))
t.Optional(t.float64)
t.Optional(t.float32[:])
t.Optional(t.literal(3))
t.optional(t.int8)
t.Omitted(None)
t.Omitted(3)
t.Omitted(2.5)
t.Omitted("text")
t.Omitted((1, 2))
t.DType(t.float32)
t.DType(t.int64)
t.DType(from_dtype(packed))
t.NumberClass(t.float32)
t.TypeRef(t.float32)
t.TypeRef(t.float32[:])
t.CharSeq(3)
t.UnicodeCharSeq(4)
t.CharSeq(count=0)
t.CPointer(t.float32)
t.CPointer(t.float32, addrspace=3)
t.CPointer(t.void)
t.CPointer(t.CPointer(t.int8))
t.RawPointer("void*")
t.EphemeralPointer(t.int8)
t.EphemeralArray(t.int8, 4)
t.Opaque("thing")
t.Dummy("thing")
t.Phantom("thing")
t.Type("thing")
t.Undefined("thing")
t.VarArg(t.int8)
t.Module(sys)
t.PyObject("pyobject")
t.MemInfoPointer(t.voidptr)
t.Pair(t.int8, t.float32)
t.Record.make_c_struct([("a", t.int32), ("b", t.float64)])
t.Record([("a", {"type": t.int32, "offset": 4})], 8, False)
t.Record([("a", {"type": t.int32, "offset": 0}), ("n", {"type": t.NestedArray(t.int8, (2,)), "offset": 4})], 6, False)
from_dtype(packed)
from_dtype(titled)
from_dtype(padded)
from_dtype(nested)
from_dtype(np.dtype("U5"))
from_dtype(np.dtype("S5"))
from_dtype(np.dtype("M8[ns]"))
from_dtype(np.dtype("m8"))
from_dtype(np.dtype((np.int32, (2, 2))))
from_dtype(np.dtype("bool"))
typeof(1)
typeof(2**63)
typeof(1.5)
typeof(True)
typeof(1j)
typeof(np.float32(1))
typeof(None)
typeof("a")
typeof(...)
typeof(slice(1, 2))
typeof(slice(1, 2, 3))
typeof(np.float32)
typeof(t.int32)
typeof(t.float32[:])
typeof(np.dtype("f4"))
typeof(np.dtype("i4,f8"))
typeof((1, 2))
typeof((1, 2.5))
typeof(())
typeof(Point(1, 2))
typeof(Point(1, 2.5))
typeof(Colour.red)
typeof(Number.one)
typeof(Colour)
typeof(Number)
typeof(Point)
typeof(np.zeros(3))
typeof(np.zeros((2, 3), "f4", order="F"))
typeof(np.zeros(4)[::2])
typeof(np.zeros(2, packed))
typeof(np.zeros(2, packed)[0])
typeof(np.zeros(2, padded))
typeof(np.zeros(2, "U3"))
typeof(np.frombuffer(b"abcd", "u1"))
typeof(np)
typeof(b"abc")
typeof(bytearray(b"abc"))
typeof(range(3))
typeof([1, 2])
typeof([])
typeof(t.NPDatetime("D"))
typeof(t.boolean)
typeof(t.UniTuple(t.int8, 2))
t.int8[::1, ::1]
typeof({1, 2})
typeof(len)
typeof(ValueError)
t.Bytes(t.uint8, 1, "C")
t.ByteArray(t.uint8, 1, "C")
t.MemoryView(t.uint8, 1, "C")
t.PyArray(t.uint8, 1, "C")
t.List(t.int64)
t.List(t.int64, reflected=True)
t.Set(t.int64)
t.ListType(t.int64)
t.DictType(t.int64, t.float32)
t.RangeType(t.int32)
t.RangeIteratorType(t.int32)
t.UniTupleIter(t.UniTuple(t.int8, 2))
t.ArrayIterator(t.int8[:])
t.NumpyFlatType(t.int8[:])
t.NumpyNdIndexType(2)
t.NumpyNdEnumerateType(t.int8[:])
t.EnumerateType(t.int8[:])
t.ZipType([t.int8[:], t.int8[:]])
t.UnicodeIteratorType(t.unicode_type)
t.ArrayFlags(t.int8[:])
t.ArrayCTypes(t.int8[:])
t.ExceptionClass(ValueError)
t.ExceptionInstance(ValueError)
t.ExternalFunction("f", t.int8(t.float32))
t.ExternalFunctionPointer(t.int8(t.float32), get_pointer=a_function)
t.FunctionType(t.int8(t.float32))
t.FunctionPrototype(t.int8, (t.float32,))
t.UndefinedFunctionType(1, {1})
t.ContextManager(Point)
t.UnionType([t.int8, t.float32])
t.LiteralStrKeyDict({t.literal("a"): t.int8})
t.LiteralList((t.int8, t.float32))
t.Poison(t.int8)
t.UndefVar("x")
t.int32(t.float32)
t.int32(t.float32, t.int8[:])
t.void(t.float32[:])
t.void()
""".strip().splitlines()

ATTRIBUTES = """bitwidth signed minval maxval dtype ndim layout count mutable aligned reflected is_internal is_c_contig is_f_contig
is_contig shape nitems size strides types fields instance_class instance_type literal_value literal_type type value unit unit_code
underlying_float key has_step members member_type args return_type pysig recvr slice_is_copy addrspace pymod yield_type nargs
ftype symbol sig first_type second_type item_type key_type value_type exc_class""".split()
#: Answers of most types, which are left out.
USUAL = {"mutable": "False", "reflected": "False", "is_internal": "True", "len": "raises TypeError", "is_precise": "True",
         "elements": None, "addrspace": "None", "slice_is_copy": "False"}  # fmt: skip
CLASSES = """Array ArrayCompatible BaseAnonymousTuple BaseNamedTuple BaseTuple Boolean BooleanLiteral Buffer CPointer Callable CharSeq
Complex ConstSized Container Dummy EllipsisType EnumClass EnumMember Float Hashable IntEnumClass IntEnumMember Integer IntegerLiteral
IterableType IteratorType Literal NPDatetime NPTimedelta NamedTuple NamedTupleClass NamedUniTuple NestedArray NoneType Number
NumberClass Omitted Opaque Optional Phantom RawPointer Record Sequence SimpleIterableType SimpleIteratorType Sized SliceLiteral
SliceType StringLiteral Tuple Type TypeRef UniTuple UnicodeCharSeq UnicodeType DTypeSpec DType BaseFunction Function
MutableSequence""".split()


def shown(value):
    """A text without addresses."""
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(shown, value))) + "}"
    text = repr(value)
    return "(an object)" if " at 0x" in text else text


def outcome(ask):
    """What a call gives, as a text; of what it raises the class."""
    try:
        return shown(ask())
    except Exception as error:  # noqa: BLE001 - the class is the answer
        return f"raises {type(error).__name__}"


def is_kind(value, name):
    kind = getattr(t, name, None)
    return isinstance(kind, type) and isinstance(value, kind)


def facts(expression):
    names = globals()
    try:
        first, second = eval(expression, names), eval(expression, names)  # noqa: S307
    except Exception as error:  # noqa: BLE001 - the class is the answer
        return {"raises": type(error).__name__}
    found = {
        "class": type(first).__name__,
        "str": str(first),
        "repr": shown(first),
        "name": getattr(first, "name", str(first)),
        "one object": first is second,
        "equal": first == second and hash(first) == hash(second) and not first != second,
        "others are not equal": first != str(first) and first != t.uint16 and first != 1,
        "copies": outcome(lambda: [pickle.loads(pickle.dumps(first)) is first, copy.copy(first) is first,
                                   copy.deepcopy(first) is first]),
        "len": outcome(lambda: len(first)),
        "elements": outcome(lambda: list(first)) if isinstance(first, t.BaseTuple) else None,
        "is_precise": outcome(lambda: first.is_precise()),
        "kinds": " ".join(name for name in CLASSES if is_kind(first, name)),
    }  # fmt: skip
    for attribute in ATTRIBUTES:
        answer = outcome(lambda attribute=attribute: getattr(first, attribute))
        if answer != "raises AttributeError":
            found[attribute] = answer
    return {what: answer for what, answer in found.items() if answer != USUAL.get(what, ...)}


if __name__ == "__main__":
    answers = {expression: facts(expression) for expression in EXPRESSIONS}
    json.dump({"usual": sorted(USUAL), "types": answers}, sys.stdout, indent=1)
    print()

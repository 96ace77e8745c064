"""Types: Numba's names in every form in which a user gives them, and the types of arguments."""

import array
import collections
import decimal
import enum
import fractions

import numpy as np
import pytest
from cudasim import cuda, errors, options, types
from cudasim.launch.arguments import converter, convertible, struct_format
from cudasim.type_system import type_names
from cudasim.type_system.typeof import typeof


class Colour(enum.Enum):
    red = 1


class Number(enum.IntEnum):
    one = 1


Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "given, name",
    [
        (types.float32[:], "array(float32, 1d, A)"),
        (types.float32[:, ::1], "array(float32, 2d, C)"),
        (types.float32[::1, :], "array(float32, 2d, F)"),
        (types.int8[::1], "array(int8, 1d, C)"),
        (types.boolean, "bool"),
        (types.intp, "int64"),
        (np.float64, "float64"),
        (np.dtype("u2"), "uint16"),
        (np.bool_, "bool"),
        (int, "int64"),
        (float, "float64"),
        (bool, "bool"),
        ("f4", "float32"),
        ("int32[:, :]", "array(int32, 2d, A)"),
        ("array(int32, 3d, F)", "array(int32, 3d, F)"),
        (types.UniTuple(types.int64, 2), "UniTuple(int64 x 2)"),
        (types.Tuple((types.int8, types.f8)), "Tuple(int8, float64)"),
    ],
)
def test_type_names_are_numbas(given, name):
    assert types.name_of(given) == name
    assert types.name_of(name) == name


@pytest.mark.parametrize(
    "signature, arguments, returns",
    [
        ("void(float32[:], int32)", ("array(float32, 1d, A)", "int32"), "none"),
        ("(float64[:, ::1], i8)", ("array(float64, 2d, C)", "int64"), None),
        ((types.float32[:], types.uint8), ("array(float32, 1d, A)", "uint8"), None),
        (types.void(types.float32), ("float32",), "none"),
        ("void()", (), "none"),
        ("int32(int32)", ("int32",), "int32"),
        ("types.int32(types.int32)", ("int32",), "int32"),
    ],
)
def test_signatures_in_every_form(signature, arguments, returns):
    given, result = types.parse_signature(signature)
    assert all(isinstance(kind, types.Type) for kind in given)
    assert (tuple(map(str, given)), None if result is None else str(result)) == (arguments, returns)


@pytest.mark.parametrize(
    "text, refusal",
    [
        ("void(float33)", NameError),
        ("void(float32[:)", SyntaxError),
        ("__import__('os')", NameError),
        ("float32[1:]", TypeError),
    ],
)
def test_wrong_signatures_are_refused(text, refusal):
    with pytest.raises(refusal):
        types.parse_signature(text)


def test_numbas_own_types_convert_by_name(run_with_numba):
    done = run_with_numba.script(
        """
        import numba, numpy as np
        from numba import types as n
        from cudasim import types
        from cudasim.type_system.typeof import typeof
        for t in (n.float32[:], n.int8[:, ::1], n.boolean, n.UniTuple(n.int64, 2), n.Tuple((n.int8, n.float64)), n.intp):
            assert types.name_of(t) == str(t), t
        assert types.parse_signature(n.void(n.float32[:], n.int32)) == ((types.float32[:], types.int32), types.none)
        read_only = n.Array(n.float32, 1, "C", readonly=True, aligned=False)
        assert types.parse_signature((read_only,))[0] == (types.Array(types.float32, 1, "C", True, aligned=False),)
        assert types.public(types.as_type(read_only)) is read_only
        for v in (1, -2**63, 2**63, True, 1.5, np.int8(1), np.float32(1), np.zeros((2, 3)), np.zeros((2, 3), "f4").T,
                  (1, 2), (1, 2.0), ((1, 2), 3), np.bool_(1), np.array(1.0), np.zeros((1, 5)), np.zeros((5, 1))):
            assert str(typeof(v)) == str(numba.typeof(v)), (v, typeof(v), numba.typeof(v))
            assert types.as_type(numba.typeof(v)) is typeof(v), v
        print("same")
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.strip() == "same", done.stderr


def test_bfloat16_is_a_type_of_numbas_beside_numba(run_with_numba):
    done = run_with_numba.script(
        """
        import numpy as np
        from numba import cuda, types
        from numba.cuda.bf16 import bfloat16, hadd
        assert isinstance(bfloat16, types.Number) and bfloat16 is cuda.bfloat16 is cuda.types.bfloat16
        @cuda.jit(types.float32(bfloat16, bfloat16), device=True)
        def add(a, b):
            return hadd(a, b)
        @cuda.jit(types.void(types.float32[::1]))
        def kernel(out):
            out[0] = add(bfloat16(1.5), cuda.types.bfloat16(2))
        out = np.zeros(1, np.float32)
        kernel[1, 1](out)
        assert str(types.void(bfloat16[:]).args[0]) == "array(__nv_bfloat16, 1d, A)"
        print(out[0], cuda.compile_ptx(lambda a: a + a, (bfloat16,), device=True)[1] is bfloat16)
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.strip() == "3.5 True", done.stderr


@pytest.mark.parametrize(
    "value, name",
    [
        (1, "int64"),
        (-(2**63), "int64"),
        (2**63, "uint64"),
        (2**64 - 1, "uint64"),
        (True, "bool"),
        (1.0, "float64"),
        (np.int16(3), "int16"),
        (np.float32(3), "float32"),
        (np.bool_(True), "bool"),
        (np.zeros(3), "array(float64, 1d, C)"),
        (np.zeros((2, 3), order="F"), "array(float64, 2d, F)"),
        (np.array(1.0), "array(float64, 0d, C)"),
        ((1, 2), "UniTuple(int64 x 2)"),
        ((1, 2.0), "Tuple(int64, float64)"),
        ((), "Tuple()"),
        (((1, 2), 3.0), "Tuple(UniTuple(int64 x 2), float64)"),
        (((1, 2.0), (3, 4.0)), "UniTuple(Tuple(int64, float64) x 2)"),
        (Point(1, 2), "namedtuple(Point; x=int64, y=int64)"),
        (Number.one, "IntEnum<int64>(Number)"),
        (
            np.zeros(2, "i4,f8"),
            "unaligned array(Record(f0[type=int32;offset=0],f1[type=float64;offset=4];12;False), 1d, C)",
        ),
        (np.zeros(2, "i4,f8")[0], "Record(f0[type=int32;offset=0],f1[type=float64;offset=4];12;False)"),
        (np.zeros(3).view(np.recarray), "array(float64, 1d, C)"),
        (np.matrix([[1.0]]), "array(float64, 2d, C)"),
    ],
)
def test_argument_types_are_numbas(value, name):
    assert types.name_of(typeof(value)) == name


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_integers_beyond_64_bits_are_refused(value):
    with pytest.raises(ValueError, match="too large"):
        typeof(value)


@pytest.mark.parametrize(
    "value",
    [object(), {1: 2}, range(3), len, int, np, fractions.Fraction(1, 2), decimal.Decimal(1), (object(),)],
)
def test_values_without_a_numba_type_are_value_errors(value):
    with pytest.raises(ValueError, match="Cannot determine Numba type of <class"):
        typeof(value)


@pytest.mark.parametrize(
    "value",
    [None, "text", b"bytes", bytearray(2), memoryview(b"a"), array.array("d", [1]), [1, 2], {1}, slice(1), ...,
     np.dtype("f4"), np.str_("a"), np.bytes_(b"a"), ("a", 1)],
)  # fmt: skip
def test_values_with_a_numba_type_that_launches_cannot_pass_are_not_implemented(value):
    with pytest.raises(NotImplementedError, match="cannot be passed to a kernel"):
        typeof(value)


@pytest.mark.parametrize("dtype", [">f8", np.longdouble, object])
def test_dtypes_that_numba_refuses_are_refused_with_its_class(dtype):
    with pytest.raises(errors.NumbaValueError, match="Unsupported array dtype"):
        typeof(np.zeros(3, dtype))


@pytest.mark.parametrize("dtype", ["M8[25s]", "U257", "S1025"])
def test_dtypes_that_the_compiler_does_not_know_run_in_python_mode(dtype):
    def kernel(out, values):
        out[0] = len(values)

    out, values = np.zeros(1), np.zeros(3, dtype)
    with options.override(mode="native"), pytest.raises(errors.UnsupportedError, match="not supported yet"):
        cuda.jit(kernel)[1, 1](out, values)
    with pytest.warns(errors.CudasimWarning, match="Python mode"):
        cuda.jit(kernel)[1, 1](out, values)
        cuda.jit(kernel)[1, 1](out, cuda.to_device(values))
    assert out[0] == 3


def test_records_dates_and_members_of_enumerations_are_arguments():
    first_day = np.datetime64("2020-01-01")

    def kernel(out, records, record, date, colour):
        records[1].a = record.a + 0.5
        records[1]["b"] = 7
        out[0] = date == first_day
        out[1] = colour == Colour.red

    records = np.zeros(2, [("a", "f8"), ("b", "i4")])
    out, one = np.zeros(2), np.array([(2.0, 1)], records.dtype)[0]
    with options.override(mode="native"):
        cuda.jit(kernel)[1, 1](out, records, one, np.datetime64("2020-01-01"), Colour.red)
    assert records.tolist() == [(0, 0), (2.5, 7)] and out.tolist() == [1, 1]


def test_tuples_of_arrays_are_typed():
    assert str(typeof((np.zeros(3), np.ones(2)))) == "UniTuple(array(float64, 1d, C) x 2)"
    assert str(typeof((np.zeros(3), (1, True)))) == "Tuple(array(float64, 1d, C), Tuple(int64, bool))"


def test_arrays_of_equal_dtypes_have_the_types_of_their_own_dtypes():
    fields = [("a", "i4"), ("b", "f4")]
    plain, aligned = np.dtype(fields), np.dtype(fields, align=True)
    assert plain == aligned
    for dtype in (plain, aligned, plain, aligned):
        for value in (np.zeros(2, dtype), cuda.to_device(np.zeros(2, dtype))):
            assert typeof(value).dtype.aligned == typeof(value).aligned == dtype.isalignedstruct
        assert typeof(np.zeros(2, dtype)[0]).aligned == dtype.isalignedstruct


def test_read_only_host_arrays_have_types_of_their_own():
    table = np.zeros((2, 3), order="F")
    table.flags.writeable = False
    assert typeof(table) is types.Array(types.float64, 2, "F", readonly=True)
    assert typeof((table, 1)) is types.Tuple((typeof(table), types.int64))
    assert typeof(cuda.to_device(table)) is types.float64[::1, :]


def test_a_class_says_what_type_its_values_have():
    class Own:
        def __cudasim_typeof__(self):
            return types.float32

    class Derived(Own):
        pass

    assert typeof(Own()) is typeof(Derived()) is types.float32


def test_types_are_compared_by_identity():
    """Launches look kernels up by types."""
    for kind in (
        types.int64,
        types.float32[:],
        types.Tuple((types.int8, types.float32[:])),
        typeof(np.zeros(2, "i4,f8")),
    ):
        assert type(kind).__hash__ is object.__hash__
        assert type(kind).__eq__ is object.__eq__


@pytest.mark.parametrize(
    "text",
    ["[].append(1)", "float32[:]", "array(exit(), 1d, C)", "Tuple(exit(), int8)", "OptionalType(exit())", "UniTuple(exit() x 2)",
     "namedtuple(P; x=exit())", "exit()*", "Enum<exit>(E)", "nestedarray(exit(), (1,))", "class(exit())", "dtype(().__class__)"],
)  # fmt: skip
def test_names_from_elsewhere_are_not_evaluated(text, monkeypatch):
    def evaluated(*_):
        raise AssertionError("evaluated")

    monkeypatch.setattr(type_names, "evaluate", evaluated)
    with pytest.raises(TypeError, match="is not the name of a type"):
        types.type_named(text)
    known = types.from_compiler(text)
    assert type(known) is types.CompilerType and known is types.from_compiler(text) and str(known) == text


def test_masked_arrays_are_refused():
    with pytest.raises(errors.NumbaTypeError, match="MaskedArray"):
        typeof(np.ma.array([1, 2]))


def test_foreign_byte_order_is_refused_with_advice():
    with pytest.raises(errors.NumbaValueError, match="newbyteorder"):
        typeof(np.zeros(3, ">f8"))
    with pytest.raises(errors.NumbaValueError, match="newbyteorder"):
        typeof(cuda.to_device(np.zeros(3, ">f8")))


@pytest.mark.parametrize(
    "array", [np.zeros(10)[::2], np.zeros((4, 4))[:, 1], np.broadcast_to(np.zeros(6)[::2], (2, 3))]
)
def test_strided_host_arrays_are_refused_with_advice(array):
    with pytest.raises(ValueError, match="ascontiguousarray"):
        typeof(array)


def test_host_arrays_that_repeat_themselves_have_layout_a():
    assert typeof(np.broadcast_to(np.zeros(3), (2, 3))) == types.Array(types.float64, 2, "A", readonly=True)


def test_device_views_have_layout_a():
    assert typeof(cuda.to_device(np.zeros(10))[::2]) == types.float64[:]


def test_parameter_formats():
    pair = types.UniTuple(types.int64, 2)
    assert (
        struct_format([types.Tuple(())]) == ""
        and struct_format([types.Tuple((pair, types.float64))]) == "qqd"
    )
    plain = types.float32[:, ::1], types.int32, types.boolean, types.UniTuple(types.int8, 2)
    assert struct_format(plain) == "Qqqqqi?bb"


@pytest.mark.parametrize(
    "name, value, result", [("int8", 200, -56), ("uint8", -1, 255), ("int32", 3.9, 3), ("bool", 2, True)]
)
def test_declared_types_convert_arguments(name, value, result):
    assert converter(types.as_type(name))(value) == result


@pytest.mark.parametrize(
    "given, declared, fits",
    [
        ("array(float32, 1d, C)", "array(float32, 1d, A)", True),
        ("array(float32, 1d, A)", "array(float32, 1d, C)", False),
        ("array(float64, 1d, C)", "array(float32, 1d, A)", False),
        ("int64", "float32", True),
        ("bool", "int8", True),
        ("complex128", "float64", False),
        ("array(float64, 1d, C)", "float64", False),
    ],
)
def test_which_arguments_fit_a_declared_type(given, declared, fits):
    assert (convertible(types.as_type(given), types.as_type(declared)) is not None) == fits


def test_calling_a_type_converts_a_value():
    assert types.int8(300.7 - 256) == 44 and type(types.float32(1)) is np.float32


def test_types_that_arrays_do_not_hold_have_numbas_names_and_classes():
    from cudasim.cuda import types as t

    assert str(t.literal(3)) == "Literal[int](3)" and isinstance(t.literal(3), (t.IntegerLiteral, t.Integer))
    assert isinstance(t.literal(True), t.BooleanLiteral) and isinstance(t.literal(True), t.Boolean)
    assert t.literal("a)b").literal_value == "a)b" and t.unliteral(t.literal("x")) == t.unicode_type
    assert str(t.Optional(t.float64)) == "OptionalType(float64)" and t.optional(t.int8).type == t.int8
    assert str(t.Omitted(None)) == "omitted(default=None)" and t.Omitted(4).value == 4
    assert str(t.UnicodeCharSeq(4)) == "[unichr x 4]" and str(t.CharSeq(3)) == "[char x 3]"
    assert str(t.NestedArray(t.float32, (3, 2))) == "nestedarray(float32, (3, 2))"
    assert (
        isinstance(t.none, t.NoneType)
        and isinstance(t.none, t.Dummy)
        and isinstance(t.slice2_type, t.SliceType)
    )
    assert isinstance(t.dim3, t.Dim3) and isinstance(t.grid_group, t.GridGroup) and str(t.dim3) == "Dim3"
    assert str(t.TypeRef(t.float32)) == "typeref[float32]"


def test_classes_of_types_tell_types_apart():
    from cudasim.cuda import types as t

    assert isinstance(t.int8, t.Integer) and isinstance(t.int8, t.Number) and not isinstance(t.int8, t.Float)
    assert t.uint8.maxval == 255 and t.int8.minval == -128 and t.int8.signed and not t.uint8.signed
    assert isinstance(t.boolean, t.Boolean) and not isinstance(t.boolean, t.Number)
    assert isinstance(t.complex64, t.Complex) and t.complex64.underlying_float == t.float32
    uniform = t.Tuple((t.int64, t.int64))
    assert isinstance(uniform, t.UniTuple) and uniform.dtype == t.int64 and uniform.count == len(uniform) == 2
    mixed = t.Tuple((t.int64, t.float32))
    assert isinstance(mixed, t.Tuple) and isinstance(mixed, t.BaseTuple) and mixed[1] == t.float32
    assert t.float32[:, ::1].is_c_contig and t.float32[:].copy(ndim=2).ndim == 2


@pytest.mark.parametrize(
    "name",
    ["Literal[int](-3)", "Literal[bool](False)", "Literal[str](x, y)", "OptionalType(array(float32, 1d, C))", "[char x 3]",
     "omitted(default=(1, 'a'))", "class(float32)", "typeref[int8]", "nestedarray(float32, (3, 2))", "slice<a:b:c>", "Dim3"],
)  # fmt: skip
def test_names_of_such_types_are_read_back(name):
    from cudasim import types as own

    assert str(own.parse_type(name)) == name

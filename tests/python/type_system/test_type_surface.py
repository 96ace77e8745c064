"""numba.cuda.types without Numba: what Numba's type objects have and programs ask for. Every line holds with Numba's own
types too, which the same program is run with."""

import pytest

PROGRAM = """
    import collections
    import copy
    import ctypes
    import pickle

    import numpy as np
    from numba import cuda
    from numba.cuda import types
    from numba.cuda.np import numpy_support
    from numba.cuda.typing.typeof import typeof

    Point = collections.namedtuple("Point", "x y")

    # Sets of types, names of C, NumPy and Python.
    assert types.int32 in types.signed_domain and types.uint8 in types.unsigned_domain
    assert types.integer_domain == types.signed_domain | types.unsigned_domain and len(types.integer_domain) == 8
    assert types.number_domain == types.integer_domain | types.real_domain | types.complex_domain
    assert types.real_domain == {types.float32, types.float64} == types.np_real_domain == types.py_real_domain
    assert types.complex_domain == {types.complex64, types.complex128}
    assert types.np_float32 == types.c_float32 == types.float32 and types.py_int == types.intp and types.c_bool == types.boolean

    # Numbers.
    assert sorted([types.int64, types.int8, types.int32]) == [types.int8, types.int32, types.int64]
    assert types.float32 < types.float64 and types.int32 <= types.int32 and types.complex64 < types.complex128
    assert types.complex64.underlying_float == types.float32 and types.Complex("complex64", types.float32) == types.complex64
    assert types.Integer.from_bitwidth(16, False) == types.uint16 and types.int32.key == "int32"
    assert types.boolean(1) is True and type(types.int32(3.7)) is np.int32 and types.int32.cast_python_value(2) == 2
    assert types.int32.is_precise() and not types.int32.mutable

    # Arrays.
    array = types.Array(types.float32, 2, "C")
    assert repr(array) == "Array(float32, 2, 'C', False, aligned=True)" and str(array) == "array(float32, 2d, C)"
    assert array.key == (types.float32, 2, "C", True, True) and array.as_array == array and array.copy(layout="A").layout == "A"
    assert issubclass(types.Array, types.Buffer)
    try:
        types.Array(types.int32, 1, "X")
    except Exception as error:
        assert type(error).__name__ == "NumbaValueError" and "Invalid layout 'X'" in str(error)
    nested = types.NestedArray(types.int32, (2, 3))
    assert (nested.nitems, nested.size, nested.strides, nested.shape) == (6, 4, (12, 4), (2, 3))

    # Tuples.
    assert repr(types.UniTuple(types.int32, 2)) == "UniTuple(int32, 2)"
    assert repr(types.Tuple((types.int32, types.float32))) == "Tuple((int32, float32))"
    assert repr(typeof(Point(1, 2))) == "Point(int64 x 2)"
    assert typeof((1, 2.5))[1] == types.float64

    # Literals.
    assert str(types.maybe_literal(3)) == "Literal[int](3)" and types.maybe_literal(2.5) is None
    assert types.is_homogeneous(types.int32, types.int32) and not types.is_homogeneous(types.int32, types.int64)
    try:
        types.literal(2.5)
    except Exception as error:
        assert type(error).__name__ == "LiteralTypingError" and "<class 'float'> cannot be used as a literal" in str(error)

    # Records.
    dtype = np.dtype([("a", np.int32), ("b", np.float64), ("m", np.int16, (2, 3))])
    record = numpy_support.from_dtype(dtype)
    assert len(record) == 3 and record.typeof("a") == types.int32 and record.offset("b") == 4 and record.size == 24
    assert [name for name, _ in record.members] == ["a", "b", "m"] and record.fields["b"].offset == 4
    assert record.typeof("m").shape == (2, 3) and not record.has_titles()
    aligned = types.Record.make_c_struct([("a", types.int32), ("b", types.float64)])
    assert aligned.size == 16 and aligned.aligned and aligned.alignof("b") == 8
    one = types.Record([("a", {"type": types.int32, "offset": 4})], 8, False)
    assert one.offset("a") == 4 and one.size == 8

    # NumPy's dtypes, and back.
    for one in (types.int32, types.complex64, types.boolean, types.NPDatetime("D"), types.CharSeq(3), record):
        assert numpy_support.from_dtype(numpy_support.as_dtype(one)) == one, one
    assert numpy_support.as_dtype(nested) == np.dtype((np.int32, (2, 3)))
    for refused in (types.int32[:], types.none):
        try:
            numpy_support.as_dtype(refused)
        except Exception as error:
            assert "NotImplementedError" in type(error).__name__
        else:
            raise AssertionError(refused)
    assert numpy_support.map_layout(np.zeros((4, 4))[::2, ::2]) == "A" and numpy_support.map_layout(np.zeros((2, 2)).T) == "F"
    numbers = (ctypes.c_int32 * 6)(*range(6))
    pointer = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int32))
    assert numpy_support.carray(pointer, (2, 3))[1].tolist() == [3, 4, 5]
    assert numpy_support.farray(pointer, (2, 3))[1].tolist() == [1, 3, 5]
    assert numpy_support.numpy_version[0] == int(np.__version__.split(".")[0])

    # Types of what is no argument.
    for value, name in ((None, "none"), ("a", "unicode_type"), (slice(1, 2), "slice<a:b>"), (..., "..."), (np.float32, "class(float32)"),
                        (types.int32, "class(int32)"), (np.zeros(4)[::2], "array(float64, 1d, A)")):
        assert str(typeof(value)) == name, (value, typeof(value))

    # Signatures.
    signature = types.float32(types.float32, types.int32[:])
    assert repr(signature) == "(float32, Array(int32, 1, 'A', False, aligned=True)) -> float32"
    assert signature.args[1].dtype == types.int32 and signature.replace(return_type=types.int32).return_type == types.int32
    assert signature.pysig is None and signature.recvr is None

    for one in (types.int32, array, record, signature):
        assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(types.int32) == types.int32
    print("done")
"""


@pytest.mark.parametrize("with_numba", [False, True])
def test_types_have_what_numbas_have(request, with_numba):
    done = request.getfixturevalue("run_with_numba" if with_numba else "run").script(
        PROGRAM, ENABLE_CUDASIM="1"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"

"""Records: fields of elements and of whole arrays, references, copies, where records may lie. What is refused, and with
which class: numba-cuda 0.30.4. Values: NumPy's."""

import re

import numpy as np
import pytest
from cudasim import cuda, errors, types
from cudasim.compile import compiler
from kernel_checks import evaluate, refusal, types_of

POINT = np.dtype([("x", np.float64), ("y", np.int32)])
PADDED = np.dtype([("flag", np.bool_), ("x", np.float64), ("small", np.int8), ("u", np.uint16)], align=True)
WHOLE = np.dtype([("p", POINT), ("v", np.float32, (2, 3)), ("w", np.int32, 4), ("f", np.float32)], align=True)
ODD = np.dtype([("c", np.int8), ("x", np.float64)])
CONSTANTS = np.array([(1.5, 2), (2.5, 3), (3.5, 4)], POINT)
ONE = CONSTANTS[1]
FIELD = "x"
POINT_TYPE = types.from_dtype(POINT)


@cuda.jit(device=True)
def move(point, by):
    point.x += by
    return point.y


@cuda.jit(device=True)
def same(point):
    return point


@cuda.jit(device=True)
def total(points):
    result = 0.0
    for point in points:
        result += point.x
    return result


def points(count=4):
    array = np.zeros(count, POINT)
    array["x"], array["y"] = np.arange(count) + 0.5, np.arange(count) * 10
    return array


def test_fields_are_read_and_written_by_attribute_and_by_name():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        a[i].x = a[i]["y"] + 0.25
        a[i]["y"] += 1
        a[i].x *= 2

    array = points()
    kernel[1, 4](array)
    assert array["x"].tolist() == [0.5, 20.5, 40.5, 60.5]
    assert array["y"].tolist() == [1, 11, 21, 31]


def test_fields_are_numbered_in_order_of_their_offsets():
    swapped = np.dtype(
        {"names": ["b", "a"], "formats": [np.int32, np.float64], "offsets": [8, 0], "itemsize": 16}
    )

    def kernel(out, a):
        out[0], out[1], out[2] = a[0][0], a[0][1], a[0][-1]
        a[0][0] = 9.5

    array = np.array([(7, 1.5)], swapped)
    assert list(evaluate(kernel, array, size=3)) == [1.5, 7, 7]
    assert array[0]["a"] == 9.5


def test_padding_and_field_types():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = a[i].x + a[i].small + a[i].u + (1000 if a[i].flag else 0)
        a[i].small = 300  # keeps its low bits
        a[i].u = -1
        a[i].flag = a[i].x

    array = np.array([(True, 0.5, -3, 60000), (False, 0.0, 7, 1)], PADDED)
    out = np.zeros(2)
    kernel[1, 2](array, out)
    assert out.tolist() == [1000 + 0.5 - 3 + 60000, 8.0]
    assert array["small"].tolist() == [44, 44]
    assert array["u"].tolist() == [65535, 65535]
    assert array["flag"].tolist() == [True, False]


def test_the_fields_of_an_array_are_an_array():
    def kernel(out, a):
        out[0], out[1], out[2] = a.x[1], a["y"][2], a.x.size
        a.x[3] = 9.0
        a["y"][:2] = 5
        out[3], out[4] = a[FIELD][3], a.x.strides[0]
        out[5] = a[::2].x[1]

    array = points()
    assert list(evaluate(kernel, array, size=6)) == [1.5, 20, 4, 9.0, 12, 2.5]
    assert array["y"].tolist() == [5, 5, 20, 30]
    assert array["x"][3] == 9.0


def test_nested_records_and_arrays_in_records():
    @cuda.jit
    def kernel(a, p):
        i = cuda.grid(1)
        a[i].p.x = i + 0.5
        a[i]["p"]["y"] = i
        a[i].v[1, 2] = i
        a[i].v[0][1] = 2 * i
        a[i].w[:] = 7
        a[i].w[i] += 1
        a[i].f = a[i].v.size + a[i].v.shape[1] + len(a[i].w)
        if i == 2:
            a[i].p = p[1]
        if i == 3:
            a[i].w = a[0].w
        a.v[i, 0, 0] = a.p.x[i]
        a.p[i].y += 100

    array = np.zeros(4, WHOLE)
    kernel[1, 4](array, points())
    assert array["p"]["x"].tolist() == [0.5, 1.5, 1.5, 3.5]
    assert array["p"]["y"].tolist() == [100, 101, 110, 103]
    assert array["v"][:, 1, 2].tolist() == [0, 1, 2, 3]
    assert array["v"][:, 0, 1].tolist() == [0, 2, 4, 6]
    assert array["v"][:, 0, 0].tolist() == [0.5, 1.5, 1.5, 3.5]
    assert array["w"].tolist() == [[8, 7, 7, 7], [7, 8, 7, 7], [7, 7, 8, 7], [8, 7, 7, 7]]
    assert array["f"].tolist() == [13] * 4


def test_an_array_of_another_size_does_not_fit_a_field():
    @cuda.jit
    def kernel(a, w):
        a[0].w = w

    array = np.zeros(1, WHOLE)
    kernel[1, 1](array, np.arange(4, dtype=np.int32))
    assert array["w"].tolist() == [[0, 1, 2, 3]]
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 0\] ctaid=\[0, 0, 0\]: cannot assign"):
        kernel[1, 1](array, np.arange(5, dtype=np.int32))


def test_a_variable_is_a_reference_and_an_assignment_to_an_element_copies():
    @cuda.jit
    def kernel(a, b):
        record = a[0]
        a[1] = record
        record.x = 100.0
        b[0] = a[0]
        b[1] = b[0]
        b[0].y = -1

    a, b = points(2), points(2)
    kernel[1, 1](a, b)
    assert a.tolist() == [(100.0, 0), (0.5, 0)]
    assert b.tolist() == [(100.0, -1), (100.0, 0)]


def test_one_record_fills_a_view():
    @cuda.jit
    def kernel(a, b, chosen):
        a[1:3] = b[1]
        a[chosen] = b[3]

    a, b = points(5), points(5)
    kernel[1, 1](a, b, np.array([4]))
    assert a.tolist() == [b[0].item(), b[1].item(), b[1].item(), b[3].item(), b[3].item()]


def test_device_functions_take_and_return_references():
    def kernel(out, a):
        out[0] = move(a[2], 1.0)
        same(a[1]).x = 77.0
        out[1], out[2] = a[2].x, total(a)
        local = cuda.local.array(2, POINT)
        local[0], local[1] = a[0], a[1]
        out[3] = total(local) + move(local[0], 1.0)
        out[4] = local[0].x

    array = points()
    assert list(evaluate(kernel, array, size=5)) == [20, 3.5, 84.5, 77.5, 1.5]
    assert array["x"].tolist() == [0.5, 77.0, 3.5, 3.5]


def test_shared_and_local_arrays_of_records():
    @cuda.jit
    def kernel(a, out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array(4, POINT_TYPE)
        local = cuda.local.array((2, 2), WHOLE)
        shared[i] = a[i]
        local[1, 1].v[1, 2] = i
        local[0, 1] = local[1, 1]
        cuda.syncthreads()
        other = shared[3 - i]
        out[i] = other.x + local[0, 1].v[1, 2] if other.y else -1.0

    out = np.zeros(4)
    kernel[1, 4](points(), out)
    assert out.tolist() == [3.5, 3.5, 3.5, -1.0]


def test_dynamic_shared_memory_of_records():
    @cuda.jit
    def kernel(out):
        dynamic = cuda.shared.array(0, POINT)
        i = cuda.threadIdx.x
        dynamic[i].x = i
        cuda.syncthreads()
        out[i] = dynamic[dynamic.size - 1 - i].x

    out = np.zeros(3)
    kernel[1, 3, 0, 3 * POINT.itemsize](out)
    assert out.tolist() == [2, 1, 0]


def test_records_from_outside_are_constants():
    def kernel(out, i):
        out[0], out[1], out[2] = CONSTANTS[i].x, CONSTANTS.y[i], ONE.x
        out[3] = cuda.const.array_like(CONSTANTS)[2].y

    assert list(evaluate(kernel, 1, size=4)) == [2.5, 3, 2.5, 4]


def test_a_record_is_an_argument_that_is_written_back():
    @cuda.jit
    def kernel(record, inside, out):
        out[0] = record.x + inside[0].y
        record.x = 8.0
        inside[0].y = 9

    array, out = points(), np.zeros(1)
    kernel[1, 1](array[1], (array[2], 5), out)
    assert out.tolist() == [21.5]
    assert array.tolist() == [(0.5, 0), (8.0, 10), (2.5, 9), (3.5, 30)]


def test_intents_of_records():
    @cuda.jit
    def kernel(record):
        record.x = 8.0

    array = points()
    kernel[1, 1](cuda.In(array[0]))
    kernel[1, 1](cuda.Out(array[1]))
    assert array["x"].tolist() == [0.5, 8.0, 2.5, 3.5]


def test_record_arrays_on_the_device():
    @cuda.jit
    def kernel(a, b):
        i = cuda.grid(1)
        b[i] = a[i]
        b[i].y += i

    device, result = cuda.to_device(points()), cuda.device_array(4, POINT)
    kernel[1, 4](device, result)
    assert result.copy_to_host()["y"].tolist() == [0, 11, 22, 33]
    kernel[1, 2](device[1:3], result[2:])
    assert result.copy_to_host()["y"].tolist() == [0, 11, 10, 21]


def test_a_device_record_is_a_reference():
    @cuda.jit
    def kernel(record, pair):
        record.x += pair[0].y
        pair[0].y = 1

    device = cuda.to_device(points())
    record = cuda.to_device(points()[3])
    kernel[1, 1](device[1], (record, 1))
    assert device.copy_to_host()["x"].tolist() == [0.5, 31.5, 2.5, 3.5]
    assert record["y"] == 1


def test_records_where_control_flow_joins():
    def kernel(out, a, b, i):
        chosen = a[i] if i else b[i]
        chosen.x += 1
        pair = (a[1], b[1])
        for k in range(2):
            out[k] = pair[k].x
        maybe = a[2] if i else None
        out[2] = maybe.x if maybe is not None else -1.0
        local = cuda.local.array(1, POINT)
        local[0] = a[3]
        either = local[0] if i > 5 else a[3]
        either.x = 50.0
        out[3] = local[0].x

    a, b = points(), points()
    assert list(evaluate(kernel, a, b, 1, size=4)) == [2.5, 1.5, 2.5, 3.5]
    assert a["x"].tolist() == [0.5, 2.5, 2.5, 50.0]


def test_atomic_operations_on_fields():
    @cuda.jit
    def kernel(a, w):
        cuda.atomic.add(a.x, 0, 1.0)
        cuda.atomic.max(a["y"], 1, cuda.grid(1))
        cuda.atomic.add(w[0].w, 2, 1)

    a, w = np.zeros(2, np.dtype(POINT.descr, align=True)), np.zeros(1, WHOLE)
    kernel[2, 32](a, w)
    assert (a[0]["x"], a[1]["y"], w[0]["w"][2]) == (64.0, 63, 64)


def test_types_are_numbas():
    point = "Record(x[type=float64;offset=0],y[type=int32;offset=8];12;False)"

    def kernel(a, w, i):
        record = a[i]
        xs = a.x
        field = record.y
        values = w[i].v
        inner = w[i].p
        whole = w.v

    whole = types.name_of(WHOLE)
    assert whole == (
        f"Record(p[type={point};offset=0],v[type=nestedarray(float32, (2, 3));offset=12],"
        "w[type=nestedarray(int32, (4,));offset=36],f[type=float32;offset=52];56;True)"
    )
    found = types_of(kernel, f"unaligned array({point}, 1d, C)", f"array({whole}, 1d, C)", "int64")
    assert {name: found[name] for name in ("record", "xs", "field", "values", "inner", "whole")} == {
        "record": point, "xs": "unaligned array(float64, 1d, A)", "field": "int32", "values": "array(float32, 2d, C)",
        "inner": point, "whole": "array(float32, 3d, A)",
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [POINT, PADDED, WHOLE, ODD, np.dtype([("s", "S4"), ("d", "M8[us]"), ("c", "c8")]),
                                   np.dtype({"names": ["a", "b"], "formats": ["i4", "f4"], "offsets": [4, 0],
                                             "titles": ["A", None], "itemsize": 12})])  # fmt: skip
def test_names_of_records_say_all_about_them(dtype):
    back = types.parse_type(types.name_of(dtype)).dtype
    assert (back.fields, back.itemsize, back.isalignedstruct) == (
        dtype.fields,
        dtype.itemsize,
        dtype.isalignedstruct,
    )


def test_records_are_copied_from_the_memory_they_lie_in():
    def kernel(a):
        shared = cuda.shared.array(4, POINT)
        local = cuda.local.array(4, POINT)
        shared[0] = a[0]
        local[0] = shared[0]
        shared[1] = local[0]
        a[1] = shared[1]

    ir = compiler.compile_kernel(kernel, (f"unaligned array({types.name_of(POINT)}, 1d, C)",)).image.ir_text()
    copies = re.findall(r"call void @llvm.memcpy.(p\d.p\d)", ir)
    assert copies == ["p3.p1", "p0.p3", "p3.p0", "p1.p3"] and "addrspacecast" not in ir


def test_unaligned_loads_in_ptx():
    def kernel(a, b):
        a[0].x = 1.0
        b[0].x = 2.0

    names = [types.name_of(POINT), types.name_of(PADDED)]
    ir = compiler.compile_kernel(kernel, (f"unaligned array({names[0]}, 1d, C)", f"array({names[1]}, 1d, C)"))
    stores = [line.strip() for line in ir.image.ir_text().splitlines() if "store double" in line]
    assert ["align 1" in store for store in stores] == [True, False]
    assert "align 8" in stores[1]


def test_an_index_error_names_the_thread():
    @cuda.jit
    def kernel(a):
        a[cuda.grid(1)].x = 1.0

    with pytest.raises(
        IndexError,
        match=r"tid=\[1, 0, 0\] ctaid=\[2, 0, 0\]: index 5 is out of bounds for axis 0 with size 5",
    ):
        kernel[3, 2](points(5))


def test_an_index_error_in_an_array_in_a_record():
    @cuda.jit
    def kernel(a):
        a[0].v[1, cuda.grid(1)] = 1.0

    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 1 with size 3"):
        kernel[1, 4](np.zeros(1, WHOLE))


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("a[0].z = 1", KeyError, "'z' is not a field of Record"),
        ("a[0].x = a[0].z", KeyError, "'z' is not a field of Record"),
        ("a[0].x = a[0]['z']", errors.TypingError, "Field 'z' was not found in record with fields ('x', 'y')"),
        ("a['z'][0] = 1", errors.TypingError, "Field 'z' was not found"),
        ("a.z[0] = 1", errors.TypingError, "Unknown attribute 'z'"),
        ("a[0].x = a[0][7]", errors.TypingError, "has 2 field(s)"),
        ("a[0].x = a[0][i]", errors.TypingError, "a record is indexed with the name"),
        ("a[0] = 1.0", errors.TypingError, "Cannot convert"),
        ("a[0] = (1.0, 2)", errors.TypingError, "Cannot convert"),
        ("a[0].x = a[1]", errors.TypingError, "the type of the field 'x'"),
        ("a[0].x = None", errors.TypingError, "the type of the field 'x'"),
        ("if a[0]: pass", errors.TypingError, "cannot be a condition"),
        ("a[0].x = a[0] == a[1]", errors.TypingError, "the operator =="),
        ("x, y = a[0]", errors.TypingError, "cannot be unpacked"),
        ("a[0].x = len(a[0])", errors.TypingError, ">>> len(Record"),
        ("CONSTANTS[0].x = 1", errors.TypingError, "constant record"),
        ("CONSTANTS.x[0] = 1", errors.TypingError, "constant array"),
        ("o[0].x = 1", errors.NumbaTypeError, ".x of type float64 is not aligned"),
        ("a[0].x = o[0].x", errors.NumbaTypeError, ".x of type float64 is not aligned"),
        ("i.x = 1", errors.TypingError, "attribute 'x' cannot be set"),
        ("a.x = 1", errors.TypingError, "attribute 'x' cannot be set"),
    ],
)  # fmt: skip
def test_refusals(body, error, message):
    source = f"def kernel(a, o, i):\n    {body}\n"
    namespace = {"cuda": cuda, "CONSTANTS": CONSTANTS}
    exec(compile(source, "<refused>", "exec"), namespace)
    import linecache

    linecache.cache["<refused>"] = (len(source), None, source.splitlines(True), "<refused>")
    array = (
        types.array_name(types.name_of(POINT), 1, "C"),
        types.array_name(types.name_of(ODD), 1, "C"),
        "int64",
    )
    assert message in refusal(error, namespace["kernel"], *array)


def test_a_packed_field_is_an_aligned_one_through_the_array():
    """As in Numba, only fields of single records are refused; the array of the fields loads byte by byte."""

    def kernel(out, a):
        out[0] = a.x[1]

    assert evaluate(kernel, np.array([(1, 2.5), (3, 4.5)], ODD)) == 4.5


def test_complex_fields_lie_where_their_components_may():
    """NumPy and CUDA align a complex number as its components, so complex64 may begin behind an int32."""
    packed = np.dtype([("n", np.int32), ("z", np.complex64), ("w", np.complex64, 2)], align=True)
    assert packed.fields["z"][1] == 4

    def kernel(out, a, value):
        a[0].z = value
        a[0]["w"][1] = 1 + 2j
        a[1].z = a[0].z
        a[1].w[0] = 3
        out[0] = a[1].z.imag + a[0].w[1].imag + a[1]["w"][0].real

    a = np.zeros(2, packed)
    assert evaluate(kernel, a, 1.5 - 2.5j) == -2.5 + 2 + 3
    assert (
        a[0]["z"] == a[1]["z"] == np.complex64(1.5 - 2.5j)
        and a[0]["w"].tolist() == [0, 1 + 2j]
        and a[1]["w"][0] == 3
    )

"""@guvectorize for the CUDA target: layouts, loop dimensions, signatures, where results lie, errors.

The rules are numba.cuda's (https://numba.readthedocs.io/en/stable/cuda/ufunc.html); values are NumPy's.
"""

import traceback
import types as python_types

import numpy as np
import pytest
from cudasim import cuda, errors, options, types
from cudasim.cuda.deviceufunc import GUFuncEngine


@pytest.fixture(autouse=True, params=["auto", "python"])
def mode(request):
    with options.override(mode=request.param):
        yield request.param


@cuda.guvectorize(
    ["void(float32[:,:], float32[:,:], float32[:,:])", "void(float64[:,:], float64[:,:], float64[:,:])"],
    "(m,n),(n,p)->(m,p)",
)
def product(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            total = a[i, 0] * b[0, j]
            for k in range(1, a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total


@cuda.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)")
def scaled(x, factor, result):
    for i in range(x.shape[0]):
        result[i] = x[i] * factor


@cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def total(x, result):
    result[0] = 0.0
    for i in range(x.shape[0]):
        result[0] += x[i]


def arrays(*shapes, dtype=np.float64):
    random = np.random.default_rng(7)
    return [random.random(shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loop", [(1,), (50,), (3, 4), (2, 3, 2)])
def test_one_call_for_each_element_of_the_loop_dimensions(dtype, loop):
    a, b = arrays((*loop, 3, 4), (*loop, 4, 2), dtype=dtype)
    result = product(a, b)
    assert type(result) is np.ndarray and result.dtype == dtype and result.shape == (*loop, 3, 2)
    np.testing.assert_allclose(result, a @ b, rtol=1e-5)


def test_without_loop_dimensions():
    a, b = arrays((3, 4), (4, 2))
    result = product(a, b)
    assert result.shape == (3, 2)
    np.testing.assert_allclose(result, a @ b)


@pytest.mark.parametrize("place", [np.asarray, cuda.to_device])
@pytest.mark.parametrize("which", [0, 1])
def test_an_input_without_loop_dimensions_is_the_same_for_all_calls(place, which):
    shapes = [(5, 3, 4), (5, 4, 2)]
    shapes[which] = shapes[which][1:]
    a, b = arrays(*shapes)
    np.testing.assert_allclose(np.asarray(product(place(a), place(b))), a @ b)


def test_numbers_for_scalars_of_the_layout():
    (x,) = arrays((6, 5))
    np.testing.assert_array_equal(scaled(x, 2.5), x * 2.5)
    np.testing.assert_array_equal(scaled(x, np.arange(6.0)), x * np.arange(6.0)[:, None])
    np.testing.assert_array_equal(scaled(x[0], np.array([3.0])), x[0] * 3.0)


def test_scalar_outputs():
    (x,) = arrays((6, 5))
    result = total(x)
    assert result.shape == (6,)
    np.testing.assert_allclose(result, x.sum(axis=1))
    assert total(x.reshape(2, 3, 5)).shape == (2, 3)


def test_several_outputs():
    @cuda.guvectorize(["void(float64[:], float64[:], float64[:], float64[:])"], "(n)->(),(),(n)")
    def statistics(x, low, high, doubled):
        low[0] = high[0] = x[0]
        for i in range(x.shape[0]):
            low[0], high[0] = min(low[0], x[i]), max(high[0], x[i])
            doubled[i] = 2 * x[i]

    (x,) = arrays((6, 5))
    low, high, doubled = statistics(x)
    np.testing.assert_array_equal(low, x.min(axis=1))
    np.testing.assert_array_equal(high, x.max(axis=1))
    np.testing.assert_array_equal(doubled, x * 2)
    outs = np.zeros(6), np.zeros(6), np.zeros((6, 5))
    results = statistics(x, *outs)
    assert all(np.array_equal(*pair) for pair in zip(results, outs)) and outs[1][0] == x[0].max()


def test_several_inputs_and_scalars_as_numbers():
    @cuda.guvectorize([(types.int32[:], types.int32, types.int32, types.int32[:])], "(n),(),()->(n)")
    def clip(x, low, high, result):
        for i in range(x.shape[0]):
            result[i] = min(max(x[i], low), high)

    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    np.testing.assert_array_equal(clip(x, np.int32(3), np.int32(11)), np.clip(x, 3, 11))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("place", [np.asarray, cuda.to_device])
def test_inputs_of_any_order(order, place):
    a, b = arrays((5, 3, 4), (5, 4, 2))
    np.testing.assert_allclose(np.asarray(product(place(np.array(a, order=order)), place(b))), a @ b)
    a, b = arrays((2, 5, 3, 4), (2, 5, 4, 2))
    np.testing.assert_allclose(np.asarray(product(place(np.array(a, order=order)), place(b))), a @ b)


# -- where results lie -------------------------------------------------------------------------------------


def test_device_arrays_give_a_device_array():
    (x,) = arrays((6, 5))
    result = scaled(cuda.to_device(x), 2.0)
    assert cuda.is_cuda_array(result)
    np.testing.assert_array_equal(result.copy_to_host(), x * 2)


@pytest.mark.parametrize("place", [np.asarray, cuda.to_device])
def test_out_as_the_last_argument_or_by_name(place):
    (x,) = arrays((6, 5))
    first, second = place(np.zeros((6, 5))), place(np.zeros((6, 5)))
    for result in (scaled(place(x), 2.0, first), scaled(place(x), 2.0, out=second)):
        np.testing.assert_array_equal(np.asarray(result), x * 2)
    np.testing.assert_array_equal(np.asarray(first), x * 2)
    np.testing.assert_array_equal(np.asarray(second), x * 2)


def test_out_on_the_device_with_host_inputs():
    (x,) = arrays((6, 5))
    out = cuda.device_array((6, 5))
    assert scaled(x, 3.0, out=out) is out
    np.testing.assert_array_equal(out.copy_to_host(), x * 3)


def test_out_on_the_host_with_device_inputs():
    (x,) = arrays((6, 5))
    out = np.zeros((6, 5))
    scaled(cuda.to_device(x), 3.0, out)
    np.testing.assert_array_equal(out, x * 3)


def test_elements_that_the_function_does_not_write_are_poison():
    @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
    def first_only(x, result):
        result[0] = x[0]

    result = first_only(np.ones((2, 3)))
    assert (result[:, 0] == 1).all() and np.isnan(result[:, 1:]).all()


def test_streams():
    (x,) = arrays((6, 5))
    stream = cuda.stream()
    result = scaled(cuda.to_device(x, stream=stream), 2.0, stream=stream)
    np.testing.assert_array_equal(result.copy_to_host(stream=stream), x * 2)


def test_max_blocksize_limits_the_block():
    blocks = []

    @cuda.guvectorize(["void(int64[:], int64[:])"], "(n)->(n)")
    def thread(x, result):
        result[0] = cuda.threadIdx.x

    x = np.zeros((100, 1), np.int64)
    blocks.append(thread(x).max())
    thread.max_blocksize = 32
    blocks.append(thread(x).max())
    assert blocks == [99, 31]


# -- signatures --------------------------------------------------------------------------------------------


def test_host_arrays_are_cast_where_the_signature_casts_safely_to_them():
    """numba.cuda's rule, which is the other way round than NumPy's: float64 is passed as float32."""

    @cuda.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)")
    def copy(x, result):
        for i in range(x.shape[0]):
            result[i] = x[i]

    assert copy(np.arange(6.0).reshape(2, 3)).dtype == np.float32
    with pytest.raises(TypeError, match="astype"):
        copy(cuda.to_device(np.arange(6.0).reshape(2, 3)))
    with pytest.raises(TypeError, match="no matching signature"):
        copy(np.arange(6, dtype=np.int16).reshape(2, 3))


@pytest.mark.parametrize("layout", ["n->n", "(n->(n)", "(n))->(n)", "(2)->()", "(n+1)->(n)"])
def test_texts_that_are_no_layout(layout):
    with pytest.raises(ValueError, match="bad token"):
        cuda.guvectorize(["void(float64[:], float64[:])"], layout)(lambda x, y: None)


def test_dimensions_that_only_outputs_have():
    with pytest.raises(NameError, match="undefined output symbols: p,q"):
        cuda.guvectorize(["void(float64[:], float64[:,:])"], "(n)->(q,p)")(lambda x, y: None)


def test_declarations_that_do_not_fit_the_layout(mode):
    def function(x, result):
        result[0] = x

    with pytest.raises(ValueError, match="gufunc signature mismatch: ndim>0 for scalar"):
        cuda.guvectorize(["void(float64, float64[:])"], "(n)->(n)")(function)
    with pytest.raises(TypeError, match="cannot return values"):
        cuda.guvectorize(["float64(float64, float64[:])"], "()->(n)".replace("(n)", "()"))(function)
    with pytest.raises(TypeError, match="3 arguments"):
        cuda.guvectorize(["void(float64[:], float64, float64[:])"], "(n)->(n)")(function)
    with options.override(mode="native"), pytest.raises(errors.TypingError, match="array"):
        cuda.guvectorize(["void(float64[:,:], float64[:])"], "(n)->(n)")(function)


@pytest.mark.parametrize(
    "keywords, error, text",
    [
        ({"cache": True}, TypeError, "caching is not supported"),
        ({"writable_args": (0,)}, TypeError, "writable_args are not supported"),
        ({"nopython": False}, TypeError, "nopython flag must be True"),
        ({"fastmath": True}, TypeError, "not supported: 'fastmath'"),
        ({"identity": 2}, ValueError, "Invalid identity value"),
        ({"target": "parallel"}, ValueError, "Unsupported target"),
    ],
)
def test_options_that_are_refused(keywords, error, text):
    with pytest.raises(error, match=text):
        cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", **keywords)(lambda x, y: None)


def test_nopython_is_accepted_and_a_layout_alone_is_not():
    cuda.guvectorize("void(float64[:], float64[:])", "(n)->(n)", nopython=True)(lambda x, y: None)
    with pytest.raises(TypeError, match="is_dynamic"):
        cuda.guvectorize("(n)->(n)")(lambda x, y: None)
    with pytest.raises(TypeError, match="one or two"):
        cuda.guvectorize()


# -- calls that are refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shapes, text",
    [
        (((3, 4), (5, 2)), r"arg #2: shape\[0\] mismatch argument"),
        (((3, 4), (4,)), "arg #2: insufficient inner dimension"),
        (((5, 3, 4), (6, 4, 2)), "arg #1: outer dimension mismatch"),
        (((5, 1, 3, 4), (1, 6, 4, 2)), "arg #1: outer dimension mismatch"),
    ],
)
def test_shapes_that_do_not_fit(shapes, text):
    with pytest.raises(ValueError, match=text):
        product(*arrays(*shapes))


def test_numbers_of_arguments_that_do_not_fit():
    a, b = arrays((3, 4), (4, 2))
    for given, text in (((a,), "Got 1 positional argument."), ((a, b, a, b), "Got 4 positional arguments.")):
        with pytest.raises(TypeError, match=text):
            product(*given)
    with pytest.raises(ValueError, match="both positional and keyword"):
        product(a, b, np.zeros((3, 2)), out=np.zeros((3, 2)))


def test_an_output_of_another_shape():
    a, b = arrays((3, 4), (4, 2))
    with pytest.raises(ValueError, match="output shape mismatch"):
        product(a, b, out=np.zeros((2, 3)))


def test_no_calls_at_all():
    with pytest.raises(AssertionError, match="zero looping dimension"):
        total(np.zeros((0, 3)))


def test_the_kernel_around_a_function_has_names_of_its_own():
    def function(x, result):
        for k in range(x.shape[0]):
            result[k] = x[k]

    names = {"min": None, "i": None, "a0": None, "__name__": __name__}
    copy = python_types.FunctionType(function.__code__, names, "copy")
    ufunc = cuda.guvectorize(["void(int64[:], int64[:])"], "(n)->(n)")(copy)
    np.testing.assert_array_equal(ufunc(np.arange(6).reshape(2, 3)), np.arange(6).reshape(2, 3))


def test_a_fault_names_thread_and_line_of_the_function():
    @cuda.guvectorize(["void(int64[:], int64[:])"], "(n)->(n)")
    def shifted(x, result):
        for i in range(x.shape[0]):
            result[i + x[0]] = x[i]

    x = np.zeros((8, 4), np.int64)
    x[5:, 0] = 1
    with pytest.raises(IndexError) as caught:
        shifted(x)
    assert str(caught.value) == (
        "tid=[5, 0, 0] ctaid=[0, 0, 0]: index 4 is out of bounds for axis 0 with size 4"
    )
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "shifted" and "result[i + x[0]]" in frames[-1].line
    assert [frame.filename for frame in frames] == [__file__] * 2


# -- schedules ---------------------------------------------------------------------------------------------


def test_schedule_takes_shapes_apart():
    engine = GUFuncEngine.from_signature("(m,n),(n,p)->(m,p)")
    assert (engine.nin, engine.nout, engine.sin, engine.sout) == (
        2,
        1,
        [("m", "n"), ("n", "p")],
        [("m", "p")],
    )
    schedule = engine.schedule([(100, 4, 5), (5, 7)])
    assert schedule.ishapes == [(4, 5), (5, 7)] and schedule.oshapes == [(4, 7)]
    assert schedule.loopdims == (100,) and schedule.loopn == 100
    assert schedule.pinned == [False, True] and schedule.output_shapes == [(100, 4, 7)]


def test_schedule_of_scalars():
    schedule = GUFuncEngine.from_signature("(),()->()").schedule([(3, 4), ()])
    assert schedule.ishapes == [(), ()] and schedule.oshapes == [()]
    assert schedule.loopdims == (3, 4) and schedule.loopn == 12 and schedule.pinned == [False, True]
    with pytest.raises(TypeError, match="invalid number of input"):
        GUFuncEngine.from_signature("(),()->()").schedule([()])

"""Dispatchers: signatures, options of jit, overloads, inspection."""

import functools
import math
import pickle
import re

import numpy as np
import pytest
from cudasim import cuda, errors, options, types


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_signatures_convert_arguments():
    @cuda.jit("void(float64[:], int32, float32)")
    def store(out, a, b):
        out[0] = a
        out[1] = b

    out = np.zeros(2)
    store[1, 1](out, 3.9, 7)
    assert out.tolist() == [3, 7]
    assert store.signatures == [(types.float64[:], types.int32, types.float32)]
    with pytest.raises(TypeError, match=r"No matching definition for argument type\(s\) array\(float32"):
        store[1, 1](np.zeros(2, np.float32), 1, 1)


@pytest.mark.parametrize(
    "signature",
    [
        "void(int64[:])",
        "(int64[:],)",
        (types.int64[:],),
        types.void(types.int64[:]),
        ["void(float64[:])", "void(int64[:])"],
    ],
)
def test_signatures_in_every_form(signature):
    @cuda.jit(signature)
    def add(x):
        x[0] += 1

    x = np.zeros(1, np.int64)
    add[1, 1](x)
    assert x[0] == 1


def test_signatures_compile_at_once():
    from cudasim import errors, options

    with options.override(mode="native"), pytest.raises(errors.NumbaError):

        @cuda.jit("void(int64)")
        def wrong(x):
            x[0] = 1


def test_kernels_return_nothing():
    with pytest.raises(TypeError, match="must have void return type"):
        cuda.jit("int32(int32)")(lambda x: x)


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"boundscheck": True}, NotImplementedError),
        ({"argtypes": ()}, errors.DeprecationError),
        ({"restype": types.int32}, errors.DeprecationError),
        ({"bind": False}, errors.DeprecationError),
        ({"nosuchoption": 1}, TypeError),
        ({"parallel": True}, TypeError),
        ({"nopython": True}, TypeError),
        ({"shared_memory_carveout": "much"}, ValueError),
        ({"shared_memory_carveout": 101}, ValueError),
        ({"shared_memory_carveout": 0.5}, TypeError),
        ({"launch_bounds": "many"}, ValueError),
        ({"launch_bounds": (1, 1, 1, 1)}, ValueError),
    ],
)
def test_options_of_jit_that_cannot_be_had_are_refused(arguments, error):
    with pytest.raises(error):
        cuda.jit(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"debug": True, "opt": False},
        {"fastmath": True},
        {"lineinfo": True},
        {"max_registers": 32},
        {"inline": "always"},
        {"cache": True},
        {"boundscheck": False},
        {"link": []},
        {"argtypes": None},
        {"forceinline": True},
        {"lto": True},
        {"opt": False},
        {"shared_memory_carveout": "MaxShared"},
        {"shared_memory_carveout": -1},
        {"launch_bounds": 4},
        {"launch_bounds": (4, 1)},
    ],
)
def test_options_of_jit_that_are_accepted(arguments):
    x = np.zeros(4)
    cuda.jit(**arguments)(increment.py_func)[1, 4](x)
    assert (x == 1).all()


def test_launch_bounds_limit_the_block():
    bounded = cuda.jit(launch_bounds=(64, 2))(increment.py_func)
    bounded[1, (8, 8)](np.zeros(64))
    with pytest.raises(
        errors.CudaAPIError, match="65 threads per block.*launch_bounds=\\(64, 2\\)"
    ) as caught:
        bounded[1, 65](np.zeros(65))
    assert caught.value.code == 1
    assert list(bounded.get_max_threads_per_block().values()) == [64]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"debug": True}, "debug=True with opt=True is not supported by CUDA"),
        ({"debug": True, "opt": True}, "debug=True with opt=True is not supported by CUDA"),
        ({"debug": True, "opt": False, "lineinfo": True}, "debug and lineinfo are mutually exclusive"),
    ],
)
def test_options_that_do_not_go_together_are_warned_of_at_the_decorator(arguments, words):
    with pytest.warns(errors.NumbaInvalidConfigWarning, match=words) as caught:
        cuda.jit(**arguments)(increment.py_func)
    assert [warning.filename for warning in caught] == [__file__]


def test_debug_and_opt_have_numbas_variables(run):
    code = """
        import warnings
        import numpy as np
        from cudasim import cuda
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel = cuda.jit(lambda x: None)
        print(kernel.targetoptions["debug"], kernel.targetoptions["opt"], len(caught))
    """
    assert run.script(code).stdout == "False True 0\n"
    assert run.script(code, NUMBA_CUDA_DEBUGINFO="1").stdout == "True True 1\n"
    assert run.script(code, NUMBA_CUDA_DEBUGINFO="1", NUMBA_OPT="0").stdout == "True False 0\n"


@cuda.jit
def combines(x, y, out):
    i = cuda.grid(1)
    a, b = x[i], y[i]
    out[i] = (a + b) - a
    out[i + x.size] = a / b


@pytest.mark.parametrize("opt", [False, True])
def test_fastmath_reassociates_and_lets_ieee_results_stand(opt):
    x = np.array([1e20, 1.0, -1.0, 0.0, np.inf], np.float32)
    y = np.array([3.0, 0.0, 0.0, 0.0, np.inf], np.float32)
    exact, fast = np.zeros(10, np.float32), np.zeros(10, np.float32)
    with pytest.warns(errors.CudasimWarning, match="division"):
        combines[1, 5](x, y, exact)
    with pytest.warns(errors.CudasimWarning, match="division"):
        cuda.jit(fastmath=True, opt=opt)(combines.py_func)[1, 5](x, y, fast)
    assert exact[0] == 0
    if opt:
        assert fast[0] == 3  # (1e20 + 3) - 1e20, reassociated
    np.testing.assert_array_equal(fast[5:], exact[5:])  # 1e20 / 3, inf, -inf, nan, nan
    assert np.isposinf(fast[6]) and np.isneginf(fast[7]) and np.isnan(fast[8:]).all()


def test_fastmath_reaches_both_back_ends():
    fast = cuda.jit("void(float32[:], float32[:], float32[:])", fastmath=True)(combines.py_func)
    exact = cuda.jit("void(float32[:], float32[:], float32[:])")(combines.py_func)
    flags = "reassoc nsz arcp contract afn"
    assert flags in next(iter(fast.inspect_llvm().values()))
    assert flags not in next(iter(exact.inspect_llvm().values()))
    assert "div.approx" in next(iter(fast.inspect_asm().values()))
    assert "div.rn.f32" in next(iter(exact.inspect_asm().values()))


def test_jit_decorates_functions_only():
    with pytest.raises(TypeError, match="3 is not a callable object"):
        cuda.jit(3)
    with pytest.raises(TypeError):
        cuda.jit(len)


def test_dispatchers_look_like_the_function():
    assert increment.__name__ == "increment" and increment.__module__ == __name__
    assert increment.py_func.__code__.co_varnames[0] == "x"
    functools.update_wrapper(lambda: 0, increment)


def test_dispatchers_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(increment)) is increment


def make_kernel(amount):
    @cuda.jit(device=True)
    def twice(value):
        return value * 2

    @cuda.jit
    def add(x, factor=1.0):
        x[cuda.grid(1)] += twice(amount) * factor + math.floor(0.5)

    return add


def test_kernels_without_a_name_are_pickled_with_what_they_need():
    copy = pickle.loads(pickle.dumps(make_kernel(3)))
    x = np.zeros(2)
    copy[1, 2](x)
    copy[1, 2](x, 2.0)
    assert x.tolist() == [18, 18] and copy.py_func.__name__ == "add"
    declared = pickle.loads(pickle.dumps(cuda.jit("void(int8[:])")(lambda x: None)))
    assert declared.signatures == [(types.int8[:],)]


def test_configured_kernels_are_pickled():
    copy = pickle.loads(pickle.dumps(increment[(2, 1), 4, 0, 16]))
    assert copy.dispatcher is increment and copy.blockdim == (4, 1, 1) and copy.sharedmem == 16
    x = np.zeros(8)
    copy(x)
    assert (x == 1).all()


def test_one_overload_per_tuple_of_types():
    kernel = cuda.jit(increment.py_func)
    for dtype in (np.float32, np.float64, np.float32):
        kernel[1, 1](np.zeros(1, dtype))
    assert list(kernel.overloads) == [(types.float32[::1],), (types.float64[::1],)]


def test_read_only_arrays_have_an_overload_of_their_own():
    kernel = cuda.jit(lambda x, out: None)
    table, out = np.zeros(3), np.zeros(3)
    kernel[1, 1](table, out)
    table.flags.writeable = False
    kernel[1, 1](table, out)
    kernel[1, 1](cuda.In(table), out)
    plain, read_only = types.float64[::1], types.Array(types.float64, 1, "C", readonly=True)
    assert kernel.signatures == [(plain, plain), (read_only, plain)]
    assert kernel.overloads[read_only, plain] is not kernel.overloads[plain, plain]
    assert (
        kernel.overloads["(Array(float64, 1, 'C', True), float64[::1])"] is kernel.overloads[read_only, plain]
    )
    assert kernel.overloads[read_only, plain].signature.args == (read_only, plain)
    assert kernel.inspect_asm((read_only, plain)) == kernel.inspect_asm((plain, plain))


@pytest.mark.parametrize("declared", ["void(float64[::1])", "void(float64[:])"])
def test_signatures_take_read_only_arrays(declared):
    kernel = cuda.jit(declared)(lambda x: None)
    kernel[1, 1](np.broadcast_to(np.zeros(3), (3,)))
    assert len(kernel.signatures) == 1


def test_signatures_keep_what_the_compiler_does_not_tell_apart():
    unaligned = types.Array(types.float64, 1, "C", aligned=False)
    kernel = cuda.jit(types.void(unaligned))(lambda x: None)
    kernel[1, 1](np.zeros(3))
    assert kernel.signatures == [(unaligned,)]
    again = pickle.loads(pickle.dumps(next(iter(kernel.overloads.values()))))
    assert again.argument_types == (unaligned,)


def test_specialize_has_one_overload():
    kernel = increment.specialize(np.zeros(1, np.int8))
    assert kernel.specialized and list(kernel.overloads) == [(types.int8[::1],)]
    x = np.zeros(2, np.int8)
    kernel[1, 2](x)
    assert x.tolist() == [1, 1]


def test_stages_can_be_inspected(capsys):
    kernel = cuda.jit(increment.py_func)
    kernel[1, 1](np.zeros(1))
    (ir,), (ptx,) = kernel.inspect_llvm().values(), kernel.inspect_asm().values()
    assert re.search(r'define void @"?increment', ir) and re.search(r"\.visible \.entry increment", ptx)
    kernel.inspect_types()
    assert "increment" in capsys.readouterr().out


def test_options_in_force_at_the_launch_count():
    @cuda.jit
    def divide(x):
        x[0] = 1 / x[0]

    divide[1, 1](np.ones(1))
    with options.override(raise_float_division=True), pytest.raises(ZeroDivisionError):
        divide[1, 1](np.zeros(1))


class _Scaling:
    """An argument extension that passes scaled copies of arrays and copies them back."""

    def __init__(self, factor):
        self.factor, self.seen = factor, []

    def prepare_args(self, ty, val, stream, retr):
        self.seen.append(str(ty))
        if not isinstance(val, np.ndarray):
            return ty, val
        scaled = val * self.factor
        retr.append(lambda: val.__setitem__(slice(None), scaled))
        return ty, scaled


def test_extensions_prepare_arguments_from_the_last_to_the_first():
    twice, plus = _Scaling(2.0), _Scaling(10.0)

    @cuda.jit(extensions=[twice, plus])
    def kernel(x, pair):
        x[0] += pair[0]

    array = np.ones(1)
    kernel[1, 1](array, (3, 4))
    assert kernel.extensions == [twice, plus]
    assert plus.seen == ["array(float64, 1d, C)", "UniTuple(int64 x 2)", "int64", "int64"] == twice.seen
    assert array.tolist() == [10.0]  # what was appended first is called first
    assert cuda.jit(lambda x: None).extensions == []


@pytest.mark.parametrize(
    "wrap, kept",
    [(cuda.In, [0, 0]), (cuda.Out, [7, 7]), (cuda.InOut, [7, 7])],
)
@pytest.mark.parametrize("copies_itself", [False, True])
def test_extensions_say_how_arrays_are_copied(wrap, kept, copies_itself):
    class Direction:
        def prepare_args(self, ty, val, stream, retr):
            wrapped = wrap(val)
            return ty, wrapped.to_device(retr, stream=stream) if copies_itself else wrapped

    @cuda.jit(extensions=[Direction()])
    def fill(x):
        x[cuda.grid(1)] = 7

    array = np.zeros(2)
    fill[1, 2](array)
    assert array.tolist() == kept
    fill[1, 2](on_device := cuda.to_device(np.zeros(2)))
    assert on_device.copy_to_host().tolist() == [7, 7]


def test_callbacks_before_a_launch_see_kernel_and_arguments():
    seen = []
    configured = increment[1, 4]
    x = np.zeros(4)

    def before(kernel, configuration):
        seen.append((kernel.py_func, configuration.griddim, configuration.args[0] is x, x.copy()))

    configured.pre_launch_callbacks.append(before)
    try:
        configured(x)
        assert configured.args is None and len(seen) == 1
        assert seen[0][:3] == (increment.py_func, (1, 1, 1), True) and seen[0][3].tolist() == [0] * 4
        with pytest.raises(TypeError, match="pre_launch_callbacks cannot be pickled"):
            pickle.dumps(configured)
    finally:
        configured.pre_launch_callbacks.clear()
    configured(x)
    assert len(seen) == 1


def test_the_launch_that_a_kernel_is_compiled_for_can_be_known():
    from cudasim.cuda import launchconfig

    @cuda.jit
    def store(x, value):
        x[0] = value

    x = np.zeros(1)
    with launchconfig.capture_compile_config(store) as captured:
        store[2, 3, 0, 16](x, 5)
        seen = captured["config"]
        assert (seen.griddim, seen.blockdim, seen.sharedmem) == (
            (2, 1, 1),
            (3, 1, 1),
            16,
        ) and seen.dispatcher is store
        store[1, 1](x, 6)
        assert captured["config"] is seen  # compiled before
        store.compile("void(float32[:], float32)")
        assert captured["config"] is seen  # no launch
    store[1, 1](x, 1.5)
    assert captured["config"] is seen and launchconfig.current_launch_config() is None
    with pytest.raises(RuntimeError, match="No launch config set for this thread"):
        launchconfig.ensure_current_launch_config()


def test_extensions_see_the_launch_that_they_are_compiled_for():
    from cudasim.cuda import extending, launchconfig

    def threads():
        """Threads per block of the launch."""

    seen = []

    @extending.overload(threads)
    def implement_threads():
        configuration = launchconfig.ensure_current_launch_config()
        count = configuration.blockdim[0]
        seen.append(len(configuration.args))
        return lambda: count

    @cuda.jit
    def store(x):
        x[0] = threads()

    x = np.zeros(1, np.int64)
    store[1, 7](x)
    assert x[0] == 7 and set(seen) == {1}


@cuda.jit
def one_shared_element(x):
    tile = cuda.shared.array(1, np.int64)
    tile[0] = cuda.threadIdx.x
    cuda.syncthreads()
    x[cuda.grid(1)] = tile[0]


def test_debug_information_in_ptx_has_the_names_that_ptx_has():
    """The optimiser calls the element of an array that it takes apart `tile.0`, which is not a name in PTX."""
    one_shared_element[1, 32](np.zeros(32, np.int64))
    (ptx,) = one_shared_element.inspect_asm().values()
    assert "tile$shared" in ptx and "tile$shared." not in ptx

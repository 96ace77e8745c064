"""numba.cuda.extending.overload: what kernels call is implemented by types of the arguments."""

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.cuda.extending import overload


def magnitude(value, scale=1):
    raise NotImplementedError("implemented in kernels")


@overload(magnitude)
def implement_magnitude(value, scale=1):
    if isinstance(value, type(cuda.types.UniTuple(cuda.types.float64, 2))):
        return lambda value, scale=1: (value[0] ** 2 + value[1] ** 2) ** 0.5 * scale
    if value == cuda.types.float64 or value == cuda.types.int64:
        def of_number(value, scale=1):
            if value < 0:
                return -value * scale
            return value * scale

        return of_number
    return None


@cuda.jit
def use(x, y):
    x[0] = magnitude(x[0])
    x[1] = magnitude((3.0, 4.0))
    x[2] = magnitude((3.0, 4.0), 2)
    x[3] = magnitude(-7)
    y[0] = magnitude(y[0], scale=3)


def test_each_call_gets_the_function_for_its_types():
    x, y = np.array([-2.5, 0, 0, 0]), np.array([-4])
    with options.override(mode="native"):
        use[1, 1](x, y)
    assert x.tolist() == [2.5, 5.0, 10.0, 7.0] and y.tolist() == [12]


def test_types_that_no_implementer_takes_are_refused():
    @cuda.jit
    def kernel(x):
        x[0] = magnitude(True)

    words = r"No implementation of function Function\(<function implement_magnitude>\) found for signature:\n >>> .*bool"
    with options.override(mode="native"), pytest.raises(errors.TypingError, match=words):
        kernel[1, 1](np.zeros(1))


def test_implementations_may_call_overloaded_and_device_functions():
    def total(values):
        raise NotImplementedError

    @cuda.jit(device=True)
    def add(a, b):
        return a + b

    @overload(total)
    def implement_total(values):
        return lambda values: add(magnitude(values[0]), magnitude(values[1]))

    @cuda.jit
    def kernel(x):
        x[0] = total((-1.5, 2))

    x = np.zeros(1)
    with options.override(mode="native"):
        kernel[1, 1](x)
    assert x[0] == 3.5
    assert ".entry" in cuda.compile_ptx(kernel.py_func, (cuda.float64[:],))[0]


def test_what_programs_registered_with_numba_is_known(run_with_numba):
    done = run_with_numba.script(
        """
        import numpy as np
        from numba import cuda, types
        from numba.extending import overload, register_jitable

        def clip(value, low):
            raise NotImplementedError

        @overload(clip, target="cuda")
        def implement_clip(value, low):
            if isinstance(value, types.Float):
                return lambda value, low: value if value > low else low

        @register_jitable
        def plus_one(x):
            return x + 1

        @cuda.jit
        def kernel(x):
            x[0] = plus_one(clip(x[0], 2.0))

        x = np.zeros(1)
        kernel[1, 1](x)
        print(x)
        """,
        ENABLE_CUDASIM="1",
        CUDASIM_MODE="native",
    )
    assert done.stdout == "[3.]\n", done.stderr

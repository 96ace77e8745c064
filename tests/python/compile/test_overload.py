"""numba.cuda.extending.overload: what kernels call is implemented by types of the arguments."""

import collections
import threading

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.cuda import extending, types
from cudasim.cuda.extending import is_jitted, overload, overload_attribute, overload_method, register_jitable


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

    words = (
        r"No implementation of function Function\(<function magnitude>\) found for signature:\n >>> .*bool"
    )
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


BOTH_MODES = pytest.mark.parametrize("mode", ["native", "python"])


def run(kernel, mode, size, *args):
    out = np.zeros(size)
    with options.override(mode=mode):
        kernel[1, 1](out, *args)
    return out.tolist()


@BOTH_MODES
def test_overloaded_functions_run_in_both_modes(mode):
    @cuda.jit
    def kernel(out, x):
        out[0] = magnitude(x[0])
        out[1] = magnitude((3.0, 4.0), 2)
        out[2] = magnitude(-7, scale=2)

    assert run(kernel, mode, 3, np.array([-2.5])) == [2.5, 10.0, 14.0]


@BOTH_MODES
def test_what_a_call_leaves_out_is_left_out_of_the_question(mode):
    asked = []

    def pick(x, y=None, z=3):
        raise NotImplementedError

    @overload(pick, inline="always", jit_options={"fastmath": True})
    def implement(x, y=None, z=3):
        asked.append((y is None, isinstance(y, types.NoneType), z))
        if y is None:
            return lambda x, y=None, z=3: 10 * x
        if isinstance(y, types.NoneType):
            return lambda x, y=None, z=3: 20 * x
        if isinstance(y, (types.UnicodeType, types.StringLiteral)):
            return lambda x, y=None, z=3: x + len(y)
        return lambda x, y=None, z=3: x + y * z

    @cuda.jit
    def kernel(out):
        out[0] = pick(1)
        out[1] = pick(1, None)
        out[2] = pick(1, "four")
        out[3] = pick(1, 5, z=2)
        out[4] = pick(1, z=7)

    assert run(kernel, mode, 5) == [10, 20, 5, 11, 10]
    assert (True, False, 3) in asked and (False, True, 3) in asked


@BOTH_MODES
def test_literal_types_are_asked_for_after_plain_ones_or_before(mode):
    def sized(n):
        raise NotImplementedError

    def first(n):
        raise NotImplementedError

    @overload(sized)
    def implement_sized(n):
        if isinstance(n, types.IntegerLiteral):
            value = n.literal_value

            def implementation(n):
                scratch = cuda.local.array(n, types.float32)
                return scratch.size + value

            return implementation

    @overload(first, prefer_literal=True)
    def implement_first(n):
        found = 1 if isinstance(n, types.Literal) else 2
        return lambda n: found

    @cuda.jit
    def kernel(out, x):
        out[0] = sized(7)
        out[1] = first(7)
        out[2] = first(x[0])

    assert run(kernel, mode, 3, np.array([1.5])) == [14, 1, 2]


@BOTH_MODES
def test_methods_and_attributes_of_values(mode):
    @overload_method(types.Array, "scaled_total")
    def scaled_total(array, scale=1.0):
        def implementation(array, scale=1.0):
            total = 0.0
            for i in range(array.size):
                total += array[i]
            return total * scale

        return implementation

    @overload_attribute(types.Array, "half_size")
    def half_size(array):
        if array.ndim == 1:
            return lambda array: array.size / 2

    @overload_attribute(types.float32, "doubled")
    def doubled(value):
        return lambda value: value * 2

    @cuda.jit
    def kernel(out, x):
        out[0] = x.scaled_total()
        out[1] = x.scaled_total(3.0)
        out[2] = x.scaled_total(scale=2.0) + x.half_size
        out[3] = x[1].doubled

    assert run(kernel, mode, 4, np.array([1, 2, 4], np.float32)) == [7, 21, 15.5, 4]


def test_attributes_that_no_implementer_takes_are_refused():
    @overload_attribute(types.Array, "rows_of_two")
    def rows(array):
        return (lambda array: array.shape[0]) if array.ndim == 2 else None

    @cuda.jit
    def kernel(out, x):
        out[0] = x.rows_of_two

    with options.override(mode="native"), pytest.raises(errors.TypingError, match="rows_of_two"):
        kernel[1, 1](np.zeros(1), np.zeros(1))
    assert run(kernel, "native", 1, np.zeros((5, 2))) == [5]


@BOTH_MODES
def test_named_tuples_and_records_are_known_as_what_they_are(mode):
    point = collections.namedtuple("point", "u v")

    def kind_of(x):
        raise NotImplementedError

    @overload(kind_of)
    def implement(x):
        if isinstance(x, types.NamedTuple) and x.instance_class is point:
            return lambda x: x.v
        if isinstance(x, types.BaseTuple):
            return lambda x: x[0]
        if isinstance(x, types.Record):
            return lambda x: x.w

    @cuda.jit
    def kernel(out, p, records):
        out[0] = kind_of(p)
        out[1] = kind_of((5.0, 1))
        out[2] = kind_of(records[0])

    records = np.array([(1, 2.5)], [("k", "i8"), ("w", "f8")])
    assert run(kernel, mode, 3, point(1, 2.0), records) == [2, 5, 2.5]


@BOTH_MODES
def test_the_most_special_target_is_asked_first(mode):
    def where():
        raise NotImplementedError

    @overload(where, target="generic")
    def generic():
        return lambda: 1

    @overload(where, target="cuda")
    def special():
        return lambda: 2

    @overload(where, target="cpu")
    def host():
        return lambda: 3

    @cuda.jit
    def kernel(out):
        out[0] = where()

    assert run(kernel, mode, 1) == [2]


@BOTH_MODES
def test_register_jitable_functions_are_plain_python_on_the_host(mode):
    @register_jitable
    def product(a, b=2):
        return a * b

    @register_jitable(inline="always")
    def negative(a):
        return -product(a)

    @cuda.jit
    def kernel(out):
        out[0] = product(3)
        out[1] = negative(4)

    assert run(kernel, mode, 2) == [6, -8] and product(5) == 10
    assert is_jitted(kernel) and not is_jitted(product)


def test_an_implementers_reason_is_part_of_the_refusal():
    def picky(x):
        raise NotImplementedError

    @overload(picky)
    def implement(x):
        raise errors.TypingError("picky() wants whole numbers")

    @cuda.jit
    def kernel(out):
        out[0] = picky(1.5)

    with (
        options.override(mode="native"),
        pytest.raises(errors.TypingError, match="picky.. wants whole numbers"),
    ):
        kernel[1, 1](np.zeros(1))


def test_other_parameters_of_the_implementation_are_refused():
    def two(x, y):
        raise NotImplementedError

    @overload(two)
    def implement(x, y):
        return lambda a, b: a

    @cuda.jit
    def kernel(out):
        out[0] = two(1, 2)

    with options.override(mode="native"), pytest.raises(errors.TypingError, match="differ in argument names"):
        kernel[1, 1](np.zeros(1))


@pytest.mark.parametrize("module", ["numba.extending", "numba.cuda.extending"])
def test_methods_and_attributes_beside_numba(run_with_numba, module):
    done = run_with_numba.script(
        f"""
        import numpy as np
        from numba import cuda, types
        from {module} import overload, overload_attribute, overload_method, register_jitable
        from cudasim import options

        @overload_method(types.Array, "total_of")
        def total_of(array, count):
            if isinstance(count, types.Integer):
                def implementation(array, count):
                    total = 0.0
                    for i in range(count):
                        total += array[i]
                    return total
                return implementation

        @overload_attribute(types.Float, "doubled")
        def doubled(value):
            return lambda value: value * 2

        def which(x, y=None):
            raise NotImplementedError

        @overload(which, target="cuda", prefer_literal=True)
        def implement(x, y=None):
            if isinstance(x, types.IntegerLiteral):
                return lambda x, y=None: 1.0
            if y is None and isinstance(x, types.Float):
                return lambda x, y=None: 2.0

        @cuda.jit
        def kernel(out, x):
            out[0] = x.total_of(2)
            out[1] = x[1].doubled
            out[2] = which(4)
            out[3] = which(x[0])

        for mode in ("native", "python"):
            out = np.zeros(4)
            with options.override(mode=mode):
                kernel[1, 1](out, np.array([1.0, 2.0, 4.0]))
            print(out)
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout == "[3. 4. 1. 2.]\n" * 2, done.stderr


def test_extensions_get_the_types_that_programs_register():
    class Wrapped:
        def __init__(self, array):
            self.array = array

    class Count:
        def __index__(self):
            return 5

    @extending.typeof_impl.register(Wrapped)
    def type_of_wrapped(value, context):
        return types.Array(types.float64, 1, "C")

    @extending.typeof_impl.register(Count)
    def type_of_count(value, context):
        return types.int64

    class Unwrapping:
        seen = []

        def prepare_args(self, ty, val, stream, retr):
            self.seen.append(str(ty))
            return ty, val.array if isinstance(val, Wrapped) else val

    @cuda.jit(extensions=[Unwrapping()])
    def kernel(out, count):
        out[0] = count + 1

    array = np.zeros(1)
    kernel[1, 1](Wrapped(array), Count())
    assert array[0] == 6 and Unwrapping.seen == ["array(float64, 1d, C)", "int64"]


def asked(value):
    raise NotImplementedError("implemented in kernels")


ASKED: list = []


@overload(asked)
def implement_asked(value):
    ASKED.append((str(value), threading.get_ident()))
    if value == cuda.types.complex64:
        raise KeyError("an implementer's own mistake")
    return lambda value: value + 1


def test_implementers_are_asked_once_for_each_type_on_the_thread_that_compiles():
    @cuda.jit
    def kernel(x):
        for i in range(3):
            x[i] = asked(x[i]) + asked(i) + asked(x[i] * 2)

    ASKED.clear()
    kernel[1, 1](np.ones(3))
    assert ASKED == [("float64", threading.get_ident()), ("int64", threading.get_ident())]


def test_what_an_implementer_raises_reaches_the_launch():
    @cuda.jit
    def kernel(x):
        x[0] = asked(x[0])

    with pytest.raises(KeyError, match="own mistake"):
        kernel[1, 1](np.ones(3, np.complex64))

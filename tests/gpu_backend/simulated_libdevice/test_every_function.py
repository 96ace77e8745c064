"""Every function of NVIDIA's libdevice on the simulator: it can be called, and gives what PTX gives that is linked with
it; those that the simulator has of its own are near them."""

import math
import pathlib
import sys

import numpy as np
import pytest
from cudasim import _native, cuda, options
from cudasim.cuda import libdevice

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "frontend" / "pykernel"))

ROWS = 64
#: Functions in one kernel.
TOGETHER = 25
#: What an argument or a result may take of a row, in words of 8 bytes.
ARGUMENTS, RESULTS = 8, 4
#: Their first argument is the number of elements of an array, the second its address.
OF_ARRAYS = ("norm", "normf", "rnorm", "rnormf")
#: Their first argument is the number of steps of a loop.
OF_ORDER = ("jn", "jnf", "yn", "ynf")
NUMPY = {"float": np.float32, "double": np.float64, "i16": np.int16, "i32": np.int32, "i64": np.int64}


class Call:
    """One function: its types, and ROWS rows of arguments."""

    def __init__(self, function, llvm_type):
        self.function, self.name = function, function.removeprefix("__nv_")
        self.result, rest = llvm_type.split(" (", 1)
        self.parameters = [each for each in rest.rstrip(")").split(", ") if each]
        self.arguments = np.zeros((ROWS, ARGUMENTS), np.uint64)

    def put(self, position, values):
        """Values of one parameter, a column of ROWS."""
        column = np.ascontiguousarray(values, NUMPY[self.parameters[position]])
        self.arguments[:, position] = column.view(f"u{column.itemsize}")

    def code(self, number):
        """Lines that call it: addresses are those of its results, behind the result itself."""
        lines, given, after = [], [], 1
        for position, kind in enumerate(self.parameters):
            if kind == "ptr":
                # Arrays are read from the arguments.
                base, word = (f"%in{number}", 4) if self.name in OF_ARRAYS else (f"%out{number}", after)
                after += 1
                lines.append(f"%a{number}.{position} = getelementptr i64, ptr {base}, i64 {word}")
            else:
                lines += [f"%p{number}.{position} = getelementptr i64, ptr %in{number}, i64 {position}",
                          f"%a{number}.{position} = load {kind}, ptr %p{number}.{position}"]  # fmt: skip
            given.append(f"{kind} %a{number}.{position}")
        call = f"call {self.result} @{self.function}({', '.join(given)})"
        if self.result == "void":
            return [*lines, call]
        return [*lines, f"%r{number} = {call}", f"store {self.result} %r{number}, ptr %out{number}"]


def image_of(calls):
    """A kernel `k`: thread i calls all functions with its arguments."""
    lines = []
    for number, call in enumerate(calls):
        lines += [f"%row{number} = add i64 %first, {number}",
                  f"%in{number} = getelementptr [{ARGUMENTS} x i64], ptr %in, i64 %row{number}",
                  f"%out{number} = getelementptr [{RESULTS} x i64], ptr %out, i64 %row{number}",
                  *call.code(number)]  # fmt: skip
    declared = [f"declare {call.result} @{call.function}({', '.join(call.parameters)})" for call in calls]
    text = f"""
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
{chr(10).join(declared)}
define void @k(ptr %in, ptr %out) {{
%tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
%wide = zext i32 %tid to i64
%first = mul i64 %wide, {len(calls)}
{chr(10).join(lines)}
ret void
}}
!nvvm.annotations = !{{!0}}
!0 = !{{ptr @k, !"kernel", i32 1}}
"""
    return _native.KernelImage.from_ir_text(text)


def launched(module, calls):
    """What the kernel `k` of a module stores: an array of (ROWS, functions, RESULTS) words."""
    inputs = cuda.to_device(np.stack([call.arguments for call in calls], axis=1).ravel())
    out = cuda.to_device(np.zeros(ROWS * len(calls) * RESULTS, np.uint64))
    module.get_function("k").launch((1, 1, 1), (ROWS, 1, 1), 0, None, [inputs, out])
    return out.copy_to_host().reshape(ROWS, len(calls), RESULTS)


def groups(calls):
    return [calls[first : first + TOGETHER] for first in range(0, len(calls), TOGETHER)]


@pytest.fixture(scope="module")
def every(libdevice_path):
    """All functions, without arguments."""
    return [Call(*each) for each in _native.functions_in_libdevice(libdevice_path).items()]


def reals(kind, rng):
    """Numbers of all sizes, and those that functions treat by themselves."""
    values = rng.standard_normal(ROWS) * 10.0 ** rng.integers(-6, 7, ROWS)
    values[:8] = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5]
    return rng.permutation(values).astype(kind)


def with_one_nan(call, words):
    """The results with one NaN like another: a host's processor chooses signs of NaNs, a GPU has one NaN."""
    words = words.copy()
    if call.result in ("float", "double"):
        numbers = np.ascontiguousarray(words[:, 0]).view(NUMPY[call.result])[
            :: 8 // np.dtype(NUMPY[call.result]).itemsize
        ]
        words[np.isnan(numbers), 0] = 0x7FFF
    return words


def test_all_functions_can_be_called_and_equal_their_ptx_bit_for_bit(libdevice_path, every):
    assert len(every) > 330
    rng, wrong = np.random.default_rng(5), []
    for call in every:
        for position, kind in enumerate(call.parameters):
            if kind in ("float", "double"):
                call.put(position, reals(NUMPY[kind], rng))
            elif kind != "ptr":
                call.put(
                    position,
                    rng.integers(0, 9, ROWS)
                    if call.name in OF_ORDER
                    else rng.integers(-(1 << 31), 1 << 31, ROWS),
                )
        if call.name in OF_ARRAYS:
            call.put(0, rng.integers(0, 4, ROWS))
            call.arguments[:, 4:] = np.linspace(-3, 5, 4).view(np.uint64)
    for calls in groups(every):
        image = image_of(calls)
        linked = _native.with_libdevice(image, libdevice_path, "sm_90")
        assert _native.linked_libdevice(linked) == _native.find_libdevice(libdevice_path)[1]
        text = _native.ptx(image, "k", "sm_90", libdevice=libdevice_path, require_libdevice=True)
        assert text == _native.ptx(linked, "k", "sm_90", libdevice=libdevice_path)
        context = cuda.current_context()
        simulated = launched(context.create_module_image(linked), calls)
        of_ptx = launched(context.create_module_ptx(text), calls)
        wrong += [call.name for number, call in enumerate(calls)
                  if not np.array_equal(with_one_nan(call, simulated[:, number]), with_one_nan(call, of_ptx[:, number]))]  # fmt: skip
    assert wrong == []


#: Units in the last place between libdevice and the simulator's own functions where they are more than 4.
#: Both are within what CUDA allows; erfinv and erfcinv, for instance, 8.
DISTANCES = {"erfinv": 8, "erfcinv": 8, "erfcinvf": 8, "normcdfinv": 8, "powi": 8}
#: The processor's approximations are meant to be far off: an absolute error and a relative one.
APPROXIMATE = {"fast_cosf": (1e-2, 0), "fast_sinf": (1e-2, 0), "fast_tanf": (0, 1e-1), "fast_sincosf": (1e-2, 0),
               "fast_powf": (0, 1e-3), "fast_expf": (0, 1e-4), "fast_exp10f": (0, 1e-4)}  # fmt: skip
#: Bessel functions have zeros: CUDA's bounds are absolute.
BESSEL_ERROR = {np.float64: 1e-11, np.float32: 3e-5}


def units_apart(a, b):
    """The greatest distance of two columns in units of the last place; NaN is NaN, and both zeros are one."""
    whole = np.int32 if a.dtype.itemsize == 4 else np.int64
    lowest = int(np.iinfo(whole).min)
    apart = 0
    for x, y in zip(a[~(np.isnan(a) & np.isnan(b))], b[~(np.isnan(a) & np.isnan(b))]):
        places = [int(each.view(whole)) for each in (x, y)]
        places = [lowest - place if place < 0 else place for place in places]
        apart = max(apart, abs(places[0] - places[1]))
    return apart


def complaint(call, kind, own, theirs):
    """What is wrong with a column of results; nothing if all is right."""
    size = np.dtype(kind).itemsize
    mine, its = (np.ascontiguousarray(words.view(kind)[:: 8 // size]) for words in (own, theirs))
    if mine.dtype.kind != "f":
        differ = np.count_nonzero(mine != its)
        return f"{call.name}: {differ} integers differ" if differ else ""
    absolute, relative = APPROXIMATE.get(call.name, (0, 0))
    if call.name[:2] in ("jn", "yn"):
        absolute = BESSEL_ERROR[kind]
    if absolute or relative:
        near = np.allclose(mine, its, rtol=relative, atol=absolute, equal_nan=True)
        return "" if near else f"{call.name}: {abs(mine - its).max()}"
    units = units_apart(mine, its)
    return f"{call.name}: {units} ulp" if units > DISTANCES.get(call.name, 4) else ""


def give_arguments(call, reference):
    """Arguments from where the function is interesting, as in the tests of the simulator's own functions."""
    stems = [call.name, call.name.removesuffix("f"), call.name.removeprefix("fast_").removesuffix("f")]
    known = next((reference.APPROXIMATE[stem] for stem in stems if stem in reference.APPROXIMATE), None)
    for position, kind in enumerate(call.parameters):
        if kind == "ptr":
            continue
        domain = known[3][position] if known else "all"
        if call.name in OF_ORDER and kind == "i32":
            values = np.arange(ROWS) % 5
        elif call.name in OF_ORDER:
            values = reference.sample((0.5, 20.0), NUMPY[kind], ROWS)
        elif kind.startswith("i"):
            values = np.random.default_rng(position).integers(-12, 12, ROWS)
        else:
            values = reference.sample(domain, NUMPY[kind], ROWS, 3 + position)
        call.put(position, values[:ROWS] if position == 0 else values[:ROWS][::-1])


def test_functions_are_near_the_simulators_own(libdevice_path, every):
    pytest.importorskip("mpmath")
    import libdevice_reference as reference

    own_ones = {name for name, _, _ in _native.libdevice_functions()}
    pointed = {"frexp": [np.int32], "frexpf": [np.int32], "modf": [np.float64], "modff": [np.float32],
               "remquo": [np.int32], "remquof": [np.int32]}  # fmt: skip
    calls = [call for call in every if call.name in own_ones]
    assert len(calls) > 300
    wrong = []
    for call in calls:
        give_arguments(call, reference)
    for together in groups(calls):
        image = image_of(together)
        context = cuda.current_context()
        own = launched(context.create_module_image(image), together)
        linked = _native.with_libdevice(image, libdevice_path, "sm_90")
        theirs = launched(context.create_module_image(linked), together)
        for number, call in enumerate(together):
            kinds = [NUMPY[call.result]] if call.result != "void" else []
            real = np.float32 if call.name.endswith("f") else np.float64
            behind = pointed.get(call.name, [real] * call.parameters.count("ptr"))
            for word, kind in [(0, kind) for kind in kinds] + list(enumerate(behind, 1)):
                columns = (np.ascontiguousarray(each[:, number, word]) for each in (own, theirs))
                wrong.append(complaint(call, kind, *columns))
    assert [each for each in wrong if each] == []


def test_math_and_cuda_libdevice_are_the_same_functions(libdevice_path):
    """sincos gives its results through pointers."""

    @cuda.jit
    def kernel(out, x):
        i = cuda.grid(1)
        out[i, 0], out[i, 1] = libdevice.sincos(x[i])
        out[i, 2], out[i, 3] = math.sin(x[i]), math.cos(x[i])

    x = np.linspace(-1e6, 1e6, 200)
    out, own = np.zeros((200, 4)), np.zeros((200, 4))
    with options.override(mode="native", libdevice=libdevice_path):
        kernel[1, 200](out, x)
    assert np.array_equal(out[:, :2], out[:, 2:])
    with options.override(mode="native"):
        kernel[1, 200](own, x)
    assert not np.array_equal(out, own)
    assert np.allclose(out, own, rtol=1e-15)

"""What runs in Python mode and why: gaps of the compiler, code that no GPU runs, debuggers, trace functions."""

import os
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.launch.kernel import CompiledKernel
from python_mode_required import skip_module_without_python_mode

skip_module_without_python_mode()

from cudasim.python_mode.kernel import PythonKernel  # noqa: E402 - there is none without Python mode


@cuda.jit
def doubles(x):
    i = cuda.grid(1)
    x[i] = x[i] * 2


@cuda.jit
def not_yet(x):
    i = cuda.grid(1)
    np.nditer(x)
    x[i] = x[i] * 2


@cuda.jit
def tries(x):
    i = cuda.grid(1)
    try:
        x[i] = i
    except IndexError:
        pass


@cuda.jit
def mistyped(x):
    x[0] = x.nosuchattribute


@cuda.jit
def returns(x):
    try:
        x[0] = 1
    except IndexError:
        pass
    return 5


@cuda.jit
def calls_a_debugger(x):
    i = cuda.grid(1)
    if i == 1000:
        breakpoint()
    x[i] = 1


def kernel_of(dispatcher):
    (kernel,) = {id(kernel): kernel for kernel in dispatcher.overloads.values()}.values()
    return kernel


def fresh(dispatcher):
    return cuda.jit(dispatcher.py_func)


def caught(launch, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # Garbage of earlier tests may be collected here.
        launch(*args)
    return [str(warning.message) for warning in found], [warning for warning in found]


def test_what_compiles_is_compiled():
    kernel, x = fresh(doubles), np.ones(4)
    messages, _ = caught(kernel[1, 4], x)
    assert messages == [] and isinstance(kernel_of(kernel), CompiledKernel)


def test_what_the_compiler_does_not_know_yet_runs_in_python_mode_and_says_how_slow_that_is():
    kernel, x = fresh(not_yet), np.full(256, 1.5)
    messages, found = caught(kernel[2, 128], x)
    assert list(x) == [3] * 256
    (message,) = messages
    assert "not_yet() runs in Python mode, about " in message and "times slower than compiled" in message
    assert (
        "nditer() is not supported in kernels yet" in message
        and "launch of 256 threads takes about" in message
    )
    assert found[0].category is errors.PythonModeWarning
    assert (found[0].filename, found[0].lineno) == (__file__, not_yet.py_func.__code__.co_firstlineno + 3)
    assert caught(kernel[2, 128], x)[0] == [], "once for each kernel"


def test_the_estimate_of_a_long_launch_comes_while_it_runs():
    seen = []

    @cuda.jit
    def slow(x):
        i = cuda.grid(1)
        for _ in range(20000):
            x[i] = x[i] * 1
        seen.append(i)

    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.CudasimWarning)
        with options.override(mode="auto"), pytest.raises(errors.CudasimWarning, match="takes about"):
            # `seen` is a list, which Numba refuses; the array of durations alone would do for the warning.
            cuda.jit(slow.py_func)[50, 4](np.ones(200, "m8[25s]"))
    assert len(seen) < 200


@pytest.mark.parametrize("mode", ["auto", "python"])
def test_code_that_no_gpu_runs_runs_with_a_warning(mode):
    kernel, x = fresh(tries), np.full(4, -1.0)
    with options.override(mode=mode):
        messages, found = caught(kernel[1, 8], x)
    assert list(x) == [0, 1, 2, 3]
    (message,) = messages
    assert message.startswith("not-gpu-code: tries() runs here")
    assert "UnsupportedError: `try` is not supported in kernels" in message
    assert found[0].lineno == tries.py_func.__code__.co_firstlineno + 3
    assert found[0].message.finding.kind == "not-gpu-code"


def test_under_strict_checking_it_is_refused_with_numbas_class():
    x = np.zeros(4)
    with options.override(strict=True), pytest.raises(errors.UnsupportedError, match="`try`") as refusal:
        fresh(tries)[1, 8](x)
    assert [finding.kind for finding in refusal.value.findings] == ["not-gpu-code"]
    assert not x.any()


def test_native_mode_refuses_every_fallback():
    with options.override(mode="native"):
        for kernel, argument in (
            (tries, np.zeros(4)),
            (not_yet, np.zeros(4)),
            (calls_a_debugger, np.zeros(4)),
        ):
            with pytest.raises(errors.NumbaError):
                fresh(kernel)[1, 4](argument)


def undefined_name(x):
    x[0] = nosuchname  # noqa: F821


def undefined_attribute(x):
    x[0] = np.nosuchname


def run_time_shape(x, n):
    cuda.shared.array(n, np.float32)


def value_returned(x):
    return x[0]


@pytest.mark.parametrize("mode", ["auto", "python", "native"])
@pytest.mark.parametrize("function", [undefined_name, undefined_attribute, run_time_shape, value_returned])
def test_what_running_would_only_hide_is_always_refused(function, mode):
    arguments = (np.zeros(4), 4)[: function.__code__.co_argcount]
    with options.override(mode=mode), pytest.raises(errors.TypingError):
        cuda.jit(function)[1, 1](*arguments)


def test_a_fallback_that_fails_for_want_of_a_type_raises_the_compilers_refusal():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(errors.TypingError, match="nosuchattribute") as refusal:
            fresh(mistyped)[1, 1](np.zeros(1))
    assert refusal.value.__cause__ is refusal.value.__context__ is None  # one error, not two


def test_a_kernel_that_calls_a_debugger_runs_in_python_mode_without_a_warning():
    kernel, x = fresh(calls_a_debugger), np.zeros(4)
    messages, _ = caught(kernel[1, 4], x)
    assert list(x) == [1] * 4 and messages == []
    assert isinstance(kernel_of(kernel), PythonKernel)


def test_a_debuggers_name_in_an_annotation_is_no_call():
    @cuda.jit
    def kernel(x):
        def inner(y: 2) -> breakpoint:
            return y + 1

        x[0] = inner(x[0])

    x = np.zeros(4)
    kernel[1, 1](x)
    # Before CPython 3.14 the kernel itself evaluates annotations.
    expected = CompiledKernel if sys.version_info >= (3, 14) else PythonKernel
    assert x[0] == 1 and isinstance(kernel_of(kernel), expected)


def test_a_debugger_in_a_device_function_counts():
    @cuda.jit(device=True)
    def stops(i):
        if i > 100:
            breakpoint()
        return i

    @cuda.jit
    def kernel(x):
        x[0] = stops(3)

    kernel[1, 1](np.zeros(1))
    assert isinstance(kernel_of(kernel), PythonKernel)


def test_the_rest_of_a_kernel_with_a_debugger_is_classified_all_the_same():
    @cuda.jit
    def kernel(x):
        if x[0] > 5:
            breakpoint()
        x[0] = [n for n in range(3)][2]

    messages, _ = caught(kernel[1, 1], np.zeros(1))
    assert len(messages) == 1 and messages[0].startswith("not-gpu-code")


def test_modes_can_change_between_launches():
    kernel, x = fresh(doubles), np.ones(4)
    kernel[1, 4](x)
    with options.override(mode="python"):
        kernel[1, 4](x)
    kernel[1, 4](x)
    assert list(x) == [8] * 4


def test_what_was_declared_runs_too():
    kernel = cuda.jit("void(float64[:])")(not_yet.py_func)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = np.ones(4)
        kernel[1, 4](x)
    assert list(x) == [2] * 4


def test_there_is_no_code_to_show():
    kernel = fresh(tries)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kernel[1, 1](np.zeros(4))
    for inspect in (kernel.inspect_llvm, kernel.inspect_asm, kernel.inspect_types):
        with pytest.raises(errors.UnsupportedError, match="runs in Python mode"):
            inspect()


def test_a_kernel_cannot_launch_a_kernel():
    @cuda.jit
    def outer(x):
        doubles[1, 1](x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with options.override(mode="python"), pytest.raises(errors.TypingError, match="cannot be indexed"):
            outer[1, 1](np.zeros(1))


def run(script, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CUDASIM_MODE")}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env={**environment, **variables},
                          capture_output=True, text=True, timeout=120)  # fmt: skip


def test_the_variable_decides_and_a_trace_function_sees_kernel_lines():
    script = """
        import sys
        from cudasim import cuda
        import numpy as np

        lines = []

        def kernel(x):
            i = cuda.grid(1)
            x[i] = i

        def trace(frame, event, arg):
            if frame.f_code is kernel.__code__:
                lines.append((event, frame.f_lineno - kernel.__code__.co_firstlineno))
                return trace

        x = np.zeros(2)
        launch = cuda.jit(kernel)[1, 2]
        launch(x)
        assert lines == []
        sys.settrace(trace)
        launch(x)
        sys.settrace(None)
        print(lines, x)
    """
    one = "('call', 0), ('line', 1), ('line', 2), ('return', 2)"
    assert run(script).stdout == f"[{one}, {one}] [0. 1.]\n"
    assert run(script, CUDASIM_MODE="native").stdout == "[] [0. 1.]\n"


@cuda.jit
def prints_with_a_separator(x):
    print(x[0], x[1], sep=",")


@cuda.jit
def calls_str(x):
    if x[0] > 5:
        print(str(x[0]))


@cuda.jit
def takes_a_root_by_numpy(x):
    x[0] = np.sqrt(x[0])


@cuda.jit
def raises_a_number(x):
    if x[0] > 5:
        raise ValueError("too big", x[0])


@cuda.jit
def function_that_calls_itself(x):
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    x[0] = factorial(3)


@pytest.mark.parametrize(
    "kernel",
    [prints_with_a_separator, calls_str, takes_a_root_by_numpy, raises_a_number, function_that_calls_itself],
    ids=lambda kernel: kernel.__name__,
)
def test_what_numba_refuses_with_an_unsupported_error_or_worse_is_not_called_a_gap(kernel):
    messages, _ = caught(fresh(kernel)[1, 1], np.ones(4))
    assert [message.partition(":")[0] for message in messages] == ["not-gpu-code"]


@cuda.jit
def raises_what_nobody_defined(x):
    if x[0] > 5:
        raise NoSuchError("x")  # noqa: F821


def test_raising_an_undefined_name_is_refused():
    with pytest.raises(errors.TypingError, match="NameError: name 'NoSuchError' is not defined"):
        fresh(raises_what_nobody_defined)[1, 1](np.ones(4))


@pytest.mark.parametrize("signature", ["void(float64[:])", "void(float64[:], int32, int32)", "void()"])
def test_a_signature_of_another_number_of_arguments_is_refused_at_once(signature):
    def k(x, n):
        x[0] = n

    with pytest.raises(
        TypeError, match="Signature mismatch: . argument types given, but function takes 2 arguments"
    ):
        cuda.jit(signature)(k)
    with pytest.raises(TypeError, match="Signature mismatch"):
        cuda.jit(k).compile(signature)


@cuda.jit
def iterates_with_numpy(x):
    for value in np.nditer(x):
        x[0] = value.item()


@pytest.mark.parametrize("kernel", [not_yet, iterates_with_numpy], ids=lambda kernel: kernel.__name__)
def test_what_numba_compiles_is_called_a_gap_not_code_for_no_gpu(kernel):
    messages, _ = caught(fresh(kernel)[1, 1], np.ones(4))
    (message,) = messages
    assert "runs in Python mode" in message and "not-gpu-code" not in message


def test_a_value_that_a_kernel_returns_behind_another_refusal_is_an_error():
    @cuda.jit
    def kernel(out):
        try:
            out[0] = 1
        except Exception:
            pass
        return out[0]

    out = np.zeros(1)
    with pytest.warns(errors.CudasimWarning, match="not-gpu-code"):
        with pytest.raises(errors.TypingError, match="void return type, but 'kernel' returns a value"):
            kernel[1, 1](out)
    assert out[0] == 0


def test_what_numba_refuses_is_refused_where_cudasim_reports_itself_as_a_gpu():
    @cuda.jit
    def refused(x):
        x[0] = sorted((3, 1))[0]

    with options.override(report_as_simulator=False), pytest.raises(errors.TypingError):
        refused[1, 1](np.zeros(1))
    with pytest.warns(errors.CudasimWarning, match="not-gpu-code"):
        refused[1, 1](np.zeros(1))

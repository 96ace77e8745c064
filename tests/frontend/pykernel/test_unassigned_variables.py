"""Variables that are read where no value may have been assigned to them: Python's error with the thread and the reading
line, at run time and only there; nothing where a value is certain. The tests run in both modes
(tests/conftest.py)."""

import sys

import numpy as np
import pytest
from cudasim import cuda, types
from cudasim.compile import compiler
from kernel_checks import evaluate, kernel_of_source

CHECK = "__cudasim_check_assigned"


def words(name, captured=False):
    """CPython's message."""
    if sys.version_info < (3, 11):
        return (f"free variable '{name}' referenced before assignment in enclosing scope" if captured
                else f"local variable '{name}' referenced before assignment")  # fmt: skip
    kind, scope = ("free", " in enclosing scope") if captured else ("local", "")
    return f"cannot access {kind} variable '{name}' where it is not associated with a value{scope}"


def raised(error_class, function, *arguments, threads=1):
    with pytest.raises(error_class) as caught:
        cuda.jit(function)[1, threads](*arguments)
    return caught.value


def line_of(error, function):
    """Line of the last frame, counted from the function's `def`."""
    traceback = error.__traceback__
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_lineno - function.__code__.co_firstlineno


def test_a_variable_of_one_branch_is_an_error_in_the_threads_that_took_the_other():
    def kernel(out, n):
        i = cuda.grid(1)
        if i < n:
            value = i
        out[i] = value

    error = raised(UnboundLocalError, kernel, np.zeros(8), 5, threads=8)
    assert str(error).startswith(f"tid=[5, 0, 0] ctaid=[0, 0, 0]: {words('value')}")
    assert line_of(error, kernel) == 4
    out = np.zeros(8)
    cuda.jit(kernel)[1, 8](out, 8)
    assert out.tolist() == list(range(8))


def test_a_loop_that_runs_no_round_leaves_its_variables_without_a_value():
    def kernel(out, n):
        for j in range(n):
            twice = 2 * j
        out[0] = j
        out[1] = twice

    assert words("j") in str(raised(UnboundLocalError, kernel, np.zeros(2), 0))
    assert evaluate(kernel, 3, size=2).tolist() == [2, 4]


def test_an_augmented_assignment_reads():
    def kernel(out, n):
        if n > 3:
            total = 1.5
        total += n
        out[0] = total

    assert words("total") in str(raised(UnboundLocalError, kernel, np.zeros(1), 1))
    assert evaluate(kernel, 4) == 5.5


def test_a_value_of_an_earlier_round_counts():
    def kernel(out, n, first):
        for j in range(n):
            if j == first:
                value = 10 + j
            if j >= 2:
                out[0] += value

    assert evaluate(kernel, 5, 1) == 33
    assert words("value") in str(raised(UnboundLocalError, kernel, np.zeros(1), 5, 3))


def test_the_error_of_a_device_function_names_its_line():
    @cuda.jit(device=True)
    def half(x):
        if x > 0:
            result = x / 2
        return result

    def kernel(out, x):
        out[0] = half(x)

    error = raised(UnboundLocalError, kernel, np.zeros(1), -1)
    assert words("result") in str(error)
    assert line_of(error, half.py_func) == 4
    assert evaluate(kernel, 3) == 1.5


def test_variables_around_an_inner_function_are_free_in_it():
    def kernel(out, n):
        add = lambda x: x + offset  # noqa: E731
        if n > 3:
            offset = 100
        out[0] = add(n)

    error = raised(NameError, kernel, np.zeros(1), 1)
    assert words("offset", captured=True) in str(error) and not isinstance(error, UnboundLocalError)
    assert evaluate(kernel, 4) == 104


def test_arrays_tuples_booleans_and_versions_of_several_types():
    def kernel(out, n):
        if n > 0:
            pair = (n, 2.5)
            view = out[1:]
            flag = n > 1
            number = 7
        elif n < -1:
            number = 0.25
        out[0] = number
        view[0] = pair[0] + pair[1]
        out[2] = flag

    assert evaluate(kernel, 2, size=3).tolist() == [7, 4.5, 1]
    assert words("number") in str(raised(UnboundLocalError, kernel, np.zeros(3), -1))
    assert words("pair") in str(raised(UnboundLocalError, kernel, np.zeros(3), -2))


def test_a_variable_carried_over_a_barrier():
    def kernel(out, n):
        i = cuda.threadIdx.x
        if i < n:
            value = out[i]
        cuda.syncthreads()
        if i < n + 1:
            out[i] = value + 1

    error = raised(UnboundLocalError, kernel, np.zeros(4), 2, threads=4)
    assert str(error).startswith("tid=[2, 0, 0]") and words("value") in str(error)


def test_where_a_value_is_certain_nothing_is_checked():
    def kernel(out, n):
        total = 0
        for j in range(n):
            square = j * j
            if j % 2:
                odd = square
            else:
                odd = 0
            total += odd
        while True:
            last = total
            if last > 3:
                break
            total += 1
        if n == 77:
            raise ValueError
        else:
            known = 3
        out[0] = last + known

    image = compiler.compile_kernel(kernel, ["array(float64, 1d, C)", "int64"]).image
    assert CHECK not in image.ir_text()
    assert evaluate(kernel, 4) == 13


def test_one_check_for_each_uncertain_read_and_none_on_a_gpu():
    def kernel(out, n):
        if n > 0:
            value = n
        out[0] = value

    text = compiler.compile_kernel(kernel, ["array(float64, 1d, C)", "int64"]).image.ir_text()
    assert text.count(f"call void @{CHECK}") == 1
    ptx, _ = cuda.compile_ptx(kernel, (types.float64[::1], types.int64))
    assert "trap" not in ptx and "assigned" not in ptx


FLAGS = {"flag": False, "count": 2, "text": "", "nothing": None, "empty": ()}


@pytest.mark.parametrize(
    "condition",
    ["flag and i == 0", "i == 0 and flag", "flag is True and i == 0", "count > 3 and i == 0", "0 < count < 2 and i == 0",
     "text and i == 0", "text == 'a' and i == 0", "nothing and i == 0", "nothing is not None and i == 0",
     "empty and i == 0", "(flag and i == 0) or (text and i == 1)", "not (not flag or i == 0)"],
)  # fmt: skip
@pytest.mark.parametrize("form", ["if {}:\n        out[index] = 5", "out[1] = out[index] if {} else 7"])
def test_a_false_constant_in_a_condition_prunes_the_branch(condition, form):
    body = f"i = cuda.grid(1)\n    if flag:\n        index = 3\n    {form.format(condition)}"
    kernel = kernel_of_source(body, "out", cuda=cuda, **FLAGS)
    out = np.zeros(4)
    cuda.jit(kernel)[1, 1](out)
    assert out.tolist() == [0, 7 if "else 7" in form else 0, 0, 0]


def test_a_true_constant_prunes_the_other_branch():
    flag, name = True, "fast"

    def kernel(out):
        i = cuda.grid(1)
        if flag:
            value = 3
        if flag and name == "fast":
            out[i] = value
        else:
            out[i] = missing  # noqa: F821

    assert evaluate(kernel) == 3

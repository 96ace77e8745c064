"""Typing errors begin as Numba's do: programs, and people who search for them, know them by these words."""

import math
import re

import numpy as np
import pytest
from cudasim import cuda, errors, options


def pyfunc(x):
    return x


class Thing:
    pass


thing = Thing()


def undefined(a):
    a[0] = nothing_here  # noqa: F821


def attribute(a):
    a[0] = a.nothing


def two_types(a):
    if a[0] > 1:
        x = 1
    else:
        x = (1, 2)
    a[0] = x[0]


def addition(a):
    a[0] = a[0] + (1, 2)


def comparison(a):
    a[0] = (1, 2) < a[0]


def negation(a):
    a[0] = -(1, 2)


def sine(a):
    a[0] = math.sin((1, 2))


def length(a):
    a[0] = len(3)


def shuffle(a):
    a[0] = cuda.shfl_sync(0xFFFFFFFF, (1, 2), 0)


def text_as_element(a):
    a[0] = "hello"


def element_of_a_tuple(a):
    t = (1, 2)
    t[0] = 3


def object_from_outside(a):
    a[0] = thing


def plain_function(a):
    a[0] = pyfunc(a[0])


def called_array(a):
    a[0] = a(1)


def loop_over_a_number(a):
    for i in 3:
        a[0] = i


def index_of_a_tuple(a):
    t = (1, 2)
    a[0] = t[3]


def star(a):
    print(*a)


def dimensions_of_a_variable(x):
    x[0] = cuda.grid(x.size)


def alignment_of_a_variable(x):
    x[0] = cuda.shared.array(4, "float32", alignment=x.size)[0]


def alignment_of_a_float(x):
    x[0] = cuda.local.array(4, "float32", alignment=8.0)[0]


def alignment_below_zero(x):
    x[0] = cuda.local.array(4, "float32", alignment=-8)[0]


def alignment_of_three(x):
    x[0] = cuda.shared.array(4, "float32", alignment=3)[0]


def alignment_of_four(x):
    x[0] = cuda.shared.array(4, "float32", alignment=4)[0]


def dimensions(a):
    a[0] = cuda.grid(5)


def imports(a):
    import os  # noqa: F401

    a[0] = 1


def deletes(a):
    x = 1
    del x
    a[0] = 1


@pytest.mark.parametrize("kernel, error, words", [
    (undefined, "TypingError", "NameError: name 'nothing_here' is not defined"),
    (attribute, "TypingError", "Unknown attribute 'nothing' of type array(float32, 1d, C)"),
    (two_types, "TypingError", "Cannot unify "),
    (addition, "TypingError", "No implementation of function Function(<built-in function add>) found for signature:\n"
                              " >>> add(float32, UniTuple(int64 x 2))"),
    (comparison, "TypingError", "No implementation of function Function(<built-in function lt>) found for signature:"),
    (negation, "TypingError", "No implementation of function Function(<built-in function neg>) found for signature:"),
    (sine, "TypingError", "No implementation of function Function(<built-in function sin>) found for signature:\n >>> sin("),
    (length, "TypingError", "No implementation of function Function(<built-in function len>) found for signature:\n >>> len("),
    (shuffle, "TypingError", "No implementation of function Function(<intrinsic shfl_sync>) found for signature:"),
    (text_as_element, "TypingError", "No implementation of function Function(<built-in function setitem>) found for "
                                     "signature:\n >>> setitem(array(float32, 1d, C), Literal[int](0), Literal[str](hello))"),
    (element_of_a_tuple, "TypingError", "No implementation of function Function(<built-in function setitem>) found for"),
    (object_from_outside, "TypingError", "Untyped global name 'thing': Cannot determine Numba type of <class "),
    (plain_function, "TypingError", "Untyped global name 'pyfunc': Cannot determine Numba type of <class 'function'>"),
    (called_array, "TypingError", "Invalid use of array(float32, 1d, C) with parameters (Literal[int](1))\n"
                                  "No type info available for array(float32, 1d, C) as a callable"),
    (loop_over_a_number, "TypingError", "Invalid use of getiter with parameters (Literal[int](3))"),
    (index_of_a_tuple, "TypingError", "tuple index out of range"),
    (star, "TypingError", "*args in function call should be a tuple, got array(float32, 1d, C)"),
    (dimensions, "ValueError", "argument can only be 1, 2, 3"),
    (dimensions_of_a_variable, "TypingError", "RequireLiteralValue: argument can only be 1, 2, 3"),
    (alignment_of_a_variable, "TypingError", "RequireLiteralValue: alignment must be a constant integer"),
    (alignment_of_a_float, "TypingError", "RequireLiteralValue: alignment must be a constant integer"),
    (alignment_below_zero, "ValueError", "Alignment must be positive"),
    (alignment_of_three, "ValueError", "Alignment must be a power of 2"),
    (alignment_of_four, "ValueError", "Alignment must be a multiple of 8"),
    (imports, "UnsupportedBytecodeError", "Use of unsupported opcode (IMPORT_NAME) found"),
    (deletes, "CompilerError", "Illegal IR, del found"),
], ids=lambda value: getattr(value, "__name__", None))  # fmt: skip
def test_refusals_have_numbas_class_and_words(kernel, error, words):
    with options.override(mode="native"), pytest.raises(Exception) as caught:
        cuda.jit("void(float32[::1])")(kernel)
    assert caught.type is (ValueError if error == "ValueError" else getattr(errors, error))
    assert words in str(caught.value)
    lines = [line for _, _, line in kernel.__code__.co_lines() if line]
    place = re.search(r'File "(.+)", line (\d+)', str(caught.value))
    assert place[1] == __file__ and int(place[2]) in lines


def test_they_are_numbas_own_classes_where_numba_is(run_with_numba):
    done = run_with_numba.script(
        """
        from numba import cuda
        from numba.core.errors import NumbaError, TypingError

        @cuda.jit
        def kernel(x):
            x[0] = undefined_name

        for compile in (lambda: kernel.compile("void(float32[:])"), lambda: cuda.compile_ptx(kernel.py_func, (x,)),
                        lambda: cuda.jit("void(float32[:])")(kernel.py_func)):
            x = cuda.float32[:]
            try:
                compile()
            except TypingError as error:
                print(isinstance(error, NumbaError), "is not defined" in str(error))
        """,
        ENABLE_CUDASIM="1",
        CUDASIM_REPORT_AS_SIMULATOR="0",
    )
    assert done.stdout == "True True\n" * 3, done.stderr


def test_elements_are_checked_at_the_launch_too():
    with options.override(mode="native"), pytest.raises(errors.TypingError, match="found for signature"):
        cuda.jit(addition)[1, 1](np.zeros(1, np.float32))


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("how", ["option", "program"])
def test_where_programs_take_this_for_a_gpu_exceptions_name_the_line_and_refusals_stand(any_run, mode, how):
    script = any_run.write(
        f"""
        from numba import cuda
        from numba.core import config, errors
        if {how!r} == "program":
            config.ENABLE_CUDASIM = False
        import numba.cuda.random
        import numpy as np

        class OwnError(Exception):
            pass

        @cuda.jit(device=True)
        def check(x):
            if x > 3:
                raise OwnError("too large")

        @cuda.jit
        def kernel(a):
            check(a[cuda.threadIdx.x])

        @cuda.jit
        def no_gpu_code(a):
            a[0] = str(a[1]) == "x"

        try:
            kernel[1, 2](np.array([3, 4]))
        except OwnError as error:
            print(error)
        try:
            no_gpu_code[1, 1](np.zeros(2))
        except errors.TypingError:
            print("refused")
        """
    )
    options = {"CUDASIM_REPORT_AS_SIMULATOR": "0"} if how == "option" else {}
    done = any_run(script, ENABLE_CUDASIM="1", CUDASIM_MODE=mode, **options)
    line = 1 + script.read_text().splitlines().index('        raise OwnError("too large")')
    expected = f"In function 'check', file {script}, line {line}, tid=[1, 0, 0] ctaid=[0, 0, 0]: too large\nrefused\n"
    assert done.stdout == expected, done.stdout + done.stderr

"""What the tests of the kernel compiler share: types of variables, results of one thread, refusals."""

import linecache
import re

import numpy as np
import pytest
from cudasim import cuda
from cudasim.compile import compiler

_STORE = re.compile(r"^    (\w+) = %\d+ : (.+?)    # line \d+$", re.MULTILINE)


def types_of(function, *argument_types):
    """Local variable → Numba type name, from the typed IR."""
    return dict(_STORE.findall(compiler.compile_kernel(function, argument_types).typed_ir))


def evaluate(kernel, *arguments, dtype=np.float64, size=1):
    """Launches kernel(out, *arguments) with one thread and returns out (a scalar for size 1)."""
    out = np.zeros(size, dtype)
    cuda.jit(kernel)[1, 1](out, *arguments)
    return out[0] if size == 1 else out


def refusal(error_class, function, *argument_types):
    """The message with which compiling is refused."""
    with pytest.raises(error_class) as caught:
        compiler.compile_kernel(function, argument_types)
    return str(caught.value)


def kernel_of_source(body, parameters, **names):
    """A kernel made from source text, with its lines where the compiler looks for them."""
    text = f"def k({parameters}):\n    {body}\n"
    file = f"<generated {text!r}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = dict(names)
    exec(compile(text, file, "exec"), namespace)
    return namespace["k"]

"""PTX functions made of one instruction, called from a kernel for a list of operands."""

import numpy as np
from cudasim import cuda

HEAD = ".version 8.0\n.target sm_75\n.address_size 64\n"
_NAMES = {"u": "uint", "s": "int", "b": "uint", "f": "float"}


def dtype_of(ptx_type):
    """np.dtype of "u32", "f64"."""
    return np.dtype(_NAMES[ptx_type[0]] + ptx_type[1:])


def function(body, result, *parameters):
    """A function f with C's convention; its parameters are in %a, %b, %c, %d, what is in %r afterwards is returned."""
    names = "abcd"[: len(parameters)]
    declared = ", ".join(f".param .b{max(int(t[1:]), 32)} p{n}" for n, t in zip(names, parameters))
    registers = "".join(f".reg .{t} %{n};\nld.param.{t} %{n}, [p{n}];\n" for n, t in zip(names, parameters))
    return (
        f"{HEAD}.visible .func (.param .b{max(int(result[1:]), 32)} back) f({declared})\n{{\n"
        f".reg .{result} %r;\n.reg .pred %p, %q;\n.reg .b32 %t<4>;\n.reg .b64 %w<4>;\n{registers}{body}\n"
        f"st.param.{result} [back], %r;\nret;\n}}\n"
    )


def call(text, result, parameters, columns, threads=None):
    """f for each row of the columns (one per parameter), as an array."""
    types = [dtype_of(t).name for t in parameters]
    f = cuda.declare_device(
        "f",
        f"{dtype_of(result).name}({', '.join(types)})",
        link=cuda.PTXSource(text, name="test.ptx"),
        abi="c",
    )
    columns = [np.asarray(column, dtype=kind) for column, kind in zip(columns, types)]
    out = np.zeros(len(columns[0]) if columns else threads, dtype_of(result))
    if not columns:

        @cuda.jit
        def kernel(out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = f()
    elif len(columns) == 1:

        @cuda.jit
        def kernel(a, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = f(a[i])
    elif len(columns) == 2:

        @cuda.jit
        def kernel(a, b, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = f(a[i], b[i])
    elif len(columns) == 3:

        @cuda.jit
        def kernel(a, b, c, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = f(a[i], b[i], c[i])
    else:

        @cuda.jit
        def kernel(a, b, c, d, out):
            i = cuda.grid(1)
            if i < out.size:
                out[i] = f(a[i], b[i], c[i], d[i])

    block = threads or 32
    kernel[(out.size + block - 1) // block, block](*columns, out)
    return out

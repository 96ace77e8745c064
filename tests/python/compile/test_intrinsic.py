"""numba.cuda.extending.intrinsic, beside the real numba: programs write LLVM code for kernels with llvmlite."""

PRELUDE = """
import numpy as np
from llvmlite import ir
from numba import cuda, types
from numba.core import cgutils
from numba.cuda.extending import intrinsic
from cudasim import options
"""


def run(run_with_numba, code, **variables):
    path = run_with_numba.write(code)
    path.write_text(PRELUDE + path.read_text())
    return run_with_numba("-W", "ignore", path, ENABLE_CUDASIM="1", **{"CUDASIM_MODE": "native", **variables})


def test_numbers_libdevice_and_conversions(run_with_numba):
    done = run(
        run_with_numba,
        """
        @intrinsic
        def sqrt_plus(typingctx, a, b):
            signature = a(a, b)

            def codegen(context, builder, signature, args):
                kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()])
                sqrt = cgutils.get_or_insert_function(builder.module, kind, "__nv_sqrt")
                b = context.cast(builder, args[1], signature.args[1], signature.args[0])
                doubled = builder.fmul(builder.call(sqrt, [args[0]]), context.get_constant(signature.return_type, 2.0))
                return builder.fadd(doubled, b)

            return signature, codegen

        @cuda.jit(device=True)
        def device(x):
            return sqrt_plus(x, 1)

        @cuda.jit
        def kernel(out, x):
            out[0] = sqrt_plus(x[0], 3)
            out[1] = device(16.0)

        out = np.zeros(2)
        kernel[1, 1](out, np.array([9.0]))
        print(out)
        print("sqrt.rn.f64" in cuda.compile_ptx(device.py_func, (types.float64,), device=True)[0])
        """,
    )
    assert done.stdout == "[9. 9.]\nTrue\n", done.stderr


def test_special_registers_and_inline_assembly(run_with_numba):
    done = run(
        run_with_numba,
        """
        @intrinsic
        def lane(typingctx):
            def codegen(context, builder, signature, args):
                kind = ir.FunctionType(ir.IntType(32), [])
                return builder.call(ir.InlineAsm(kind, "mov.u32 $0, %laneid;", "=r", side_effect=True), [])

            return types.uint32(), codegen

        @intrinsic
        def thread(typingctx):
            def codegen(context, builder, signature, args):
                kind = ir.FunctionType(ir.IntType(32), [])
                name = "llvm.nvvm.read.ptx.sreg.tid.x"
                return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [])

            return types.int32(), codegen

        @intrinsic
        def common_bits(typingctx, a, b, c):
            def codegen(context, builder, signature, args):
                word = ir.IntType(32)
                return builder.asm(ir.FunctionType(word, [word] * 3), "lop3.b32 $0, $1, $2, $3, 0x80;", "=r,r,r,r", args, False)

            return types.int32(types.int32, types.int32, types.int32), codegen

        @intrinsic
        def halves(typingctx, x):
            def codegen(context, builder, signature, args):
                word = ir.IntType(32)
                kind = ir.FunctionType(ir.LiteralStructType([word, word]), [ir.IntType(64)])
                both = builder.asm(kind, "mov.b64 {$0, $1}, $2;", "=r,=r,l", args, False)
                return cgutils.pack_array(builder, [builder.extract_value(both, 0), builder.extract_value(both, 1)])

            return types.UniTuple(types.int32, 2)(types.int64), codegen

        @cuda.jit
        def kernel(out, lanes):
            i = cuda.grid(1)
            lanes[i] = lane() * 100 + thread()
            if i == 0:
                out[0] = common_bits(7, 6, 12)
                out[1], out[2] = halves(5 + (9 << 32))

        out, lanes = np.zeros(3), np.zeros(40)
        kernel[1, 40](out, lanes)
        print(out, lanes[[0, 31, 32, 39]])
        """,
    )
    assert done.stdout == "[4. 5. 9.] [   0. 3131.   32.  739.]\n", done.stderr


def test_tuples_complex_numbers_and_arrays(run_with_numba):
    done = run(
        run_with_numba,
        """
        @intrinsic
        def swapped(typingctx, pair):
            def codegen(context, builder, signature, args):
                a, b = cgutils.unpack_tuple(builder, args[0])
                return context.make_tuple(builder, signature.return_type, (b, a))

            return types.Tuple((pair[1], pair[0]))(pair), codegen

        @intrinsic
        def conjugate(typingctx, z):
            def codegen(context, builder, signature, args):
                made = context.make_complex(builder, signature.args[0], args[0])
                made.imag = builder.fneg(made.imag)
                return made._getvalue()

            return z(z), codegen

        @intrinsic
        def first(typingctx, array):
            def codegen(context, builder, signature, args):
                made = context.make_array(signature.args[0])(context, builder, args[0])
                return builder.load(made.data)

            return array.dtype(array), codegen

        @intrinsic
        def count_one(typingctx, array):
            def codegen(context, builder, signature, args):
                made = context.make_array(signature.args[0])(context, builder, args[0])
                builder.atomic_rmw("add", made.data, context.get_constant(types.int64, 1), "monotonic")
                return context.get_dummy_value()

            return types.void(array), codegen

        @intrinsic
        def negated(typingctx, flag):
            return types.boolean(types.boolean), lambda context, builder, signature, args: builder.not_(args[0])

        @cuda.jit
        def kernel(out, x, count):
            count_one(count)
            if cuda.grid(1) == 0:
                out[0], out[1] = swapped((1, 2.5))
                out[2] = conjugate(1 + 2j).imag
                out[3] = first(x)
                shared = cuda.shared.array(4, np.float64)
                shared[0] = 8.5
                out[4] = first(shared)
                if negated(x[0] > 100.0):
                    out[5] = 1

        out, count = np.zeros(6), np.zeros(1, np.int64)
        kernel[2, 32](out, np.array([9.0]), count)
        print(out, count)
        """,
    )
    assert done.stdout == "[ 2.5  1.  -2.   9.   8.5  1. ] [64]\n", done.stderr


def test_literal_types_and_typing_functions_that_say_no(run_with_numba):
    done = run(
        run_with_numba,
        """
        from cudasim import errors

        @intrinsic
        def tenfold(typingctx, n):
            if isinstance(n, types.IntegerLiteral):
                value = n.literal_value
                return types.int64(n), lambda context, builder, signature, args: context.get_constant(types.int64, value * 10)

        @cuda.jit
        def kernel(out):
            out[0] = tenfold(4)

        @cuda.jit
        def refused(out):
            out[0] = tenfold(out[0])

        out = np.zeros(1)
        kernel[1, 1](out)
        print(out)
        try:
            refused[1, 1](out)
        except errors.TypingError as error:
            print("No implementation of function" in str(error))
        """,
    )
    assert done.stdout == "[40.]\nTrue\n", done.stderr


def test_code_that_cannot_be_generated_or_linked_is_refused(run_with_numba):
    done = run(
        run_with_numba,
        """
        from cudasim import errors

        def make(codegen, result=types.float64):
            @intrinsic
            def broken(typingctx, x):
                return result(x), codegen

            @cuda.jit
            def kernel(out):
                broken(out[0])

            try:
                kernel[1, 1](np.zeros(1))
            except Exception as error:
                print(type(error).__name__, error)

        def undefined(context, builder, signature, args):
            kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()])
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, "no_such"), args)

        make(undefined)
        make(lambda context, builder, signature, args: 1 / 0)
        make(lambda context, builder, signature, args: builder.asm(
            ir.FunctionType(ir.DoubleType(), [ir.DoubleType()]), "sin.unknown $0, $1;", "=d,d", args, False))
        make(lambda context, builder, signature, args: None)
        """,
    )
    lines = [line for line in done.stdout.splitlines() if line.partition(" ")[0].endswith("Error")]
    assert lines[0] == "LinkerError Undefined reference to 'no_such'", done.stderr
    assert lines[1].startswith(
        "LoweringError intrinsic broken(float64,) -> float64: its code cannot be generated: ZeroDivisionError"
    )
    assert lines[2].startswith("LinkerError intrinsic broken") and "sin.unknown" in lines[2]
    assert "its code generator gives None, not a value of float64" in lines[-1]
    assert done.stdout.count("in kernel\n        broken(out[0])\n        ^") == 3, done.stdout


def test_it_can_give_arrays(run_with_numba):
    done = run(
        run_with_numba,
        """
        @intrinsic
        def same(typingctx, array):
            return array(array), lambda context, builder, signature, args: args[0]

        @cuda.jit
        def kernel(out):
            shared = cuda.shared.array((2, 3), np.float32)
            view = same(shared.T)
            view[2, 1] = 7
            same(out[1:])[0] = shared[1, 2] + view.shape[0]

        out = np.zeros(3)
        kernel[1, 1](out)
        print(out.tolist())
        """,
    )
    assert done.stdout == "[0.0, 10.0, 0.0]\n", done.stderr


def test_python_mode_cannot_call_it_and_says_so(run_with_numba):
    done = run(
        run_with_numba,
        """
        @intrinsic
        def same(typingctx, x):
            return x(x), lambda context, builder, signature, args: args[0]

        @cuda.jit
        def kernel(out):
            out[0] = same(out[0])

        try:
            kernel[1, 1](np.zeros(1))
        except NotImplementedError as error:
            print(error)
        """,
        CUDASIM_MODE="python",
    )
    assert "same() is code for LLVM: only compiled kernels call it" in done.stdout, done.stderr


DEVICE_FUNCTIONS = """
@intrinsic
def apply(typingctx, function, x):
    if not isinstance(function, types.Dispatcher):
        return None
    called = typingctx.resolve_function_type(function, (x,), {})

    def codegen(context, builder, signature, args):
        given = context.cast(builder, args[1], signature.args[1], called.args[0])
        return context.get_function(function, called)(builder, [given])

    return called.return_type(function, x), codegen

@cuda.jit(device=True)
def twice(x):
    return 2 * x

@cuda.jit(device=True)
def pair(x):
    return x, 1 / x
"""


def test_device_functions_as_arguments(run_with_numba):
    done = run(
        run_with_numba,
        DEVICE_FUNCTIONS
        + """
@cuda.jit("float32(float64)", device=True)
def third(x):
    return x / 3

@cuda.jit(device=True)
def through(function, x):
    return apply(function, x)

@cuda.jit
def kernel(out):
    chosen = twice
    out[0], out[1], out[2] = apply(twice, 3), apply(chosen, 1.5), through(twice, 5)
    out[3], out[4] = through(pair, 4)
    out[5] = apply(third, 1)

out = np.zeros(6)
kernel[1, 1](out)
print(out[:5].tolist(), out[5] == np.float32(1 / 3))
""",
    )
    assert done.stdout == "[6.0, 3.0, 10.0, 4.0, 0.25] True\n", done.stderr


def test_device_functions_that_do_not_take_the_arguments(run_with_numba):
    done = run(
        run_with_numba,
        DEVICE_FUNCTIONS.replace(
            "context.cast(builder, args[1], signature.args[1], called.args[0])", "args[0]"
        )
        + """
@cuda.jit
def wrong_code(out):
    out[0] = apply(twice, 3)

@cuda.jit
def wrong_type(out):
    out[0] = apply(twice, out)

for kernel in (wrong_code, wrong_type):
    try:
        kernel[1, 1](np.zeros(1))
    except Exception as error:
        print(type(error).__name__, str(error))
""",
    )
    assert "LoweringError" in done.stdout, done.stderr
    assert "argument 1 of twice(int64,) -> int64 is i64, not i8*" in done.stdout
    assert "out[0] = apply(twice, 3)" in done.stdout
    assert "TypingError" in done.stdout
    assert "out[0] = apply(twice, out)" in done.stdout


def test_overloads_see_that_an_argument_is_a_device_function(run_with_numba):
    done = run(
        run_with_numba,
        DEVICE_FUNCTIONS
        + """
from numba.extending import overload

def each(function, x):
    raise NotImplementedError

@overload(each)
def each_overload(function, x):
    if isinstance(function, types.Dispatcher) and function.dispatcher is twice:
        return lambda function, x: function(x) + 1

@cuda.jit
def kernel(out):
    out[0] = each(twice, 3)

out = np.zeros(1)
kernel[1, 1](out)
print(out[0])
""",
    )
    assert done.stdout == "7.0\n", done.stderr

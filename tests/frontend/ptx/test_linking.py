"""Kernels that call device functions of linked PTX: declarations, conventions, memory, barriers, reports, refusals."""

import numpy as np
import pytest
from cudasim import cuda, errors, options, types
from ptx_programs import HEAD, function

TWICE = (
    HEAD
    + """
.visible .func (.param .b32 status) twice(.param .b64 result, .param .b32 x)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [result];
    ld.param.u32 %r1, [x];
    shl.b32 %r1, %r1, 1;
    st.u32 [%rd1], %r1;
    mov.u32 %r2, 0;
    st.param.b32 [status+0], %r2;
    ret;
}
"""
)

# Sums an array, as nvcc writes a loop; `sum` calls `element`, which is internal.
SUM = (
    HEAD
    + """
.func (.param .b32 back) element(.param .b64 base, .param .b32 index)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .f32 %f<2>;
    ld.param.u64 %rd1, [base];
    ld.param.u32 %r1, [index];
    mul.wide.s32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.f32 %f1, [%rd3];
    st.param.f32 [back+0], %f1;
    ret;
}
.visible .func (.param .b32 status) sum(.param .b64 result, .param .b64 base, .param .b32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [result];
    ld.param.u64 %rd2, [base];
    ld.param.u32 %r1, [count];
    mov.f32 %f1, 0f00000000;
    mov.u32 %r2, 0;
$loop:
    setp.ge.s32 %p1, %r2, %r1;
    @%p1 bra $done;
    { // callseq
    .reg .b32 temp_param_reg;
    .param .b64 param0;
    st.param.b64 [param0+0], %rd2;
    .param .b32 param1;
    st.param.b32 [param1+0], %r2;
    .param .b32 retval0;
    call.uni (retval0), element, (param0, param1);
    ld.param.f32 %f2, [retval0+0];
    }
    add.f32 %f1, %f1, %f2;
    add.s32 %r2, %r2, 1;
    bra.uni $loop;
$done:
    st.f32 [%rd1], %f1;
    mov.u32 %r3, 0;
    st.param.b32 [status+0], %r3;
    ret;
}
"""
)


def ptx(tmp_path, text, name="code.ptx"):
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_a_declared_function_is_linked_from_a_file(tmp_path):
    twice = cuda.declare_device("twice", "int32(int32)")

    @cuda.jit(link=[ptx(tmp_path, TWICE)])
    def kernel(x):
        x[cuda.threadIdx.x] = twice(x[cuda.threadIdx.x]) + 1

    x = np.arange(10, dtype=np.int32)
    kernel[1, 10](x)
    assert np.array_equal(x, np.arange(10) * 2 + 1)


@pytest.mark.parametrize("link", ["path", "object", "list"])
def test_the_declaration_may_bring_its_code(tmp_path, link):
    code = {
        "path": ptx(tmp_path, TWICE),
        "object": cuda.PTXSource(TWICE.encode()),
        "list": [cuda.PTXSource(TWICE)],
    }[link]
    twice = cuda.declare_device("twice", types.int32(types.int32), link=code)

    @cuda.jit(device=True)
    def four_times(x):
        return twice(twice(x))

    @cuda.jit
    def kernel(x):
        x[0] = four_times(x[0])

    x = np.array([5], dtype=np.int32)
    kernel[1, 1](x)
    assert x[0] == 20
    assert twice.name == "twice"


def test_arguments_are_converted_to_the_declared_types(tmp_path):
    half = cuda.declare_device(
        "f", "float64(float64)", abi="c", link=cuda.PTXSource(function("mul.f64 %r, %a, 0.5;", "f64", "f64"))
    )

    @cuda.jit
    def kernel(out, x):
        out[0] = half(x)

    out = np.zeros(1)
    kernel[1, 1](out, 3)
    assert out[0] == 1.5


def test_a_pointer_to_an_array_by_cffi():
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    total = cuda.declare_device("sum", "float32(CPointer(float32), int32)", link=cuda.PTXSource(SUM))

    @cuda.jit
    def kernel(out, x):
        out[0] = total(ffi.from_buffer(x), len(x))

    out, x = np.zeros(1, np.float32), np.arange(100, dtype=np.float32)
    kernel[1, 1](out, x)
    assert out[0] == x.sum()


@pytest.mark.parametrize("writes", [False, True])
def test_indexing_a_pointer_beyond_its_array_is_an_error(writes):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()

    @cuda.jit
    def kernel(x, i):
        pointer = ffi.from_buffer(x)
        if writes:
            pointer[i] = 1
        else:
            x[0] = pointer[i]

    x = np.arange(100, dtype=np.float32)
    kernel[1, 1](x, 99)
    assert x[99 if writes else 0] == (1 if writes else 99)
    for index in (100, -1, 1 << 40):
        with pytest.raises(errors.KernelMemoryError, match="tid="):
            kernel[1, 1](x, index)


def test_reading_beyond_an_array_is_reported_at_the_line_of_the_ptx(tmp_path):
    cffi = pytest.importorskip("cffi")
    ffi = cffi.FFI()
    path = ptx(tmp_path, SUM, "sum.ptx")
    total = cuda.declare_device("sum", types.float32(types.CPointer(types.float32), types.int32), link=path)

    @cuda.jit
    def kernel(out, x):
        out[0] = total(ffi.from_buffer(x), len(x) + 1)

    out, x = np.zeros(1, np.float32), np.arange(100, dtype=np.float32)
    with pytest.raises(errors.CudasimError if hasattr(errors, "CudasimError") else Exception) as caught:
        kernel[1, 1](out, x)
    assert "tid=[0, 0, 0] ctaid=[0, 0, 0]" in str(caught.value)
    line = 1 + SUM[: SUM.index("ld.f32")].count("\n")
    frames = [(frame.path, frame.lineno + 1) for frame in caught.traceback]
    assert any(str(where).endswith("sum.ptx") and number == line for where, number in frames), frames


@pytest.mark.parametrize("barrier", ["bar.sync 0", "bar.sync 3", "barrier.sync 15"])
def test_shared_memory_and_barriers_in_linked_code(barrier):
    text = (
        HEAD
        + """
.shared .align 4 .b8 tile[256];
.visible .func (.param .b32 back) reversed(.param .b32 x)
{
    .reg .b32 %r<9>;
    ld.param.u32 %r1, [x];
    mov.u32 %r2, %tid.x;
    shl.b32 %r3, %r2, 2;
    mov.u32 %r4, tile;
    add.s32 %r5, %r4, %r3;
    st.shared.u32 [%r5], %r1;
    bar.sync 0;
    sub.s32 %r6, 252, %r3;
    add.s32 %r7, %r4, %r6;
    ld.shared.u32 %r8, [%r7];
    st.param.b32 [back], %r8;
    ret;
}
"""
    ).replace("bar.sync 0", barrier)
    swap = cuda.declare_device("reversed", "int32(int32)", abi="c", link=cuda.PTXSource(text))

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = swap(x[i])

    x = np.arange(128, dtype=np.int32)
    kernel[2, 64](x)
    assert np.array_equal(x, np.concatenate([np.arange(64)[::-1], np.arange(64, 128)[::-1]]))


def test_local_memory_constants_and_globals():
    text = (
        HEAD
        + """
.const .align 4 .u32 weights[3] = {10, 20, 30};
.global .align 4 .u32 calls = 0;
.visible .func (.param .b32 back) weigh(.param .b32 index)
{
    .local .align 16 .b8 depot[16];
    .reg .b64 %SP, %SPL, %rd<6>;
    .reg .b32 %r<6>;
    mov.u64 %SPL, depot;
    cvta.local.u64 %SP, %SPL;
    ld.param.u32 %r1, [index];
    mul.wide.u32 %rd1, %r1, 4;
    mov.u64 %rd2, weights;
    add.s64 %rd3, %rd2, %rd1;
    ld.const.u32 %r2, [%rd3];
    add.u64 %rd4, %SP, %rd1;
    st.u32 [%rd4], %r2;
    atom.global.add.u32 %r3, [calls], 1;
    add.u64 %rd5, %SPL, %rd1;
    ld.local.u32 %r4, [%rd5];
    st.param.b32 [back], %r4;
    ret;
}
.visible .func (.param .b32 back) count()
{
    .reg .b32 %r<2>;
    ld.global.u32 %r1, [calls];
    st.param.b32 [back], %r1;
    ret;
}
"""
    )
    code = cuda.PTXSource(text)
    weigh = cuda.declare_device("weigh", "uint32(uint32)", abi="c", link=code)
    count = cuda.declare_device("count", "uint32()", abi="c", link=code)

    @cuda.jit
    def kernel(x, calls):
        i = cuda.threadIdx.x
        x[i] = weigh(i)
        cuda.syncthreads()
        calls[0] = count()

    x, calls = np.zeros(3, np.uint32), np.zeros(1, np.uint32)
    kernel[1, 3](x, calls)
    assert x.tolist() == [10, 20, 30]
    assert calls[0] == 3


def test_lanes_of_a_warp_in_linked_code():
    text = (
        HEAD
        + """
.visible .func (.param .b32 back) total(.param .b32 x)
{
    .reg .b32 %r<4>;
    .reg .pred %p;
    ld.param.u32 %r1, [x];
    mov.u32 %r3, 16;
$next:
    shfl.sync.bfly.b32 %r2|%p, %r1, %r3, 31, -1;
    add.s32 %r1, %r1, %r2;
    shr.u32 %r3, %r3, 1;
    setp.ne.u32 %p, %r3, 0;
    @%p bra $next;
    st.param.b32 [back], %r1;
    ret;
}
"""
    )
    total = cuda.declare_device("total", "int32(int32)", abi="c", link=cuda.PTXSource(text))

    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = total(x[cuda.threadIdx.x])

    x = np.arange(64, dtype=np.int32)
    kernel[1, 64](x)
    assert np.array_equal(x, np.repeat([sum(range(32)), sum(range(32, 64))], 32))


def test_a_division_by_zero_in_linked_code_is_an_error():
    code = cuda.PTXSource(function("div.s32 %r, %a, %b;", "s32", "s32", "s32"))
    divide = cuda.declare_device("f", "int32(int32, int32)", abi="c", link=code)

    @cuda.jit
    def kernel(x):
        x[cuda.threadIdx.x] = divide(1, x[cuda.threadIdx.x])

    with pytest.raises(ZeroDivisionError, match=r"tid=\[2, 0, 0\]"):
        kernel[1, 4](np.array([1, 2, 0, 3], dtype=np.int32))


# -- refusals ------------------------------------------------------------------------------------------------


def calling(declared, *arguments):
    if len(arguments) == 1:

        @cuda.jit
        def kernel(out, a):
            out[0] = declared(a)
    else:

        @cuda.jit
        def kernel(out, a, b):
            out[0] = declared(a, b)

    kernel[1, 1](np.zeros(1), *arguments)


def test_code_that_is_not_there_is_a_linker_error():
    from cudasim.cuda.cudadrv.driver import LinkerError

    with pytest.raises(LinkerError, match="Undefined reference to 'nowhere'"):
        calling(cuda.declare_device("nowhere", "int32(int32)"), 1)
    with pytest.raises(LinkerError, match="absent.ptx not found"):
        calling(cuda.declare_device("twice", "int32(int32)", link="absent.ptx"), 1)
    with pytest.raises(LinkerError, match="links? PTX instead"):
        calling(cuda.declare_device("twice", "int32(int32)", link=cuda.Cubin(b"\x7fELF")), 1)
    with pytest.raises(LinkerError, match="'twice' is declared as"):
        calling(cuda.declare_device("twice", "int32(int32, int32)", link=cuda.PTXSource(TWICE)), 1, 2)


@pytest.mark.parametrize("text, line, message", [
    ("add.u32 %r, %a", 0, "expected ','"),
    ("wgmma.fence;", 0, "'wgmma.fence' is not supported"),
    ("add.u32 %r, %a, %nowhere;", 0, "'%nowhere' is not declared"),
    ("bra $away;", 0, "there is no label '$away'"),
    ("bar.arrive 0;", 0, "'bar.arrive' is not supported"),
    ("/* open", 0, "a comment is not closed"),
    ("mov.u32 %r, 0x;", 0, "a number lacks digits"),
    ("call (%r), missing, (%a);", 0, "the function 'missing' is not declared"),
])  # fmt: skip
def test_wrong_ptx_is_refused_with_its_line(text, line, message):
    from cudasim.cuda.cudadrv.driver import LinkerError

    whole = function(text, "u32", "u32")
    with pytest.raises(LinkerError) as caught:
        calling(
            cuda.declare_device("f", "uint32(uint32)", abi="c", link=cuda.PTXSource(whole, name="wrong.ptx")),
            1,
        )
    assert message in str(caught.value)
    assert "wrong.ptx, line " in str(caught.value)


def test_arguments_that_do_not_fit_are_a_typing_error():
    twice = cuda.declare_device("twice", "int32(int32)", link=cuda.PTXSource(TWICE))
    with pytest.raises(errors.TypingError, match=r"No implementation of function twice for \(int64, int64\)"):
        calling(twice, 1, 2)


def test_a_declaration_needs_a_result_and_a_known_convention():
    with pytest.raises(TypeError, match="Return type must be provided for device declarations"):
        cuda.declare_device("twice", (types.int32,))
    with pytest.raises(NotImplementedError, match="Unsupported ABI"):
        cuda.declare_device("twice", "int32(int32)", abi="fortran")
    with pytest.raises(TypeError, match="a path or linkable code"):
        cuda.declare_device("twice", "int32(int32)", link=[3])
    with pytest.raises(NotImplementedError, match="only kernels call it, not the host"):
        cuda.declare_device("twice", "int32(int32)")(1)


# -- CUDA C++ ------------------------------------------------------------------------------------------------

CUDA = r"""
#include <cuda_fp16.h>
#include <cstdio>
template <typename T> __device__ T horner(const T* c, int n, T x) {
    T value = 0;
    for (int i = n; i-- > 0;) value = value * x + c[i];
    return value;
}
extern "C" __device__ int polynomial(double* result, double x, int degree) {
    double c[4] = {1.0, -2.0, 0.5, 3.0};
    *result = horner(c, degree + 1, x);
    return 0;
}
extern "C" __device__ int names(int* result, int a, char b, bool c) {
    printf("%d and %d%s\n", a, b, c ? " yes" : " no");
    switch (a & 3) { case 0: *result = 7; break; case 1: *result = b; break; case 2: *result = __popc(a); break; default: *result = -1; }
    return 0;
}
extern "C" __device__ int block_sum(float* result, float x) {
    __shared__ float parts[32];
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0;
    for (unsigned i = 0; i < blockDim.x / 32; ++i) sum += parts[i];
    *result = sum;
    return 0;
}
"""


def test_cuda_cpp_through_nvcc(nvcc, capsys):
    code = cuda.CUSource(CUDA, name="polynomial.cu")
    polynomial = cuda.declare_device("polynomial", "float64(float64, int32)", link=code)
    names = cuda.declare_device("names", "int32(int32, int8, boolean)", link=code)
    block_sum = cuda.declare_device("block_sum", "float32(float32)", link=code)

    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        x[i] = polynomial(x[i], 3)
        y[i] = block_sum(np.float32(i))
        if i < 4:
            y[i] = names(i, -3, i > 1)

    x, y = np.linspace(-2, 2, 64), np.zeros(64, np.float32)
    expected = 1 - 2 * x + 0.5 * x**2 + 3 * x**3
    kernel[1, 64](x, y)
    np.testing.assert_allclose(x, expected, rtol=1e-12)
    assert np.all(y[4:] == sum(range(64)))
    assert y[:4].tolist() == [7, -3, 1, -1]
    assert capsys.readouterr().out.splitlines() == [
        "0 and -3 no",
        "1 and -3 no",
        "2 and -3 yes",
        "3 and -3 yes",
    ]


def test_what_nvcc_refuses_is_a_linker_error(nvcc):
    from cudasim.cuda.cudadrv.driver import LinkerError

    with pytest.raises(LinkerError, match=r"wrong.cu\(1\): error"):
        calling(
            cuda.declare_device(
                "f", "int32(int32)", link=cuda.CUSource("int f() { return x; }", name="wrong.cu")
            ),
            1,
        )


def test_kernel_and_linked_code_are_one_compile_unit():
    """ptxas refuses debug information of several, on which tests/gpu_backend/test_every_image.py insists."""
    twice = cuda.declare_device("twice", "int32(int32)", link=cuda.PTXSource(TWICE, name="twice.ptx"))
    half = cuda.declare_device(
        "half", "int32(int32)", link=cuda.PTXSource(TWICE.replace("twice", "half"), name="half.ptx")
    )

    @cuda.jit(debug=True, opt=False)
    def kernel(x):
        x[0] = half(twice(x[0]))

    kernel[1, 1](np.ones(1, np.int32))
    (ir,) = kernel.inspect_llvm().values()
    assert (
        ir.count("!DICompileUnit(") == 1
        and 'DIFile(filename: "half.ptx"' in ir
        and "distinct !DISubprogram" in ir
    )


def test_linker_errors_tell_the_calls():
    from cudasim.cuda.cudadrv.driver import LinkerError

    nowhere = cuda.declare_device("nowhere", "int32(int32)")

    @cuda.jit(device=True)
    def between(x):
        return nowhere(x)

    @cuda.jit
    def kernel(out):
        out[0] = between(1)

    with pytest.raises(LinkerError) as raised:
        kernel[1, 1](np.zeros(1))
    first = between.py_func.__code__.co_firstlineno
    assert str(raised.value) == (
        f"Undefined reference to 'nowhere'\n\n  File \"{__file__}\", line {first + 2}, in between\n        return nowhere(x)\n"
        f'  called from File "{__file__}", line {first + 6}, in kernel'
    )
    twice = cuda.declare_device("twice", "int32(int32, int32)", link=cuda.PTXSource(TWICE))
    with pytest.raises(
        LinkerError,
        match=r"the linked code has it as .*\n\n  File .*, line \d+, in kernel\n +out\[0\] = declared\(a, b\)",
    ):
        calling(twice, 1, 2)


def test_python_mode_refuses_at_the_line_of_the_call():
    declared = cuda.declare_device("twice", "int32(int32)", link=cuda.PTXSource(TWICE))

    @cuda.jit
    def kernel(out):
        out[0] = declared(3)

    with options.override(mode="python"), pytest.raises(NotImplementedError) as raised:
        kernel[1, 1](np.zeros(1))
    assert (
        "twice() is compiled code that is linked to kernels: only compiled kernels call it, not one"
        in str(raised.value)
    )
    (finding,) = raised.value.findings
    assert finding.location[0].line == kernel.py_func.__code__.co_firstlineno + 2

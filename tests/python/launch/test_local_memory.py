"""A GPU gives each thread 512 KiB of local memory: more is refused before a byte of it is touched, in both modes."""

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.errors import CudaAPIError
from cudasim.types import int8, int32

LIMIT = 512 << 10
HALF = LIMIT // 2
HALF_AND_ONE = HALF + 1
ABOVE = LIMIT + 8


@pytest.fixture(params=["native", "python"], autouse=True)
def mode(request):
    with options.override(mode=request.param):
        yield request.param


def with_array(shape, dtype=int8):
    """A kernel with a local array that no compiler can keep in registers."""

    @cuda.jit
    def fill(x):
        scratch = cuda.local.array(shape, dtype)
        scratch[x[0]] = 7
        scratch[x[0] + 1] = 1
        x[1] = scratch[x[0]]

    return fill


def refusal(kernel, *launch):
    """What launching raises; the next launch works."""
    with pytest.raises(CudaAPIError) as caught:
        kernel[launch or (1, 1)](np.zeros(2, np.int32))
    x = np.zeros(2, np.int32)
    with_array(4)[1, 1](x)
    assert x[1] == 7
    assert caught.value.code == 701
    assert "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" in str(caught.value)
    return str(caught.value)


def test_exactly_the_limit_runs():
    x = np.zeros(2, np.int32)
    with_array(LIMIT)[1, 1](x)
    assert x[1] == 7


def test_one_byte_more_is_refused_with_the_kernel_and_the_line():
    message = refusal(with_array(LIMIT + 1))
    assert "Entry function 'fill' uses too much local data (0x80001 bytes, 0x80000 max)" in message
    line = with_array.__code__.co_firstlineno + 5
    assert f'File "{__file__}", line {line}, in fill\n    scratch = cuda.local.array(shape, dtype)' in message


def test_an_array_larger_than_any_memory_is_refused():
    assert "0x4000000000 bytes" in refusal(with_array(2**36, int32))


def test_extents_whose_product_overflows_are_refused():
    @cuda.jit
    def fill(x):
        scratch = cuda.local.array((2**33, 2**33), int32)
        scratch[x[0], x[0]] = 7
        scratch[x[0], x[0] + 1] = 8
        x[1] = scratch[x[0], x[0]]

    assert "uses too much local data" in refusal(fill)


def test_arrays_of_one_function_add_up():
    @cuda.jit
    def fill(x):
        a = cuda.local.array(HALF, int8)
        b = cuda.local.array(HALF_AND_ONE, int8)
        a[x[0]] = 1
        b[x[0]] = 2
        x[1] = a[x[0] + 1] + b[x[0] + 1]

    assert "(0x80001 bytes" in refusal(fill)


def test_arrays_of_device_functions_count_while_they_are_called():
    @cuda.jit
    def inner(x):
        b = cuda.local.array(HALF_AND_ONE, int8)
        b[x[0]] = 2
        b[x[0] + 1] = 2
        return b[x[0] + 2]

    @cuda.jit
    def outer(x):
        a = cuda.local.array(HALF, int8)
        a[x[0]] = 1
        a[x[0] + 1] = inner(x)
        x[1] = a[x[0] + 1]

    message = refusal(outer)
    assert "Entry function 'outer'" in message and "(0x80001 bytes" in message


def test_a_kernel_that_waits_is_refused_too():
    @cuda.jit
    def fill(x):
        scratch = cuda.local.array(ABOVE, int8)
        scratch[x[0]] = 7
        cuda.syncthreads()
        scratch[x[0] + 1] = 1
        cuda.syncthreads()
        x[1] = scratch[x[0]]

    assert "(0x80008 bytes" in refusal(fill, 1, 32)


WEIGH = f"""
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 result) weigh(.param .b32 p)
{{
    .local .align 16 .b8 depot[{LIMIT + 16}];
    .reg .b64 %SP, %SPL;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    mov.u64 %SPL, depot;
    cvta.local.u64 %SP, %SPL;
    ld.param.u32 %r1, [p];
    cvt.u64.u32 %rd1, %r1;
    add.u64 %rd2, %SP, %rd1;
    st.u32 [%rd2], %r1;
    ld.u32 %r2, [%SP+16];
    st.param.b32 [result], %r2;
    ret;
}}
"""


def test_local_memory_of_linked_code_counts(mode):
    if mode == "python":
        pytest.skip("linked code runs compiled only")
    weigh = cuda.declare_device("weigh", "uint32(uint32)", abi="c", link=cuda.PTXSource(WEIGH))

    @cuda.jit
    def fill(x):
        x[1] = weigh(x[0])

    assert "Entry function 'fill' uses too much local data (0x80010 bytes" in refusal(fill)

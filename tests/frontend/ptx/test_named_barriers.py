"""Barriers for some of a block's threads in linked PTX: bar.sync and bar.arrive with a number of threads, bar.red."""

import numpy as np
import pytest
from cudasim import _native, cuda, errors, options
from ptx_programs import HEAD

FUNCTIONS = """
.visible .func (.param .b32 back) NAME(.param .b32 number, .param .b32 threads)
{
    .reg .b32 %r<4>;
    .reg .pred %p<3>;
    ld.param.u32 %r1, [number];
    ld.param.u32 %r2, [threads];
    mov.u32 %r3, 0;
    INSTRUCTION
    st.param.b32 [back], %r3;
    ret;
}
"""


def linked(name, instruction):
    text = HEAD + FUNCTIONS.replace("NAME", name).replace("INSTRUCTION", instruction)
    source = cuda.PTXSource(text, name=f"{name}.ptx")
    return cuda.declare_device(name, "int32(int32, int32)", abi="c", link=source)


wait = linked("wait", "bar.sync %r1, %r2;")
wait_apart = linked("wait_apart", "barrier.sync %r1, %r2;")
arrive = linked("arrive", "bar.arrive %r1, %r2;")
odd_lanes = linked(
    "odd_lanes",
    "mov.u32 %r3, %laneid; and.b32 %r3, %r3, 1; setp.eq.u32 %p1, %r3, 1;\n"
    "    bar.red.popc.u32 %r3, %r1, %r2, %p1;",
)


@pytest.fixture(autouse=True)
def native_mode():
    with options.override(mode="native"):
        yield


@cuda.jit
def pipeline(out, rounds):
    t = cuda.threadIdx.x
    shared = cuda.shared.array(32, np.int32)
    if t < 32:
        for r in range(rounds):
            wait(1, 64)
            shared[t] = 100 * r + t
            arrive(2, 64)
    elif t < 64:
        arrive(1, 64)
        total = 0
        for _ in range(rounds):
            wait(2, 64)
            total += shared[63 - t]
            arrive(1, 64)
        out[cuda.blockIdx.x, t - 32] = total
    else:
        out[cuda.blockIdx.x, t - 32] = odd_lanes(3, 96)


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
def test_a_warp_hands_values_to_another_while_others_meet_elsewhere(policy):
    out = np.zeros((7, 128), np.int32)
    with options.override(policy=policy):
        pipeline[7, 160](out, 5)
    assert np.array_equal(out[:, :32], np.tile(1000 + 5 * np.arange(31, -1, -1), (7, 1)))
    assert (out[:, 32:] == 48).all()
    (ptx,) = pipeline.inspect_asm().values()
    assert "bar.sync" in ptx and "bar.arrive" in ptx and "bar.red.popc.u32" in ptx


def test_who_waits_for_threads_that_never_come_is_said_with_place_and_coordinates():
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 32:
            wait(1, 64)
        x[0] = 1

    with pytest.raises(errors.KernelError) as caught:
        kernel[2, 96](np.zeros(1))
    assert "tid=[0, 0, 0] ctaid=[0, 0, 0]: barrier 1 waits for 64 threads, of which only 32 come" in str(
        caught.value
    )
    (finding,) = caught.value.findings
    assert finding.kind == "deadlock"
    assert finding.location[0].file.endswith("wait.ptx")
    assert finding.location[1].function == "kernel"
    assert "threads 0-31 waiting at barrier 1 (32 of 64 threads have come)" in str(caught.value)


# What an H100 does, seen on 23 November 2026: a warp comes when all its lanes have.


def test_lanes_of_a_warp_may_come_from_several_places():
    @cuda.jit
    def kernel(out):
        t = cuda.threadIdx.x
        if t % 32 < 16:
            wait_apart(1, 64)
            out[t] = 1
        else:
            wait_apart(1, 64)
            out[t] = 2

    out = np.zeros(64, np.int32)
    kernel[1, 64](out)
    assert out.tolist() == ([1] * 16 + [2] * 16) * 2


def test_halves_of_two_warps_are_not_a_warp():
    @cuda.jit
    def kernel():
        if cuda.threadIdx.x % 32 < 16:
            wait_apart(1, 32)
        else:
            wait_apart(2, 32)

    with pytest.raises(errors.KernelError) as caught:
        kernel[1, 64]()
    assert (
        "barrier 1 waits for 32 threads, of which only 0 come, besides 32 of warps that have not come as a whole: "
        in str(caught.value)
    )
    (finding,) = caught.value.findings
    assert finding.kind == "deadlock"


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
def test_a_warp_that_has_not_come_as_a_whole_stays(policy):
    @cuda.jit
    def kernel(out, flags):
        t = cuda.threadIdx.x
        if t < 64:
            wait_apart(1, 64)
            out[t] = 1
            cuda.atomic.exch(flags, 0, 1)
        elif t < 80:
            wait_apart(1, 64)
            out[t] = cuda.atomic.add(flags, 1, 0)
        else:
            while cuda.atomic.add(flags, 0, 0) == 0:
                pass
            cuda.atomic.exch(flags, 1, 1)
            wait_apart(1, 64)
            out[t] = 1

    with options.override(policy=policy):
        out, flags = np.zeros(128, np.int32), np.zeros(2, np.int32)
        kernel[1, 128](out, flags)
    assert out.tolist() == [1] * 128


@pytest.mark.parametrize("number, threads", [(16, 32), (1, 33), (1, 0)])
def test_barriers_that_a_block_does_not_have(number, threads):
    @cuda.jit
    def kernel(number, threads):
        wait(number, threads)

    with pytest.raises(errors.KernelError, match=f"barrier {number} for {threads} threads: "):
        kernel[1, 64](number, threads)


def test_the_time_limit_ends_threads_that_wait_for_one_that_runs():
    @cuda.jit
    def kernel(x):
        if cuda.threadIdx.x < 32:
            wait(1, 64)
        else:
            while x[0] < 1e300:
                x[0] += 1e-9

    with options.override(time_limit=0.3), pytest.raises(errors.KernelTimeoutError) as caught:
        kernel[1, 64](np.zeros(1))
    assert "threads 0-31 waiting at barrier 1 (32 of 64 threads have come)" in str(caught.value)


def test_assembly_in_llvm_code_has_such_barriers():
    head = 'target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\ntarget triple = "nvptx64-nvidia-cuda"\n'
    code = 'define void @f() {\ncall void asm sideeffect "barrier.arrive 2, 96;", ""()\nret void\n}\n'
    image = _native.read_llvm(head + code, "some code")[1]
    assert "@llvm.nvvm.barrier.cta.arrive.count(i32 2, i32 96)" in image.ir_text()

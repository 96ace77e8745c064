"""Records of launches with barriers for some of a block's threads."""

import pytest

NAMED_BARRIERS = """
    import sys
    import numpy as np
    from numba import cuda

    TEXT = '''
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .func NAME(.param .b32 number, .param .b32 threads)
    {
        .reg .b32 %r<3>;
        ld.param.u32 %r1, [number];
        ld.param.u32 %r2, [threads];
        INSTRUCTION %r1, %r2;
        ret;
    }
    '''

    def linked(name, instruction):
        text = TEXT.replace("NAME", name).replace("INSTRUCTION", instruction)
        source = cuda.PTXSource(text, name=f"{name}.ptx")
        return cuda.declare_device(name, "void(int32, int32)", abi="c", link=source)

    wait, arrive = linked("wait", "bar.sync"), linked("arrive", "bar.arrive")

    @cuda.jit
    def hand_over(out, threads):
        t = cuda.threadIdx.x
        shared = cuda.shared.array(32, np.int32)
        if t < 32:
            shared[t] = 100 + t
            arrive(1, threads)
        else:
            wait(1, threads)
            out[t - 32] = shared[63 - t]

    out = np.zeros(32, np.int32)
    hand_over[1, 64](out, int(sys.argv[1]))
    print(out[:3])
"""


@pytest.mark.parametrize("policy", ["forward", "reverse"])
def test_they_are_reproduced(run, policy):
    script = run.write(NAMED_BARRIERS)
    for threads, said in ((64, "[131 130 129]"), (96, "of which only 64 come")):
        done = run(
            "-m", "cudasim.command_line", "record", "-o", "run.cudasim", script, str(threads),
            CUDASIM_MODE="native", CUDASIM_POLICY=policy,
        )  # fmt: skip
        assert said in done.stdout + done.stderr and (done.returncode == 0) == (threads == 64), done.stderr
        again = run("-m", "cudasim.command_line", "replay", "run.cudasim")
        assert "#1 hand_over<<<(1, 1, 1), (64, 1, 1)>>>: reproduced to the bit" in again.stdout, again.stdout
        assert again.returncode == 0, again.stderr

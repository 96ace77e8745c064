"""`exit` and `brkpt` wherever they stand: PTX ISA, "Control Flow Instructions: exit", "Miscellaneous Instructions: brkpt"."""

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.cuda.cudadrv import driver
from ptx_programs import HEAD, call, function

#: .entry k(out, limit): each thread counts itself in out[0]. A thread whose number is above the limit calls
#: exit, in a function at a depth of its number modulo 4. The others meet at a barrier and are counted in
#: out[1]; out[2] is the sum of their numbers.
LEAVING = f"""{HEAD}
.func leave(.param .b32 depth)
{{
    .reg .b32 %r<3>; .reg .pred %p;
    ld.param.u32 %r1, [depth];
    setp.ne.u32 %p, %r1, 0;
    @%p bra $deeper;
    exit;
$deeper:
    sub.u32 %r1, %r1, 1;
    {{ .param .b32 p0; st.param.b32 [p0], %r1; call leave, (p0); }}
    trap;
}}
.visible .entry k(.param .u64 out, .param .u32 limit)
{{
    .reg .b32 %r<9>; .reg .b64 %o; .reg .pred %p;
    .shared .align 4 .b32 sum;
    ld.param.u64 %o, [out];
    ld.param.u32 %r1, [limit];
    mov.u32 %r2, %tid.x;
    red.global.add.u32 [%o], 1;
    setp.eq.u32 %p, %r2, 0;
    @%p st.shared.u32 [sum], 0;
    bar.sync 0;
    setp.le.u32 %p, %r2, %r1;
    @%p bra $stay;
    and.b32 %r3, %r2, 3;
    {{ .param .b32 p0; st.param.b32 [p0], %r3; call leave, (p0); }}
    trap;
$stay:
    red.shared.add.u32 [sum], %r2;
    bar.sync 0;
    red.global.add.u32 [%o+4], 1;
    ld.shared.u32 %r4, [sum];
    setp.eq.u32 %p, %r2, 0;
    @%p red.global.add.u32 [%o+8], %r4;
    ret;
}}
"""


def launch(source, grid, block, shared=0, *numbers):
    """out after entry k(out, numbers...)."""
    out = cuda.to_device(np.zeros(4, np.uint32))
    kernel = cuda.current_context().create_module_ptx(source).get_function("k")
    arguments = [out.device_ctypes_pointer, *(np.uint32(number) for number in numbers)]
    driver.launch_kernel(kernel.handle, grid, 1, 1, block, 1, 1, shared, 0, arguments)
    return out.copy_to_host().tolist()


@pytest.mark.parametrize("policy", ["forward", "reverse", "random", "lockstep"])
@pytest.mark.parametrize("grid, block, limit", [(1, 32, 5), (3, 70, 33), (2, 128, 0), (5, 64, 100)])
@pytest.mark.filterwarnings("ignore::cudasim.errors.BarrierEarlyExitWarning")
def test_exit_in_called_functions_ends_the_thread_alone(grid, block, limit, policy):
    stay = min(limit + 1, block)
    with options.override(policy=policy):
        assert launch(LEAVING, grid, block, 0, limit) == [grid * block, grid * stay, grid * stay * (stay - 1) // 2, 0]  # fmt: skip


def test_early_exits_are_reported_as_those_of_entries():
    with pytest.warns(errors.BarrierEarlyExitWarning, match="26 threads of 32 ended"):
        launch(LEAVING, 1, 32, 0, 5)


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
def test_lanes_go_on_without_those_that_have_ended(policy):
    source = f"""{HEAD}
.func leave() {{ exit; }}
.visible .entry k(.param .u64 out) {{ .reg .u64 %o; .reg .u32 %t, %v; .reg .pred %p;
ld.param.u64 %o, [out]; mov.u32 %t, %laneid; setp.lt.u32 %p, %t, 20;
@%p bra $stay; call leave; $stay: vote.sync.ballot.b32 %v, 1, 0xfffff;
setp.eq.u32 %p, %t, 0; @%p red.global.add.u32 [%o], %v; ret; }}
"""
    with options.override(policy=policy):
        assert launch(source, 3, 64)[0] == 6 * 0xFFFFF


def test_exit_in_a_function_that_python_calls():
    text = function("setp.gt.u32 %p, %a, 9;\n@%p exit;\nadd.u32 %r, %a, 1;", "u32", "u32")
    found = call(text, "u32", ("u32",), [np.arange(64)])
    assert found.tolist() == [i + 1 if i <= 9 else 0 for i in range(64)]


def test_brkpt_ends_the_launch_as_trap_does():
    """As on an H200 without a debugger (docs/gpu_results.md)."""
    with pytest.raises(errors.KernelError, match=r"tid=\[3, 0, 0\].*the kernel executed a trap"):
        call(function("setp.eq.u32 %p, %a, 3;\n@%p brkpt;\nmov.u32 %r, %a;", "u32", "u32"), "u32", ("u32",), [range(8)])  # fmt: skip


@pytest.mark.parametrize(
    "declared, dynamic, expected", [(0, 0, 0), (4, 0, 128), (100, 48, 256), (0, 129, 256), (128, 128, 256)]
)
def test_all_shared_memory_counts_in_units_of_128_bytes(declared, dynamic, expected):
    """%total_smem_size, as on an H200."""
    tile = f".shared .align 16 .b8 tile[{declared}];" if declared else ""
    use = "st.shared.u8 [tile], 1;" if declared else ""
    source = f"""{HEAD}
.visible .entry k(.param .u64 out) {{ .reg .u64 %o; .reg .u32 %n; {tile}
ld.param.u64 %o, [out]; {use} mov.u32 %n, %total_smem_size; st.global.u32 [%o], %n; ret; }}
"""
    assert launch(source, 1, 1, dynamic)[0] == expected

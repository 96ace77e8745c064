"""numba.cuda.nvvmutils: what code for LLVM is written with."""

from __future__ import annotations

from cudasim.cuda import numbas_target

_registers = numbas_target.module("cudasim.compile.special_registers", __name__)
SRegBuilder = _registers.SRegBuilder
call_sreg, get_global_id = _registers.call_sreg, _registers.get_global_id
atomic_cmpxchg = _registers.atomic_cmpxchg
declare_string, declare_vprint = _registers.declare_string, _registers.declare_vprint
__getattr__ = numbas_target.refusing(
    "numba.cuda.nvvmutils",
    "write builder.atomic_rmw(), or call cuda.atomic in a device function that context.compile_internal() takes",
)

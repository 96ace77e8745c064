"""What code generators of programs write with llvmlite for a GPU: special registers, positions in the grid, compare-and-swap, strings and
printf (numba.cuda.nvvmutils)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

if TYPE_CHECKING:
    from typing import Any

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_BYTES = ir.IntType(8).as_pointer()
_CONSTANT_MEMORY = 4


def _declared(module, name, result, parameters):
    known = module.globals.get(name)
    return known or ir.Function(module, ir.FunctionType(result, parameters), name)


def call_sreg(builder: Any, name: str) -> Any:
    """The value of a special register, an i32: "tid.x", "laneid"."""
    return builder.call(_declared(builder.module, f"llvm.nvvm.read.ptx.sreg.{name}", _INT32, ()), ())


class SRegBuilder:
    """Registers by axis: "x", "y", "z"."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder

    def tid(self, xyz: str) -> Any:
        """The thread's index in its block."""
        return call_sreg(self.builder, f"tid.{xyz}")

    def ctaid(self, xyz: str) -> Any:
        """The block's index in the grid."""
        return call_sreg(self.builder, f"ctaid.{xyz}")

    def ntid(self, xyz: str) -> Any:
        """The block's extent."""
        return call_sreg(self.builder, f"ntid.{xyz}")

    def nctaid(self, xyz: str) -> Any:
        """The grid's extent, in blocks."""
        return call_sreg(self.builder, f"nctaid.{xyz}")

    def getdim(self, xyz: str) -> Any:
        """The thread's position in the grid, an i64."""
        index, extent, block = (
            self.builder.sext(read(xyz), _INT64) for read in (self.tid, self.ntid, self.ctaid)
        )
        return self.builder.add(self.builder.mul(block, extent), index)


def get_global_id(builder: Any, dim: int) -> Any:
    """What cuda.grid(dim) is: an i64, or a list of them."""
    axes = [SRegBuilder(builder).getdim(axis) for axis in "xyz"[:dim]]
    return axes[0] if dim == 1 else axes


def atomic_cmpxchg(builder: Any, lmod: Any, isize: int, ptr: Any, cmp: Any, val: Any) -> Any:
    """Puts `val` where `cmp` is; the value that was there.

    :param lmod, isize: the module, and bits of the value, which llvmlite knows
    """
    del lmod, isize
    return builder.extract_value(builder.cmpxchg(ptr, cmp, val, "monotonic", "monotonic"), 0)


def declare_vprint(lmod: Any) -> Any:
    """The device's vprintf(format, values)."""
    return _declared(lmod, "vprintf", _INT32, (_BYTES, _BYTES))


def declare_string(builder: Any, value: str) -> Any:
    """A pointer to the text in constant memory, with a zero behind it."""
    data = bytearray(value.encode() + b"\0")
    kind = ir.ArrayType(ir.IntType(8), len(data))
    module = builder.module
    text = ir.GlobalVariable(module, kind, module.get_unique_name("text"), addrspace=_CONSTANT_MEMORY)
    text.linkage, text.global_constant, text.initializer = "internal", True, ir.Constant(kind, data)
    return builder.addrspacecast(builder.bitcast(text, ir.IntType(8).as_pointer(_CONSTANT_MEMORY)), _BYTES)

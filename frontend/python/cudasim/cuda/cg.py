"""Cooperative groups, numba.cuda.cg: `cg.this_grid().sync()` in a kernel waits for all threads of the grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.compile.intrinsics import ALL

if TYPE_CHECKING:
    from typing import NoReturn

this_grid = ALL["cuda.cg.this_grid"]


class GridGroup:
    """All threads of a cooperative launch: what this_grid() gives in a kernel."""

    def sync(self) -> NoReturn:
        """Waits for all of them; in kernels only."""
        raise NotImplementedError(
            "sync() of a grid works in a kernel only: call it from a function decorated with @cuda.jit"
        )


__all__ = ["GridGroup", "this_grid"]

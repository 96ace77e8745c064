"""Cooperative groups, numba.cuda.cg: `cg.this_grid().sync()` in a kernel waits for all threads of the grid."""

from cudasim.compile.intrinsics import ALL

this_grid = ALL["cuda.cg.this_grid"]


class GridGroup:
    """All threads of a cooperative launch: what this_grid() gives in a kernel."""

    def sync(self):
        """Waits for all of them; in kernels only."""
        raise NotImplementedError(
            "sync() of a grid works in a kernel only: call it from a function decorated with @cuda.jit"
        )


__all__ = ["GridGroup", "this_grid"]

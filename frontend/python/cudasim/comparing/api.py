"""What programs call: cudasim.compare() and cudasim.compare_with_gpu()."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from cudasim import errors
from cudasim.comparing.arrays import tolerances_of
from cudasim.comparing.report import report_of, word_of
from cudasim.comparing.report_text import render
from cudasim.comparing.session import GpuComparison
from cudasim.streams import stream_work


class ComparedLaunches:
    """What comparisons have found so far."""

    def __init__(self, comparison: GpuComparison) -> None:
        self._comparison = comparison

    @property
    def report(self) -> dict[str, Any]:
        """The report as docs/gpu.md describes it; JSON can be made of it."""
        return self._comparison.report()

    @property
    def verdicts(self) -> list[str]:
        """For each launch "same", "close" or "different"; where it was not compared its status, as "refused"."""
        return [word_of(launch) for launch in self._comparison.launches]

    def __str__(self) -> str:
        return render(self.report)


def compare(
    configured: Any,
    *args: Any,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    exact: bool = False,
    tolerances: Mapping[str, Mapping[str, Any]] | None = None,
    raises: bool = True,
    also_faulting: bool = False,
) -> ComparedLaunches:
    """Launches a kernel on the simulator and on a real GPU, and compares what both leave in memory.

    cudasim.compare(kernel[grid, block], x, y, rtol=1e-5)

    The arguments get the simulator's results. Integers have to be the same. Floats may differ as torch.testing.assert_close
    allows by default, or as `rtol`, `atol` (|simulator - GPU| <= atol + rtol * |GPU|) and `ulp` say.

    :param configured: a kernel with its configuration, `kernel[grid, block]`
    :param exact: whether only the same values will do, zeros of the same sign
    :param tolerances: names of array parameters → their own rtol, atol, ulp, exact
    :param raises: whether a difference raises; else the result says it
    :param also_faulting: whether the launch is sent to the GPU even where the simulator finds an error in it
    :raises cudasim.GpuDifference: where an array is different, the GPU faults, or a thread wrote outside of every allocation
    :raises cudasim.errors.NotComparedError: where the launch cannot be given to a GPU
    :raises cudasim.errors.NoGpuError: where there is no GPU
    :raises ValueError: for tolerances that make no sense
    """
    comparison = GpuComparison(
        tolerances_of(rtol, atol, ulp, exact, tolerances),
        raises=raises,
        also_faulting=also_faulting,
        warns=False,
    )
    with comparison.in_force():
        configured(*args)
        _finish(comparison, 0, raises)
    if not comparison.launches:
        raise errors.NotComparedError("the call launched no kernel", {})
    for launch in comparison.launches:
        if launch["status"] != "ran" and "verdict" not in launch:
            raise errors.NotComparedError(
                f"a launch of {launch['kernel']} was not compared with the GPU: {launch['message']}", launch
            )
    return ComparedLaunches(comparison)


@contextlib.contextmanager
def compare_with_gpu(
    *,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    exact: bool = False,
    raises: bool = True,
    also_faulting: bool = False,
) -> Iterator[ComparedLaunches]:
    """Compares every launch of a `with` block with the same launch on a real GPU, as compare() does.

    Launches that cannot be given to a GPU warn once for each kernel (cudasim.errors.NotComparedWarning) and run on the simulator alone.
    """
    comparison = GpuComparison(
        tolerances_of(rtol, atol, ulp, exact), raises=raises, also_faulting=also_faulting
    )
    with comparison.in_force():
        yield ComparedLaunches(comparison)
        _finish(comparison, len(comparison.launches), raises)


def _finish(comparison: GpuComparison, first: int, raises: bool) -> None:
    """Waits for launches that are enqueued. What they raise (option deferred) nobody has seen, so it is raised here.

    :param first: of the launches that are looked at
    """
    stream_work.finish()
    different = [launch for launch in comparison.launches[first:] if launch.get("verdict") == "different"]
    if raises and different:
        report = report_of(different)
        raise errors.GpuDifference(render(report), report)

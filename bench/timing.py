"""How every side measures: medians of repeated runs, and results that are checked."""

import gc
import os
import statistics
import time

REPEATS = 7


class Absent(Exception):
    """A peer cannot run on this machine; says why."""


_clock = time.perf_counter


def use_one_core():
    """Keeps this process on one core and counts its processor time from now on, so that other processes
    matter little."""
    global _clock
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    _clock = time.process_time


def timed(action, repeats):
    """Median seconds of `repeats` runs."""
    times = []
    gc.disable()
    for _ in range(repeats):
        start = _clock()
        action()
        times.append(_clock() - start)
    gc.enable()
    return statistics.median(times)


def require(condition, name):
    if not condition:
        raise SystemExit(f"bench: wrong result of {name}")

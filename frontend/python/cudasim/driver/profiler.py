"""cuda.profile_start and its kin: a region for profilers such as Nsight Systems. The simulator has none to switch; the
calls are checked as the driver checks them and do nothing else.
"""

import contextlib

from cudasim.device.current import current_device


def profile_start():
    """Begins the region; as with the driver, nothing happens when it has begun already."""
    current_device()


def profile_stop():
    """Ends the region; as with the driver, nothing happens when it has not begun."""
    current_device()


@contextlib.contextmanager
def profiling():
    """`with cuda.profiling():` a region."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()

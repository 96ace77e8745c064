"""A plug-in for pytest: what tests launch is compared with the stand-in GPU. compare_launches.py starts pytest with it."""

import collections
import contextlib

import collecting


def _without_python_mode():
    """Launches run once, as the test wants them."""
    import both_modes

    @contextlib.contextmanager
    def comparing():
        yield both_modes.Comparison()

    both_modes.comparing = comparing


#: Of a test function with many parameters, where only some of its kernels are wanted. Examples all run.
MOST_PARAMETERS = 4


def pytest_collection_modifyitems(config, items):
    """Leaves out tests whose kernels would not be compared."""
    if collecting.Wanted.from_environment().most_of_a_test == 0:
        return
    seen = collections.Counter()
    kept, left_out = [], []
    for item in items:
        function = item.nodeid.partition("[")[0]
        seen[function] += 1
        few = seen[function] <= MOST_PARAMETERS or item.path.parent.name == "examples"
        (kept if few else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish(session):
    _without_python_mode()
    collecting.install(collecting.Wanted.from_environment())
    collecting.compare_in_programs()

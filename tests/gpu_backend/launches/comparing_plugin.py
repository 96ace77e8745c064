"""A plug-in for pytest: what tests launch is compared with the stand-in GPU. compare_launches.py starts pytest with it."""

import contextlib

import collecting


def _without_python_mode():
    """Launches run once, as the test wants them."""
    import both_modes

    @contextlib.contextmanager
    def comparing():
        yield both_modes.Comparison()

    both_modes.comparing = comparing


def pytest_collection_finish(session):
    _without_python_mode()
    collecting.install(collecting.Wanted.from_environment())
    collecting.compare_in_programs()

"""Fixtures of all tests: compiled kernels are kept in a folder of this run, never in the user's own cache,
and the images of all kernels in another one, which tests/gpu_backend/test_every_image.py looks at when all
else has run. Several processes (pytest-xdist) and runs (CUDASIM_TESTS_FOLDER) share the images.

Tests that start programs give them an environment without cudasim's variables, except those set here.
"""

import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(__file__))  # both_modes, mode_differences


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "like_images: thousands of kernels that differ in a type or an operator; test_every_image.py takes a sample",
    )
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell's background job: programs that tests start would inherit it, and
        # Ctrl-C would not reach them.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers",
        "alone: runs when the others are done, because it uses what they left or needs a quiet machine",
    )
    config.cudasim_folder = None
    folder = os.environ.get("CUDASIM_TESTS_FOLDER")
    if not folder:
        folder = config.cudasim_folder = tempfile.mkdtemp(prefix="cudasim_tests_")
        os.environ["CUDASIM_TESTS_FOLDER"] = folder  # for the processes of pytest-xdist
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    os.environ["CUDASIM_CACHE_DIR"] = os.path.join(folder, f"cache{worker}")
    os.environ["CUDASIM_KEEP_IMAGES"] = os.path.join(folder, "images")


def pytest_unconfigure(config):
    if config.cudasim_folder is not None:
        shutil.rmtree(config.cudasim_folder, ignore_errors=True)
        del os.environ["CUDASIM_TESTS_FOLDER"]


def pytest_collection_modifyitems(items):
    items.sort(
        key=lambda item: pathlib.Path(item.path).name == "test_every_image.py"
    )  # stable: the rest stays


@pytest.fixture(autouse=True)
def like_images_are_kept_apart(request):
    if request.node.get_closest_marker("like_images") is None:
        yield
        return
    from cudasim import options

    with options.override(keep_images=os.path.join(os.environ["CUDASIM_KEEP_IMAGES"], "like")):
        yield


@pytest.fixture(autouse=True)
def compiler_tests_run_in_native_mode(request):
    """What the compiler refuses is refused in the compiler's own tests, not run in Python mode.

    What they launch runs in Python mode besides, and both have to agree (mode_differences.py); random programs have a
    test of their own for that, as variables of several types may differ (test_both_modes.py).
    """
    if pathlib.Path(request.path).parent.name != "pykernel":
        yield
        return
    from both_modes import comparing
    from cudasim import options
    from mode_differences import surprise
    from python_mode_required import REASON

    if REASON or request.node.name.startswith("test_random_programs"):
        with options.override(mode="native"):
            yield
        return
    with options.override(mode="native"), comparing() as comparison:
        yield
    wrong = surprise(f"{request.path.name}::{request.node.name}", comparison)
    if wrong:
        pytest.fail(wrong, pytrace=False)

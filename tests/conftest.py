"""For all tests: compiled kernels are kept in a folder of this run, never in the user's own cache.

Tests that start programs give them an environment without cudasim's variables, except those set here.
"""

import os
import shutil
import tempfile


def pytest_configure(config):
    config.cudasim_cache = os.environ["CUDASIM_CACHE_DIR"] = tempfile.mkdtemp(prefix="cudasim_test_cache_")


def pytest_unconfigure(config):
    shutil.rmtree(config.cudasim_cache, ignore_errors=True)

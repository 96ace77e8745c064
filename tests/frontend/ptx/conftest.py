"""nvcc, for tests of CUDA C++ that is linked."""

import os
import shutil

import pytest


@pytest.fixture(scope="session")
def nvcc():
    path = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(path, os.X_OK):
        pytest.skip("no nvcc on this machine: it makes PTX of CUDA C++")

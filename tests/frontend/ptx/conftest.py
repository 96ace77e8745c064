"""Kernels with linked PTX are not kept for tests/gpu_backend/every_image_test.py: ptxas refuses their debug information
("overlapping non-identical data"), which is open."""

import pytest

from cudasim import options


@pytest.fixture(autouse=True)
def images_are_not_kept():
    with options.override(keep_images=""):
        yield

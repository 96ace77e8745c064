"""Programs that compare launches with a GPU: the stand-in for NVIDIA's driver (tests/gpu_backend/libcuda/stand_in), or this machine's."""

import pytest
from cudasim.device import real_gpu
from stand_in_driver import STAND_IN


@pytest.fixture
def gpu():
    """The environment of a process whose GPU is the stand-in: gpu("flip=p0+4") plants what settings.h there describes."""
    if not STAND_IN.exists():
        pytest.skip(f"the stand-in driver is not built: {STAND_IN}")

    def environment(planted="", **more):
        return {
            "CUDASIM_LIBCUDA": str(STAND_IN), "CUDASIM_TEST_LIBCUDA": planted, "ENABLE_CUDASIM": "1", **more,
        }  # fmt: skip

    return environment


@pytest.fixture(scope="session")
def real():
    """:returns: what the driver says of the GPU of this machine; skips where there is none"""
    found = real_gpu.query()
    if found["outcome"] != "found" or "Stand-in" in found["gpus"][0]["name"]:
        pytest.skip(f"no real GPU here ({found['outcome']})")
    return found["gpus"][0]

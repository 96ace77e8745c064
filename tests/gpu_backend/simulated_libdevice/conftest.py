"""Fixtures of the tests with NVIDIA's libdevice, which are skipped where there is none."""

import pytest
from cudasim import _native


@pytest.fixture(scope="session")
def libdevice_path():
    """The path of the libdevice.10.bc of this machine."""
    found = _native.find_libdevice()
    if found is None:
        pytest.skip('no libdevice.10.bc on this machine: pip install "cudasim[gpu]" brings one')
    return found[0]

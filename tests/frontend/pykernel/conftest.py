"""These tests are the compiler's: what it refuses is refused, not run in Python mode."""

import pytest

from cudasim import options


@pytest.fixture(autouse=True)
def compiled_or_refused():
    with options.override(mode="native"):
        yield

"""Programs that tests start."""

import os


def clean_environment(**variables):
    """The environment without anything that would switch cudasim or numba; None removes a variable."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if ("CUDASIM" not in name or name in ("CUDASIM_CACHE_DIR", "CUDASIM_KEEP_IMAGES"))
        and not name.startswith("NUMBA_")
        and name != "PYTHONPATH"
    }
    environment.update(variables)
    return {name: value for name, value in environment.items() if value is not None}

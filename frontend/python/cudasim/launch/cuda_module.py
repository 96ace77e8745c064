"""The module that kernels call `cuda`: the public API, cudasim.cuda, as a value. It is made of the rooms, so that no room uses what is
in it; ufuncs and Python mode give it to functions under its name.
"""

import importlib
from types import ModuleType


def cuda_module() -> ModuleType:
    """cudasim.cuda."""
    return importlib.import_module("cudasim.cuda")

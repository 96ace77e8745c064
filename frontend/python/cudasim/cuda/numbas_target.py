"""Modules of numba.cuda that consist of Numba's own registers: what they hold where numba is installed, and what they say where it
is not."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn


def module(name: str, importer: str) -> Any:
    """The module of that name.

    :param importer: the module of ours that needs it
    :raises ImportError: where numba is not installed
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"numba{importer.removeprefix('cudasim')} extends Numba's compiler, and numba is not installed: install numba"
        ) from error


def refusing(name: str, why: str) -> Any:
    """A module's __getattr__ that refuses all names.

    :param name: the module, as programs name it
    """

    def refuse(wanted: str) -> NoReturn:
        if wanted.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        # not an AttributeError, for which `from … import` has words of its own
        raise ImportError(f"{name} has no {wanted} here: {why}", name=name)

    return refuse


def declarations(importer: str) -> Any:
    """Where rules for types are registered. Raises as module()."""
    return module("cudasim.compile.numba_target", importer).declarations


def implementations(importer: str) -> Any:
    """Where code is registered. Raises as module()."""
    return module("cudasim.compile.numba_target", importer).implementations


def target(importer: str) -> Any:
    """Both contexts. Raises as module()."""
    return module("cudasim.compile.numba_target", importer).cuda_target

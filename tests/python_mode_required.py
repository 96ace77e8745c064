"""Skips what needs Python mode where this CPython has none; the import error's sentence is the reason."""

import importlib

import pytest


def _why_not() -> str:
    try:
        importlib.import_module("cudasim._pyfiber")
    except ImportError as error:
        return str(error)
    return ""


REASON = _why_not()
needs_python_mode = pytest.mark.skipif(bool(REASON), reason=REASON or "Python mode is there")


def skip_module_without_python_mode() -> None:
    """Skips a test module all of which needs Python mode. Called at the top of it."""
    if REASON:
        pytest.skip(REASON, allow_module_level=True)

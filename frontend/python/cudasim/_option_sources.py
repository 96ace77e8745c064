"""Where options come from besides programs: the names of environment variables, and [tool.cudasim] in pyproject.toml."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from cudasim._option_values import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Variables that are not options: of the build, and of the project's own tests.
_NO_OPTIONS = re.compile(
    r"CUDASIM_(TEST|BUILD|ORACLE|SANITIZE|FUZZ|CLANG|PORTABLE|ADDRESS|SEEDS|RANDOM|CU_FOLDER)\w*"
)

#: What a table of ours needs: most projects' files have none, and are not parsed.
_MAY_HAVE_TABLE = re.compile(rb"""(?m)^\s*\[?\s*(["']?tool["']?\s*\.\s*["']?cudasim|["']?tool["']?\s*\])""")

_begins_in = None  # the folder where the search begins; None: the working directory
_project = None  # name → (value, where), once it has been read


def warn_of_unknown_variables(known: list[str]) -> None:
    """Warns of variables CUDASIM_* that are not options, which are misspelt as a rule.

    :param known: the variables of options
    """
    unknown = [name for name in os.environ if name.upper().startswith("CUDASIM_") and name not in known]
    unknown = [name for name in unknown if not _NO_OPTIONS.fullmatch(name)]
    if not unknown:
        return
    from cudasim.reports.user_warnings import warn_at_calling_code  # only for a message

    for name in unknown:
        meant = did_you_mean(name.upper(), known) or " docs/options.md has them all."
        warn_at_calling_code(
            "option", f"the environment variable {name} is not an option of cudasim and has no effect.{meant}"
        )


def begin_at(folder: Any) -> None:
    """The search for pyproject.toml begins in this folder."""
    global _begins_in, _project
    _begins_in, _project = folder, None


def project_values(take: Callable[..., Any]) -> dict[Any, Any]:
    """What pyproject.toml says.

    :param take: (name, value, folder, where) → the option's value
    :returns: name → (value, where it comes from)
    """
    global _project
    if _project is None:
        file = _found()
        _project = {} if file is None else _read(file, take)
    return _project


def _found():
    """The nearest pyproject.toml, as build tools and linters find theirs."""
    try:
        folder = os.path.abspath(_begins_in or os.getcwd())
    except FileNotFoundError:  # the working directory has been removed
        return None
    while True:
        file = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(file):
            return file
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def _read(file, take):
    from cudasim.options import OptionError  # options imports this module

    try:
        with open(file, "rb") as opened:
            content = opened.read()
    except OSError:
        return {}  # somebody else's, for all that is known
    if not _MAY_HAVE_TABLE.search(content):
        return {}
    try:
        table = parse_toml(content).get("tool", {}).get("cudasim", {})
    except ValueError as error:
        raise OptionError(f"{file} is not valid TOML: {error}") from None
    except ImportError:
        raise OptionError(
            f"reading [tool.cudasim] in {file} needs the package tomli on CPython 3.10: pip install tomli"
        ) from None
    where = f"{file}, [tool.cudasim]"
    if not isinstance(table, dict):
        raise OptionError(f"{where} is not a table of options")
    folder, values = os.path.dirname(file), {}
    for key, value in table.items():
        name = key.replace("-", "_")
        try:
            values[name] = take(name, value, folder, where), where
        except OptionError as error:
            raise error if str(error).startswith(where) else OptionError(f"{where}: {error}") from None
    return values


def parse_toml(content: bytes) -> dict[Any, Any]:
    """The bytes of a TOML file as a dictionary.

    :raises ValueError: when they are none
    :raises ImportError: on CPython 3.10 without tomli, which tomllib was made from
    """
    try:
        import tomllib  # most programs have no such file
    except ModuleNotFoundError:
        import tomli as tomllib
    return tomllib.loads(content.decode())

"""numba.cuda.args: In, Out, InOut, and what they have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.launch.arguments import In, InOut, Intent, Out  # noqa: F401

if TYPE_CHECKING:
    from typing import Any

ArgHint = Intent


def wrap_arg(value: Any, default: Any = InOut) -> Any:
    """The value with a direction: as it is when it has one."""
    return value if isinstance(value, Intent) else default(value)

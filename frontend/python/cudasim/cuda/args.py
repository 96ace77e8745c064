"""numba.cuda.args: In, Out, InOut, and what they have in common."""

from cudasim.launch.arguments import In, InOut, Intent, Out  # noqa: F401

ArgHint = Intent


def wrap_arg(value, default=InOut):
    """The value with a direction: as it is when it has one."""
    return value if isinstance(value, Intent) else default(value)

"""numba.cuda.typing.typeof: the type that a value has as an argument of a kernel."""

import enum as _enum


class Purpose(_enum.Enum):
    """What the type is for; cudasim gives the same for both."""

    argument = 1
    constant = 2


def typeof(val, purpose=Purpose.argument):
    """The type of a value: Numba's type object where numba has been imported, else cudasim's.

    :raises ValueError: for what no kernel can take
    """
    from cudasim import types
    from cudasim.cuda.arguments import type_name

    return types.public(type_name(val))

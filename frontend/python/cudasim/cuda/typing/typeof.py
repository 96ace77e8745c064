"""numba.cuda.typing.typeof's names."""

from cudasim.type_system.registered_types import Purpose  # noqa: F401
from cudasim.type_system.typeof_any import typeof  # noqa: F401

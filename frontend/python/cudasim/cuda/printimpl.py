"""numba.cuda.printimpl: where programs register what print() prints of values of types of their own."""

from __future__ import annotations

from cudasim.cuda import numbas_target

registry = numbas_target.implementations(__name__)
lower = registry.lower
print_item = numbas_target.module("cudasim.compile.printing", __name__).print_item
__getattr__ = numbas_target.refusing(
    "numba.cuda.printimpl",
    "Numba's own code for print() is not used; register what is printed with `print_item`",
)

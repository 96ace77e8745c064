"""numba.cuda.mathimpl: where code for mathematical functions is registered, which is that of all code; and code of theirs."""

from __future__ import annotations

from cudasim.cuda import numbas_target

registry = numbas_target.implementations(__name__)
lower = registry.lower
_target = numbas_target.module("cudasim.compile.numba_target", __name__)
get_unary_impl_for_fn_and_ty = _target.unary_function
get_binary_impl_for_fn_and_ty = _target.binary_function
__getattr__ = numbas_target.refusing(
    "numba.cuda.mathimpl",
    "Numba's own code for mathematical functions is not used; register code with `lower`",
)

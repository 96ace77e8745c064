"""A device function for given argument types: an overload of a dispatcher with device=True.

Kernels have device functions compiled in; this one stands alone, for looking at. It is compiled when it is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.launch.inspection import GpuCode, signature_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.compile.compiler import CompiledPythonKernel
    from cudasim.type_system.scalar_types import Type
    from cudasim.type_system.signatures import Signature


class DeviceFunction(GpuCode):
    """The counterpart of CompiledKernel for device functions."""

    objectmode = False

    def __init__(
        self,
        py_func: Callable[..., Any],
        argument_types: tuple[Type, ...],
        target_options: dict[str, Any],
        result_type: Type | None = None,
    ) -> None:
        """:param result_type: None when it has to be inferred"""
        self.py_func, self.argument_types, self.target_options = py_func, argument_types, target_options
        self._result_type = result_type
        self._done: CompiledPythonKernel | None = None

    @property
    def _compiled(self):
        if self._done is None:
            from cudasim.compile import compiler  # start-up: the compiler is loaded by the first kernel

            self._done = compiler.compile_device_function(
                self.py_func,
                self.argument_types,
                abi="numba",
                result_type=self._result_type,
                fastmath=self.target_options.get("fastmath", False),
            )
        return self._done

    @property
    def result_type(self) -> Type:
        """The type of its result."""
        return self._compiled.result_type if self._result_type is None else self._result_type

    @property
    def signature(self) -> Signature:
        """Numba's signature."""
        return signature_of(self.result_type, self.argument_types)

    @property
    def image(self) -> Any:
        return self._compiled.image

    @property
    def kernel_name(self) -> str:
        return self._compiled.kernel_name

    @property
    def typed_ir(self) -> Any:
        return self._compiled.typed_ir

    @property
    def library(self) -> _Library:
        """Numba's code library, as far as its text goes."""
        return _Library(self)


class _Library:
    def __init__(self, function):
        self._function = function

    def get_llvm_str(self):
        return self._function.inspect_llvm()

    def get_asm_str(self, cc=None):
        return self._function.inspect_asm(cc)

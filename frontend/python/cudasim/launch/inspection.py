"""What can be seen of compiled kernels and device functions: code, types, resources, by signature.

BySignature        overloads by argument types, looked up in any of the forms that signatures have
GpuCode            of one compiled kernel: what a GPU would run, and what it takes
InspectedFunction  of a dispatcher: the same for all its overloads
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING

from cudasim import _native, types
from cudasim.type_system.signatures import signature
from cudasim.types import public_types

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.type_system.scalar_types import Type
    from cudasim.type_system.signatures import Signature


class BySignature(dict):
    """A value for each overload. Keys are tuples of types, as users see them; type objects, their names and signatures find
    them."""

    def __init__(self, by_types: dict[Any, Any]) -> None:
        """:param by_types: tuple of types → value"""
        self._keys = {kinds: public_types(kinds) for kinds in by_types}
        super().__init__((key, by_types[kinds]) for kinds, key in self._keys.items())

    def _key(self, signature):
        try:
            kinds = types.parse_signature(signature)[0]
        except (NameError, SyntaxError, TypeError):
            return signature
        return self._keys.get(kinds, signature)

    def __getitem__(self, signature: Any) -> Any:
        return super().__getitem__(self._key(signature))

    def __contains__(self, signature: object) -> bool:
        return super().__contains__(self._key(signature))

    def get(self, signature: Any, default: Any = None) -> Any:
        return super().get(self._key(signature), default)


class GpuCode:
    """A compiled kernel as a GPU would have it. `image`, `kernel_name`, `target_options`, `typed_ir` are the kernel's."""

    image: Any
    target_options: dict[str, Any]
    argument_types: tuple[Type, ...]
    py_func: Callable[..., Any]

    if TYPE_CHECKING:  # attributes of kernels, properties of device functions

        @property
        def kernel_name(self) -> str: ...
        @property
        def typed_ir(self) -> str: ...

    @property
    def entry_name(self) -> str:
        """The symbol of the kernel."""
        return self.kernel_name

    def inspect_llvm(self) -> str:
        """The NVVM IR as text; with debug information where debug or lineinfo ask for it."""
        from cudasim.compile.gpu_code import debug_info  # start-up: few programs inspect kernels

        return _native.nvvm_ir(self.image, debug_info(self.target_options))

    def inspect_asm(self, cc: str | None = None) -> str:
        """PTX for a compute capability such as (9, 0) or an architecture such as "sm_90" (the current device's unless said)."""
        from cudasim.compile.gpu_code import ptx_of  # start-up: few programs inspect kernels

        return ptx_of(self.image, self.kernel_name, cc, self.target_options)

    def inspect_lto_ptx(self, cc: Any = None) -> Any:
        """The PTX after link-time optimisation: nothing is linked, so it is inspect_asm()'s."""
        return self.inspect_asm(cc)

    def inspect_sass(self) -> Any:
        """The machine code. :raises RuntimeError: without a CUDA toolkit"""
        return self._sass("-gi")

    def inspect_sass_cfg(self) -> Any:
        """The flow graph of the machine code, for graphviz. :raises RuntimeError: without a CUDA toolkit"""
        return self._sass("-cfg")

    def _sass(self, flag):
        from cudasim.compile.gpu_code import architecture, sass_of  # start-up: few programs inspect kernels

        return sass_of(self.inspect_asm(), architecture(), (flag,))

    def inspect_types(self, file: Any = None) -> None:
        """Prints the Python source and the types that its values have."""
        file = file or sys.stdout
        print(f"{self.entry_name} {public_types(self.argument_types)}", "-" * 80, sep="\n", file=file)
        for number, line in self._source_lines():
            print(f"# {number:>4}  {line.rstrip()}", file=file)
        print("", self.typed_ir.rstrip("\n"), "=" * 80, sep="\n", file=file)

    def _source_lines(self):
        try:
            lines, first = inspect.getsourcelines(self.py_func)
        except (OSError, TypeError):
            return ()
        return enumerate(lines, first)

    def _resources(self):
        # start-up: few programs inspect kernels
        from cudasim.compile.gpu_code import architecture, resources_of

        sm = architecture()
        known = self.__dict__.setdefault("_known_resources", {})
        if sm not in known:
            most = int(self.target_options.get("max_registers") or 0)
            known[sm] = resources_of(self.inspect_asm(sm), sm, most)
        return known[sm]

    @property
    def regs_per_thread(self) -> int:
        """32-bit registers of a thread: ptxas's number where there is a CUDA toolkit, else an estimate."""
        return self._resources().registers

    @property
    def const_mem_size(self) -> int:
        """Bytes of constant memory."""
        return self._resources().constant

    @property
    def local_mem_per_thread(self) -> int:
        """Bytes of local memory of a thread."""
        return self._resources().local


def signature_of(result: Type, arguments: tuple[Type, ...]) -> Signature:
    """A signature object: Numba's where numba has been imported."""
    return signature(*public_types((result, *arguments)))


class InspectedFunction:
    """The overloads of a dispatcher; `_overloads` holds them by the types of their arguments."""

    _overloads: dict[Any, Any]
    specialized: bool
    device: Any

    @property
    def overloads(self) -> BySignature:
        """Argument types → compiled kernel (or device function)."""
        return BySignature(self._overloads)

    @property
    def signatures(self) -> list[Any]:
        """The argument types of every overload."""
        return list(map(public_types, self._overloads))

    @property
    def nopython_signatures(self) -> list[Signature]:
        """The signature of every overload."""
        return [overload.signature for overload in self._overloads.values()]

    def _inspect(self, signature, what):
        if signature is not None:
            return what(self.overloads[signature])
        return BySignature(
            {argument_types: what(kernel) for argument_types, kernel in self._overloads.items()}
        )

    def _resource(self, signature, name):
        if signature is None and self.specialized:
            return getattr(next(iter(self._overloads.values())), name)
        return self._inspect(signature, lambda kernel: getattr(kernel, name))

    def get_regs_per_thread(self, signature: Any = None) -> int:
        """Registers per thread of one overload, of the only one, or of all by their types."""
        return self._resource(signature, "regs_per_thread")

    def get_const_mem_size(self, signature: Any = None) -> int:
        """Bytes of constant memory, in the same forms."""
        return self._resource(signature, "const_mem_size")

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Bytes of static shared memory, in the same forms."""
        return self._resource(signature, "shared_mem_per_block")

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Threads that a block may have, in the same forms."""
        return self._resource(signature, "max_threads_per_block")

    def get_local_mem_per_thread(self, signature: Any = None) -> int:
        """Bytes of local memory per thread, in the same forms."""
        return self._resource(signature, "local_mem_per_thread")

    def inspect_llvm(self, signature: Any = None) -> Any:
        """The NVVM IR of one overload, or of all by their types."""
        return self._inspect(signature, lambda kernel: kernel.inspect_llvm())

    def inspect_asm(self, signature: Any = None) -> Any:
        """The PTX for the current device of one overload, or of all by their types."""
        return self._inspect(signature, lambda kernel: kernel.inspect_asm())

    def inspect_lto_ptx(self, signature: Any = None) -> Any:
        """The same as inspect_asm(), because nothing is linked."""
        return self._inspect(signature, lambda kernel: kernel.inspect_lto_ptx())

    def inspect_sass(self, signature: Any = None) -> Any:
        """The machine code of one overload, or of all. :raises RuntimeError: without a CUDA toolkit"""
        if self.device:
            raise RuntimeError("Cannot inspect SASS of a device function")
        return self._inspect(signature, lambda kernel: kernel.inspect_sass())

    def inspect_sass_cfg(self, signature: Any = None) -> Any:
        """The machine code's flow graph of one overload, or of all. :raises RuntimeError: without a CUDA toolkit"""
        if self.device:
            raise RuntimeError("Cannot get the CFG of a device function")
        return self._inspect(signature, lambda kernel: kernel.inspect_sass_cfg())

    def inspect_types(self, file: Any = None) -> None:
        """Prints source and types of every overload."""
        for overload in self._overloads.values():
            overload.inspect_types(file)

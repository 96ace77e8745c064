"""`cuda.declare_device`: device functions that were written in another language and are linked to kernels as PTX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import types
from cudasim.compile.linked_code import checked_links

if TYPE_CHECKING:
    from typing import Any, NoReturn

    from cudasim.compile.linkable_code import PTXSource


class ForeignFunction:
    """What declare_device() returns; kernels call it as a function.

    :ivar name: its symbol in the linked code
    :ivar sig: its signature, argument types and result
    :ivar links: what holds its code: paths or LinkableCode
    """

    def __init__(
        self,
        name: str,
        argument_types: tuple[types.Type, ...],
        result: types.Type,
        links: tuple[PTXSource, ...],
        c_convention: bool,
    ) -> None:
        self.name = self.__name__ = name
        self.sig = types.Signature(result, argument_types)
        self.links = links
        #: What the compiler reads (cudasim.compile.resolve): the symbol, the types of the arguments, the type
        #: of the result, and whether the calling convention is C's.
        self.__cudasim_foreign__ = (name, tuple(argument_types), result, c_convention)

    def __repr__(self) -> str:
        return f"<device function {self.name} of linked code, {self.sig}>"

    def __call__(self, *args: Any) -> NoReturn:
        raise NotImplementedError(
            f"{self.name}() is compiled code that is linked to kernels: only kernels call it, not the host"
        )


def declare_device(
    name: str, sig: Any, link: PTXSource | None = None, use_cooperative: bool = False, abi: str = "numba"
) -> ForeignFunction:
    """Declares a device function that linked code defines; calls of the result in kernels call it.

    :param name: its symbol, `extern "C"` in CUDA C++
    :param sig: its signature with a result, such as "int32(int32, float32)" or "float32(CPointer(float32), int32)"
    :param link: files or LinkableCode that define it (also `@cuda.jit(link=…)` of the kernel)
    :param use_cooperative: accepted: a launch is cooperative when its kernel waits for its grid
    :param abi: "numba": `int name(result*, arguments…)`, "c": `result name(arguments…)` (Numba's documentation,
        "Calling foreign functions from Python kernels")
    :raises TypeError: without a type of the result
    :raises NotImplementedError: for another `abi`
    """
    del use_cooperative
    if abi not in ("numba", "c"):
        raise NotImplementedError(f"Unsupported ABI: {abi!r}; there are 'numba' and 'c'")
    argument_types, result = types.parse_signature(sig)
    if result is None:
        raise TypeError(
            f"Return type must be provided for device declarations: declare_device({name!r}, 'int32(…)')"
        )
    return ForeignFunction(name, argument_types, result, checked_links(link), abi == "c")

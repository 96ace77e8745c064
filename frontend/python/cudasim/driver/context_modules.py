"""The modules of a context: PTX and linked code, loaded into it, and how many of their blocks a multiprocessor holds.

numba.cuda's names; driver/module.py and driver/function.py do the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from cudasim.device.device import Device
    from cudasim.driver.function import Function
    from cudasim.driver.module import Module


class ContextModules:
    """The part of a Context that has to do with modules. `modules` and `device` are the context's."""

    modules: dict[Any, Any]
    device: Device

    def create_module_ptx(self, ptx: bytes | str) -> Module:
        """A module of PTX text. :raises CudaAPIError: 218 with the line of what is wrong in it"""
        return self.create_module_image(ptx)

    def create_module_image(
        self,
        image: Any,
        setup_callbacks: Any = None,
        teardown_callbacks: list[Callable[..., Any]] | None = None,
    ) -> Module:
        """A module of what a linker's complete() gave, or of PTX.

        :param setup_callbacks: called with the module when it has been loaded
        :param teardown_callbacks: called with it when it is unloaded
        """
        from cudasim.driver.module import load_module_image  # most programs load no modules

        return load_module_image(self, image, setup_callbacks, teardown_callbacks)

    def unload_module(self, module: Module) -> None:
        """Forgets a module; its functions cannot be launched any more."""
        if self.modules.pop(module.handle, None) is not None:
            module.end()

    def unload_all_modules(self) -> None:
        """What the end of the context does to them."""
        for module in list(self.modules.values()):
            self.unload_module(module)

    def get_active_blocks_per_multiprocessor(
        self, func: Any, blocksize: int, memsize: int, flags: Any = None
    ) -> int:
        """Blocks of a kernel that a multiprocessor holds at once.

        :param func: a module's function, or a dispatcher's kernel
        :param blocksize: threads of a block
        :param memsize: bytes of dynamic shared memory of a block
        """
        # most programs ask for no occupancy
        from cudasim.driver.function import active_blocks_per_multiprocessor

        return active_blocks_per_multiprocessor(self.device, func, blocksize, memsize)

    def get_max_potential_block_size(
        self,
        func: Function,
        b2d_func: Callable[..., Any] | None,
        memsize: int,
        blocksizelimit: int,
        flags: Any = None,
    ) -> tuple[int, ...]:
        """Blocks of the grid, and threads of a block, with which most threads are resident on the device.

        :param b2d_func: threads of a block → bytes of its dynamic shared memory; None: always `memsize`
        :param blocksizelimit: threads that a block has at most; 0: the device's limit
        """
        from cudasim.driver.function import max_potential_block_size  # most programs ask for no occupancy

        return max_potential_block_size(self.device, func, b2d_func, memsize, blocksizelimit)

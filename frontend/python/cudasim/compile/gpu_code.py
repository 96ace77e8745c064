"""What a GPU would run of a kernel: its PTX, and what an assembler says of that.

Registers come from `ptxas` where a CUDA toolkit is found. Without an assembler they are estimated: the most
that are alive at once in the PTX, which ptxas may spill, share or rematerialise. Constant and local memory
stand in the PTX.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from cudasim import _native, _numba_config, options
from cudasim.compile import libdevice
from cudasim.device.current import current_device

if TYPE_CHECKING:
    from typing import Any

#: CUDA C++ Programming Guide, "Compute Capabilities": most 32-bit registers of a thread.
_MOST_REGISTERS = 255
#: What ptxas keeps for itself and for addresses, as seen in its reports of small kernels.
_ALWAYS_USED = 6
_REGISTERS = re.compile(r"%(rd|fd|rs|rh|hh|r|f)(\d+)\b")
_WORDS = {"rd": 2, "fd": 2, "r": 1, "f": 1, "rs": 1, "rh": 1, "hh": 1}


def architecture(capability: Any = None) -> str:
    """(8, 6) → "sm_86"; of the current device when nothing is given; NUMBA_FORCE_CUDA_CC comes before both."""
    if isinstance(capability, str):
        return capability
    forced = _numba_config.setting("FORCE_CUDA_CC")
    if forced:
        return "sm_{}{}".format(*forced)
    if capability is None:
        capability = current_device().compute_capability
    return "sm_{}{}".format(*capability)


def launch_bounds(bounds: Any) -> tuple[int, ...]:
    """The values of @cuda.jit's launch_bounds as three numbers, 0 where not said."""
    given = bounds if isinstance(bounds, (tuple, list)) else (bounds,)
    return (*(int(value or 0) for value in given), 0, 0, 0)[:3]


def debug_info(target_options: dict[str, Any]) -> str:
    """How much of it @cuda.jit's options ask for: "none", "lines" or "full"."""
    if target_options.get("debug", False):
        return "full"
    return "lines" if target_options.get("lineinfo", False) else "none"


def fuses(target_options: dict[str, Any]) -> bool:
    """Whether multiplications and additions are fused: as the GPU's compiler does, unless option fma says no."""
    return bool(target_options.get("fastmath", False)) or options.get("fma") or not options.is_given("fma")


def ptx_of(image: Any, name: str, capability: Any, target_options: dict[str, Any]) -> str:
    """The PTX of a kernel or device function, with what @cuda.jit's options ask for.

    :raises ValueError: for an architecture that LLVM has no code generator for
    """
    return _native.ptx(
        image,
        name,
        architecture(capability),
        fuses(target_options),
        optimise=bool(target_options.get("opt", True)),
        debug_info=debug_info(target_options),
        launch_bounds=launch_bounds(target_options.get("launch_bounds")),
        max_registers=int(target_options.get("max_registers") or 0),
        libdevice=libdevice.given_path(),
    )


class Resources(NamedTuple):
    """What one thread, or the kernel, takes; all but registers in bytes."""

    registers: int
    constant: int
    local: int
    #: "ptxas" or "estimate": where the number of registers comes from
    source: str


def resources_of(ptx: str, sm: str, most_registers: int = 0) -> Resources:
    """The resources of the entry in the PTX."""
    constant = _declared_bytes(ptx, "const")
    found = _asked_of_ptxas(ptx, sm, most_registers)
    if found is not None:
        registers, local = found
        return Resources(registers, constant, local, "ptxas")
    limit = most_registers or _MOST_REGISTERS
    return Resources(
        min(estimated_registers(ptx), limit), constant, _declared_bytes(ptx, "local"), "estimate"
    )


def _declared_bytes(ptx, space):
    sizes = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "f32": 4, "f64": 8}
    total = 0
    for kind, count in re.findall(rf"\.{space}\s+\.align\s+\d+\s+\.(\w+)\s+[\w$]+(?:\[(\d+)\])?", ptx):
        total += sizes.get(kind, 0) * int(count or 1)
    return total


def _asked_of_ptxas(ptx, sm, most_registers):
    ptxas = _native.find_toolkit_file("bin/ptxas")
    if ptxas is None:
        return None
    limit = [f"--maxrregcount={most_registers}"] if most_registers else []
    with tempfile.TemporaryDirectory() as folder:
        done = _run(
            [ptxas, "-v", f"-arch={sm}", *limit, "-o", os.path.join(folder, "kernel.cubin"), "-"], ptx
        )
    registers = re.search(r"Used (\d+) registers", done.stderr)
    stack = re.search(r"(\d+) bytes stack frame", done.stderr)
    if done.returncode != 0 or registers is None:
        return None
    return int(registers[1]), int(stack[1]) if stack else 0


def estimated_registers(ptx: str) -> int:
    """32-bit registers that are alive at once at the worst place, loops included, and what is always used."""
    alive: dict[Any, Any] = {}
    labels: dict[Any, Any] = {}
    back_edges: list[Any] = []
    for number, line in enumerate(ptx.splitlines()):
        text = line.strip()
        if text.startswith("."):
            continue
        if label := re.match(r"(\$[\w$]+):", text):
            labels[label[1]] = number
        for target in re.findall(r"\bbra(?:\.uni)?\s+(\$[\w$]+)", text):
            if target in labels:
                back_edges.append((labels[target], number))
        for match in _REGISTERS.finditer(text):
            first, _, _ = alive.get(match[0], (number, 0, 0))
            alive[match[0]] = (first, number, _WORDS[match[1]])
    changes = []
    for first, last, words in alive.values():
        for begin, end in back_edges:
            if first < begin <= last <= end:
                last = end  # what lives into a loop lives as long as the loop
        changes += [(first, words), (last, -words)]
    now = most = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return min(most + _ALWAYS_USED, _MOST_REGISTERS)


def _run(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)


def sass_of(ptx: Any, sm: Any, flags: Any = ("-gi",)) -> Any:
    """The machine code of the PTX as text; `ptxas` and `nvdisasm` of a CUDA toolkit make it.

    :raises RuntimeError: where there is no toolkit, or when it refuses
    """
    ptxas, nvdisasm = (_native.find_toolkit_file(f"bin/{tool}") for tool in ("ptxas", "nvdisasm"))
    if ptxas is None or nvdisasm is None:
        missing = " and ".join(
            tool for tool, path in (("ptxas", ptxas), ("nvdisasm", nvdisasm)) if path is None
        )
        raise RuntimeError(
            f"{missing} not found: ptxas makes machine code (SASS) of PTX, nvdisasm shows it. They come with the CUDA toolkit: "
            "install it and put its bin folder on PATH, or set CUDA_HOME. inspect_asm() shows the PTX without it"
        )
    with tempfile.TemporaryDirectory() as folder:
        cubin = os.path.join(folder, "kernel.cubin")
        for command, text in (
            ([ptxas, f"-arch={sm}", "-o", cubin, "-"], ptx),
            ([nvdisasm, *flags, cubin], None),
        ):
            done = _run(command, text)
            if done.returncode != 0:
                raise RuntimeError(
                    f"{os.path.basename(command[0])} failed: {done.stderr.strip() or done.stdout.strip()}"
                )
        return done.stdout

"""Python mode: kernels run in CPython itself, on the engine's simulated threads (design.md section 7).

    choice.py            which kernels run so, and what a refusal by the compiler means
    kernel.py            PythonKernel and its launches: what CompiledKernel is for native mode
    kernel_globals.py    the names of a kernel as it sees them here
    values.py            arguments and arrays
    debuggers.py         pdb and its kin: prompts, trace functions

The running itself is cudasim._pyfiber (frontend/pyfiber).
"""

from cudasim.python_mode.choice import choose_kernel, kernel_for_tracer

__all__ = ["choose_kernel", "kernel_for_tracer"]

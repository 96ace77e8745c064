"""cudasim's LLVM and llvmlite's in one process: hidden symbols keep them apart, whichever came first."""

import pytest

LAUNCH = """
    import numpy as np
    from cudasim import cuda

    @cuda.jit
    def scale(x, factor):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= factor

    x = np.arange(100, dtype=np.float64)
    scale[4, 32](x, 3.0)
    assert x.tolist() == [3.0 * i for i in range(100)]
"""

LLVMLITE = """
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i64 @f(i64 %x) {\\n  %y = mul i64 %x, 6\\n  ret i64 %y\\n}")
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    import ctypes
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(engine.get_function_address("f"))
    assert f(7) == 42
"""

NJIT = """
    import numba

    @numba.njit
    def total(x):
        s = 0.0
        for value in x:
            s += value
        return s

    import numpy as np
    assert total(np.ones(10)) == 10.0
"""


@pytest.mark.parametrize("other", [LLVMLITE, NJIT], ids=["llvmlite", "numba"])
@pytest.mark.parametrize("ours_first", [True, False], ids=["cudasim_first", "cudasim_second"])
def test_a_launch_and_another_llvm_live_together(run_with_numba, other, ours_first):
    parts = [LAUNCH, other] if ours_first else [other, LAUNCH]
    result = run_with_numba.script("".join(parts + parts) + "\n    print('both work')\n")
    assert result.stdout.strip() == "both work", result.stderr


def test_the_extension_exports_nothing_of_llvm():
    import subprocess

    from cudasim import _native

    symbols = subprocess.run(["nm", "-D", "--defined-only", _native.__file__], capture_output=True, text=True)
    if symbols.returncode != 0:
        pytest.skip("nm is not installed")
    names = [line.split()[-1] for line in symbols.stdout.splitlines()]
    assert "PyInit__native" in names
    assert not [name for name in names if "llvm" in name.lower()]

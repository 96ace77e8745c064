"""Images that clang makes of the .cu files in tests/images, for tests of checks."""

import pathlib
import shutil
import subprocess

import pytest
from cudasim import _native

IMAGES = pathlib.Path(__file__).parents[2] / "images"


def image_of(source, folder, optimised=False, architecture="sm_75"):
    """Compiles a .cu file; skips the test where clang 19 is missing.

    :param folder: for what the compiler writes
    :param optimised: whether clang's optimiser has had its turn
    :param architecture: the GPU that clang compiles for
    """
    if shutil.which("clang++-19") is None:
        pytest.skip("clang 19 is not there")
    (folder / "no-toolkit").mkdir()
    passes = [] if optimised else ["-Xclang", "-disable-llvm-passes"]
    subprocess.run(
        ["clang++-19", "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch={architecture}", f"--cuda-path={folder / 'no-toolkit'}",
         "-nocudainc", "-nocudalib", "-Xclang", "-target-feature", "-Xclang", "+ptx78", "-std=c++20", "-O1", *passes, "-g", "-Xclang", "-debug-info-kind=limited", "-emit-llvm", "-S", str(source), "-o",
         str(folder / "image.ll")], check=True, cwd=folder, capture_output=True)  # fmt: skip
    return _native.KernelImage.from_ir_text(
        (folder / "image.ll").read_text(), [(str(source), source.read_text())]
    )

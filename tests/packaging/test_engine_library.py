"""libcudasim.so (docs/architecture.md, "The engine library"): what it exports, that the extensions have nothing of the
engine themselves, that a process has it once, and what is said where it does not fit an extension."""

import importlib
import pathlib
import re
import shutil
import subprocess
import sys

import cudasim
import pytest
from cudasim import _native

INSTALLED = pathlib.Path(_native.__file__).parent
LIBRARY = INSTALLED / "libcudasim.so"
EXTENSIONS = [pathlib.Path(_native.__file__)]
try:
    EXTENSIONS.append(pathlib.Path(importlib.import_module("cudasim._pyfiber").__file__))
except ImportError as error:
    if "Python mode is not available" not in str(error):
        raise
PARTS = "image findings fiber memory libdevice jit execution driver streams ptx pykernel gpu_backend libcuda library".split()
#: The beginning of a mangled name of the engine (Itanium C++ ABI, "Mangling"): a function or a variable,
#: also one inside of a function.
ENGINE = re.compile(rf"_Z(GV)?Z*N[KRO]*7cudasim({'|'.join(f'{len(name)}{name}' for name in PARTS)})")


def symbols(file, *options):
    """[(type as nm has it, mangled name)] of a file."""
    if shutil.which("nm") is None:
        pytest.skip("nm is not installed")
    done = subprocess.run(["nm", *options, file], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return [(line[-2], line[-1].partition("@")[0]) for line in lines]


def test_the_library_exports_the_engine_and_nothing_that_is_linked_into_it():
    names = [name for _, name in symbols(LIBRARY, "-D", "--defined-only")]
    assert any(name.startswith("_ZN7cudasim6driver3run") for name in names)
    # T: vtables, type information, thunks, per-thread variables
    of_cudasim = re.compile(r"_Z(T[a-zA-Z]+[0-9n_]*)?N[KRO]*7cudasim")
    foreign = [name for name in names if not of_cudasim.match(name) and not name.startswith("CUDASIM_")]
    assert not foreign, foreign[:20]


def test_the_library_needs_no_llvm_of_the_machine():
    needed = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    assert "libc.so.6" in needed and "libLLVM" not in needed


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda path: path.name.split(".")[0])
def test_an_extension_uses_the_library_and_exports_only_its_entry(extension):
    used = [name for _, name in symbols(extension, "-D", "--undefined-only")]
    assert any(map(ENGINE.match, used))
    assert not [name for name in used if re.match(r"_ZT?.?N[KRO]*4llvm|LLVM", name)]
    exported = [name for _, name in symbols(extension, "-D", "--defined-only")]
    assert exported == [f"PyInit_{extension.name.split('.')[0]}"]


@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda path: path.name.split(".")[0])
def test_an_extension_has_no_code_and_no_variables_of_the_engine(extension):
    own = symbols(extension, "--defined-only")
    if not own:
        pytest.skip("the extension is stripped")
    exported = {name for _, name in symbols(LIBRARY, "-D", "--defined-only")}
    functions = sorted(name for kind, name in own if kind in "TtWw" and name in exported)
    assert not functions, functions[:20]
    variables = sorted(name for kind, name in own if kind in "BbDdGgSsuVv" and ENGINE.match(name))
    assert not variables, variables[:20]


IN_MODES = """
import pathlib, re, sys
import numpy as np
import cudasim
from cudasim import cuda

def twice(x):
    x[cuda.threadIdx.x] *= 2

for mode in sys.argv[1:]:
    with cudasim.options.override(mode=mode):
        x = np.arange(32)
        cuda.jit(twice)[1, 32](x)
        assert (x == 2 * np.arange(32)).all()
for path in sorted(set(re.findall(r"(?m) r-xp \\S+ \\S+ \\S+ +(/.*)", pathlib.Path("/proc/self/maps").read_text()))):
    if re.search(r"/(_native\\.|_pyfiber\\.|[^/]*cudasim|[^/]*LLVM)[^/]*$", path):
        print(path)
"""


def test_a_process_has_the_library_once_in_both_modes(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(IN_MODES)
    modes = ["native", "python"][: len(EXTENSIONS)]
    done = subprocess.run([sys.executable, script, *modes], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == sorted(str(path.resolve()) for path in [*EXTENSIONS, LIBRARY])


def test_a_library_of_another_build_is_refused_in_one_sentence(tmp_path):
    (node,) = [name for _, name in symbols(LIBRARY, "-D", "--defined-only") if name.startswith("CUDASIM_")]
    assert re.fullmatch(rf"CUDASIM_{re.escape(cudasim.__version__)}_[0-9a-f]{{12}}", node)
    for file in INSTALLED.glob("*.so*"):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / LIBRARY.name).unlink()
    other = node[:-12] + "0" * 12
    (tmp_path / LIBRARY.name).write_bytes(LIBRARY.read_bytes().replace(node.encode(), other.encode()))
    extension = tmp_path / pathlib.Path(_native.__file__).name
    extension.unlink()
    shutil.copy(_native.__file__, extension)  # the dynamic linker takes the folder of the file itself
    code = (
        "import importlib.util as u, sys; spec = u.spec_from_file_location('cudasim._native', sys.argv[1]);"
        "u.module_from_spec(spec)"
    )
    done = subprocess.run([sys.executable, "-c", code, extension], capture_output=True, text=True)
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert (
        said
        == f"ImportError: {tmp_path / LIBRARY.name}: version `{node}' not found (required by {extension})"
    )

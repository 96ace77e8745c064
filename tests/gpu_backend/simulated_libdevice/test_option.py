"""Option libdevice: what it takes, what it changes, and what it leaves as it is."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest
from cudasim import _native, cuda, options
from cudasim.compile import libdevice as compile_libdevice
from cudasim.compile.libdevice_version import version

ROOT = pathlib.Path(__file__).resolve().parents[3]


def table_of_functions(dtype, fastmath=False):
    """(kernel, arguments, results)"""

    @cuda.jit(fastmath=fastmath)
    def kernel(out, x):
        i = cuda.grid(1)
        out[i, 0], out[i, 1] = math.sin(x[i]), math.cos(x[i])
        out[i, 2], out[i, 3] = math.exp(x[i]), math.log(abs(x[i]))
        out[i, 4], out[i, 5] = abs(x[i]) ** x[i], math.tanh(x[i])
        out[i, 6], out[i, 7] = math.gamma(x[i]), math.sqrt(abs(x[i]))

    x = np.random.default_rng(2).uniform(-20, 20, 512).astype(dtype)
    return kernel, x, np.zeros((512, 8), dtype)


def run_ptx(kernel, x, out, path):
    """What the kernel's PTX gives, read back."""
    (compiled,) = kernel.overloads.values()
    text = _native.ptx(compiled.image, compiled.kernel_name, "sm_90", libdevice=path, require_libdevice=True)
    module = cuda.current_context().create_module_ptx(text)
    function = module.get_function(text.split(".entry ", 1)[1].split("(", 1)[0])
    on_device, its_x = cuda.to_device(out), cuda.to_device(x)
    parameters = []
    for array in (on_device, its_x):
        parameters += [array, *map(np.int64, array.shape), *map(np.int64, array.strides)]
    function.launch((4, 1, 1), (128, 1, 1), 0, None, parameters)
    return on_device.copy_to_host()


@pytest.mark.parametrize("fastmath", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_kernels_give_what_their_ptx_gives(libdevice_path, dtype, fastmath):
    kernel, x, out = table_of_functions(dtype, fastmath)
    own = out.copy()
    with options.override(mode="native", libdevice=libdevice_path):
        kernel[4, 128](out, x)
    with options.override(mode="native"):
        kernel[4, 128](own, x)
    of_ptx = run_ptx(kernel, x, np.zeros_like(out), libdevice_path)
    np.testing.assert_array_equal(out, of_ptx)
    assert np.count_nonzero(out != own) > 100
    np.testing.assert_allclose(
        out, own, rtol=2e-5 if dtype == np.float32 else 1e-13, atol=1e-4 if fastmath else 0
    )


def test_python_mode_keeps_the_functions_of_the_simulator(libdevice_path):
    kernel, x, out = table_of_functions(np.float64)
    own = out.copy()
    with options.override(mode="python", libdevice=libdevice_path):
        kernel[4, 128](out, x)
    with options.override(mode="python"):
        kernel[4, 128](own, x)
    np.testing.assert_array_equal(out, own)


def test_auto_is_the_library_of_this_machine_and_own_none(libdevice_path):
    with options.override(libdevice="auto"):
        assert compile_libdevice.of_simulation() == _native.find_libdevice()
    with options.override(libdevice="own"):
        assert compile_libdevice.of_simulation() is None
    assert options.BY_NAME["libdevice"].default == "own"


def test_each_function_is_translated_once_for_a_process(libdevice_path):
    # In a process of its own: others of this one may have needed the same functions.
    program = """
import math, numpy as np
from cudasim import _native, cuda, options
def kernel_of(function):
    @cuda.jit
    def kernel(x):
        x[0] = function(x[0])
    return kernel
options.set(mode="native", libdevice="auto")
counts = []
for function in (math.sin, math.sin, math.cos, math.sqrt):
    kernel = kernel_of(function)
    for _ in range(2):
        kernel[1, 1](np.ones(1))
    counts.append(_native.translated_libdevice_functions())
print(counts)
"""
    file = pathlib.Path(os.environ["CUDASIM_CACHE_DIR"]).parent / "translated_once.py"
    file.write_text(program)
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)
    assert counts[0] == counts[1] == 1
    assert counts[2] == 2
    assert counts[3] in (2, 3)  # a square root may be LLVM's


def test_linking_is_undone_for_ptx_and_for_another_library(libdevice_path):
    kernel, x, out = table_of_functions(np.float64)
    with options.override(mode="native"):
        kernel[4, 128](out, x)
    (compiled,) = kernel.overloads.values()
    linked = _native.with_libdevice(compiled.image, libdevice_path, "sm_90")
    assert linked.hash != compiled.image.hash  # so the object cache has an entry for each
    assert "define internal" in _native.nvvm_ir(linked, "none") and "$sin" in _native.nvvm_ir(linked, "none")
    again = _native.without_libdevice(linked)
    assert "$sin" not in _native.nvvm_ir(again, "none")
    assert "declare double @__nv_sin(double)" in _native.nvvm_ir(again, "none")
    assert _native.linked_libdevice(again) == "" == _native.linked_libdevice(compiled.image)
    text = [_native.ptx(image, compiled.kernel_name, "sm_90") for image in (compiled.image, linked, again)]
    assert text[0] == text[1] == text[2]
    with options.override(mode="native"):
        kernel[4, 128](out, x)
    twice = _native.with_libdevice(linked, libdevice_path, "sm_90")
    assert _native.nvvm_ir(twice, "none").count("$sin(") == _native.nvvm_ir(linked, "none").count("$sin(")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file"),
        (b"", "not LLVM bitcode"),
        (b"BC\xc0\xde" + bytes(100), "not CUDA's libdevice"),
        (b"text", "not LLVM bitcode"),
    ],
)
def test_a_path_that_is_no_libdevice_is_named(tmp_path, content, reason):
    path = tmp_path / "libdevice.10.bc"
    if content is not None:
        path.write_bytes(content)
    kernel, x, out = table_of_functions(np.float64)
    with options.override(mode="native", libdevice=str(path)):
        with pytest.raises(options.OptionError, match=reason) as caught:
            kernel[4, 128](out, x)
    assert str(path) in str(caught.value)
    assert "own, auto, or the path" in str(caught.value)


def test_bitcode_that_is_something_else_is_no_libdevice(tmp_path, libdevice_path):
    cut = tmp_path / "cut.bc"
    cut.write_bytes(pathlib.Path(libdevice_path).read_bytes()[:100_000])
    with pytest.raises(ValueError, match="not CUDA's libdevice"):
        _native.find_libdevice(str(cut))


def test_an_empty_value_is_refused():
    with pytest.raises(options.OptionError, match="own, auto, or the path"):
        options.set(libdevice="")


def environment(**changes):
    kept = {name: value for name, value in os.environ.items()
            if name not in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "PYTHONPATH")}  # fmt: skip
    return {**kept, **changes}


def found_with(**changes):
    """The library that a process with these variables finds."""
    program = "from cudasim import _native; print((_native.find_libdevice() or ['none'])[0])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env=environment(**changes))  # fmt: skip
    return done.stdout.strip()


PLACES = {
    "CUDA_HOME": ["nvvm/libdevice"],
    "CUDA_PATH": ["nvvm/libdevice"],
    "PYTHONPATH": [
        "nvidia/cu13/nvvm/libdevice",
        "nvidia/cuda_nvcc/nvvm/libdevice",
        "nvidia/cuda_nvvm/nvvm/libdevice",
    ],
    "CONDA_PREFIX": ["nvvm/libdevice", "lib", "lib/cuda/nvvm/libdevice"],
}


@pytest.mark.parametrize(("variable", "below"), [(name, below) for name in PLACES for below in PLACES[name]])
def test_it_is_found_where_toolkits_conda_and_wheels_have_it(tmp_path, libdevice_path, variable, below):
    if variable == "CONDA_PREFIX" and "site-packages" in found_with():
        pytest.skip("a wheel in this environment comes before conda's")
    place = tmp_path / below / "libdevice.10.bc"
    place.parent.mkdir(parents=True)
    shutil.copy(libdevice_path, place)
    assert found_with(**{variable: str(tmp_path)}) == str(place)


def test_toolkits_that_variables_name_come_before_wheels(tmp_path, libdevice_path):
    for below in ("toolkit/nvvm/libdevice", "site/nvidia/cu13/nvvm/libdevice"):
        (tmp_path / below).mkdir(parents=True)
        shutil.copy(libdevice_path, tmp_path / below / "libdevice.10.bc")
    both = {"CUDA_HOME": str(tmp_path / "toolkit"), "PYTHONPATH": str(tmp_path / "site")}
    assert found_with(**both).startswith(both["CUDA_HOME"])


def test_ptx_that_needs_it_can_be_refused(tmp_path, libdevice_path):
    kernel, x, out = table_of_functions(np.float64)
    with options.override(mode="native"):
        kernel[4, 128](out, x)
    (compiled,) = kernel.overloads.values()
    empty = tmp_path / "image"
    empty.write_bytes(compiled.image.serialise())
    program = f"""
import pathlib, sys
from cudasim import _native
sys.path[:] = []
image = _native.KernelImage.deserialise(pathlib.Path({str(empty)!r}).read_bytes())
if _native.find_libdevice() is not None:
    print("found"); raise SystemExit
assert "__nv_sin" in _native.ptx(image, {compiled.kernel_name!r}, "sm_90")
try:
    _native.ptx(image, {compiled.kernel_name!r}, "sm_90", require_libdevice=True)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env=environment(PATH="/bin"))  # fmt: skip
    if done.stdout.strip() == "found":
        pytest.skip("a toolkit is installed in the system, so the library is always found")
    assert "__nv_sin" in done.stdout and 'pip install "cudasim[gpu]"' in done.stdout


def test_the_version_is_what_stands_around_the_file(tmp_path):
    toolkit = tmp_path / "cuda-12.4" / "nvvm" / "libdevice" / "libdevice.10.bc"
    toolkit.parent.mkdir(parents=True)
    assert version(str(toolkit)) == "CUDA 12.4"
    (tmp_path / "cuda-12.4" / "version.json").write_text('{"cuda": {"version": "12.4.1"}}')
    assert version(str(toolkit)) == "CUDA 12.4.1"
    site = tmp_path / "site-packages"
    file = site / "nvidia" / "cu13" / "nvvm" / "libdevice" / "libdevice.10.bc"
    file.parent.mkdir(parents=True)
    file.touch()  # importlib_metadata, where a library has loaded it, leaves out what is not there
    information = site / "nvidia_nvvm-13.0.88.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-nvvm\nVersion: 13.0.88\n")
    (information / "RECORD").write_text("nvidia/cu13/nvvm/libdevice/libdevice.10.bc,,\n")
    assert version(str(file)) == "nvidia-nvvm 13.0.88"
    assert version(str(tmp_path / "libdevice.10.bc")) == ""


def test_info_names_it(libdevice_path):
    from cudasim import info

    with options.override(libdevice=libdevice_path):
        shown = info.collect()["libdevice"]
    assert shown["path"] == libdevice_path
    assert shown["sha256"] == _native.find_libdevice(libdevice_path)[1]
    assert shown["simulation"] == "uses it"
    with options.override(libdevice="/nowhere/libdevice.10.bc"):
        assert "/nowhere/libdevice.10.bc" in info.collect()["libdevice"]["error"]


def test_the_list_of_approximating_functions_is_that_of_its_version(libdevice_path):
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import list_approximations
    finally:
        sys.path.pop(0)
    table = _native.approximating_functions()
    assert dict(table)["expf"] == "ex2"
    assert "sin" not in dict(table) and "cosf" not in dict(table)
    kept = (ROOT / "gpu_backend" / "approximating_functions.def").read_text()
    found = list_approximations.approximations(libdevice_path)
    if _native.find_libdevice(libdevice_path)[1] in kept:
        assert kept.endswith("".join(f'APPROXIMATING({name}, "{what}")\n' for name, what in found))
    assert len(set(table) ^ set(found)) <= 12  # versions differ in few

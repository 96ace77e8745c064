"""The language tests' kernels, compiled by numba-cuda with NVIDIA's own compiler, against cudasim's.

numba-cuda makes PTX without a GPU. cudasim reads that PTX and runs it on the simulator; what the arrays hold afterwards
is compared, bit for bit, with what the same launch gives when cudasim compiles the Python function, with the same
libdevice and with multiplications and additions fused. Kernels are recorded while the language tests run
(numba_cuda/recording_plugin.py). Needs $CUDASIM_TEST_NUMBA_PYTHON, an interpreter with numba-cuda and nvidia-nvvm.
"""

import collections
import os
import pathlib
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from cudasim import cuda, options

HERE = pathlib.Path(__file__).resolve().parent
LANGUAGE_TESTS = HERE.parent / "pykernel"
sys.path.insert(0, str(HERE / "numba_cuda"))
from function_data import ArrayData  # noqa: E402

FILES = ("test_values.py", "test_arrays.py", "test_control_flow.py", "test_functions.py", "test_tuples.py", "test_atomics.py",
         "test_complex.py", "test_iteration.py", "test_match.py", "test_views.py")  # fmt: skip
LEAST_KERNELS = 100
LEAST_RATE = 0.95

#: What differs, and why: (file and name of the test) → cause. Each must differ, or the line goes.
KNOWN_DIFFERENCES: dict[str, str] = {
    "test_complex.py::test_cmath_has_cpythons_values": "numba-cuda computes hyperbolic functions of complex numbers by other formulas",
    "test_complex.py::test_numpys_functions": "numba-cuda computes functions of complex numbers by other formulas",
    "test_complex.py::test_device_functions_tuples_and_variables": "numba-cuda computes powers of complex numbers in polar form",
    "test_complex.py::test_a_zero_divisor_is_counted_as_one_of_floats_is": "a zero divisor of a complex number is an exception in Numba: "
    "without debug=True the thread ends",
    "test_functions.py::test_functions_inside_a_kernel_see_variables_as_they_are_at_the_call": "numba-cuda loses an argument that a "
    "function inside the kernel is given by name",
}


def interpreter():
    python = os.environ.get("CUDASIM_TEST_NUMBA_PYTHON", "")
    if not python:
        pytest.skip("CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba installed")
    program = "import pathlib, sys, numba.cuda, nvidia; print(sys.version_info[:2], next(p for each in nvidia.__path__ for p in pathlib.Path(each).glob('cu*/nvvm/libdevice/libdevice.10.bc')))"
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, env=numba_environment())
    if done.returncode != 0:
        pytest.skip("the interpreter with numba lacks numba-cuda or nvidia-nvvm")
    version, _, path = done.stdout.strip().rpartition(" ")
    if version != str(sys.version_info[:2]):
        pytest.skip(
            f"functions go from CPython {sys.version_info[:2]} to {version} as code objects, which differ"
        )
    return python, path


def numba_environment():
    return {**os.environ, "ENABLE_CUDASIM": "0", "NUMBA_ENABLE_CUDASIM": "0"}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """[(case, (PTX, kernel) or (None, reason))]"""
    python, libdevice = interpreter()
    folder = tmp_path_factory.mktemp("numba_cuda") / "cases"
    record(folder, libdevice)
    files = sorted(folder.glob("*.case"))
    halves = [files[::2], files[1::2]]
    programs = [
        subprocess.Popen([python, HERE / "numba_cuda" / "compile_program.py"], stdin=subprocess.PIPE, text=True, env=numba_environment())
        for _ in halves
    ]  # fmt: skip
    for program, half in zip(programs, halves):
        program.stdin.write("".join(f"{file}\n" for file in half))
        program.stdin.close()
    assert [program.wait() for program in programs] == [0, 0]
    return [
        (pickle.loads(file.read_bytes()), pickle.loads(file.with_suffix(".ptx").read_bytes()))
        for file in files
    ]


def record(folder, libdevice):
    """What the language tests launch, as files."""
    paths = [HERE / "numba_cuda", LANGUAGE_TESTS, LANGUAGE_TESTS.parents[1]]
    environment = {
        **os.environ,
        "NUMBA_CUDA_ORACLE": str(folder),
        "NUMBA_CUDA_LIBDEVICE": libdevice,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "recording_plugin",
        "-p",
        "no:cacheprovider",
        *FILES,
    ]
    done = subprocess.run(command, cwd=LANGUAGE_TESTS, env=environment, capture_output=True, text=True)
    assert folder.is_dir(), done.stdout[-2000:] + done.stderr[-2000:]


def parameters_of(value, memories):
    """What numba-cuda's kernels take for a value (numba-cuda, "Kernel ABI"); memory of arrays joins `memories`."""
    if isinstance(value, tuple):
        return [each for element in value for each in parameters_of(element, memories)]
    if isinstance(value, ArrayData):
        memory = cuda.to_device(np.frombuffer(value.memory or bytes(8), np.uint8))
        memories.append((value, memory))
        address = memory.device_ctypes_pointer.value + value.offset
        items = int(np.prod(value.shape, dtype=np.int64))
        return list(map(np.int64, (0, 0, items, value.dtype.itemsize, address, *value.shape, *value.strides)))
    if isinstance(value, (bool, np.bool_)):
        return [np.int8(value)]
    if isinstance(value, np.void):
        memory = cuda.to_device(np.frombuffer(value.tobytes(), np.uint8))
        memories.append((None, memory))
        return [np.int64(memory.device_ctypes_pointer.value)]
    if isinstance(value, (complex, np.complexfloating)):
        return [np.asarray(value).real[()], np.asarray(value).imag[()]]
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return [value.view(np.int64)]
    return [
        np.int64(value) if isinstance(value, int) else np.float64(value) if type(value) is float else value
    ]


def canonical(array):
    """Its bits, with one NaN like another; what lies between the fields of records does not count."""
    if array.dtype.names is not None:
        return b"".join(canonical(array[name]) for name in array.dtype.names)
    array = np.ascontiguousarray(array)
    if array.dtype.kind == "c":
        array = array.view(array.real.dtype)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array)
    return array.tobytes()


def flat(value):
    if isinstance(value, tuple):
        return [each for element in value for each in flat(element)]
    return [value]


def difference(case, text, kernel):
    """What numba-cuda's PTX gives otherwise; nothing where all bits are equal."""
    memories = []
    parameters = [each for value in case["arguments"] for each in parameters_of(value, memories)]
    module = cuda.current_context().create_module_ptx(text)
    three = [
        tuple((*extents, 1, 1)[:3]) if isinstance(extents, tuple) else (extents, 1, 1)
        for extents in (case["grid"], case["block"])
    ]
    with options.override(fma=False, workers=1, check="none"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module.get_function(kernel).launch(*three, case["shared"], None, parameters)
    results = [each for each in flat(case["results"]) if each is not None]
    arrays = [(data, memory) for data, memory in memories if data is not None]
    for position, ((data, memory), ours) in enumerate(zip(arrays, results)):
        if not data.bytes:
            continue
        theirs = data.over(memory.copy_to_host())
        mine = data.over(np.frombuffer(ours, np.uint8))
        if canonical(mine) != canonical(theirs):
            return f"array {position}: cudasim {mine.ravel()[:8]}, numba-cuda {theirs.ravel()[:8]}"
    return ""


def outcomes(cases):
    """(differences by test, number of kernels that were compared, what Numba refused)"""
    differences, refused, compared = collections.defaultdict(list), collections.Counter(), 0
    for case, (text, kernel) in cases:
        if text is None:
            refused[kernel.splitlines()[0][:100]] += 1
            continue
        compared += 1
        try:
            told = difference(case, text, kernel)
        except Exception as error:  # noqa: BLE001 - counted as a difference
            told = f"{type(error).__name__}: {error}"
        if told:
            differences[case["test"]].append(told)
    return differences, compared, refused


def test_numba_cuda_and_cudasim_compute_the_same_bits(cases, capsys):
    differences, compared, refused = outcomes(cases)
    different = sum(map(len, differences.values()))
    with capsys.disabled():
        print(
            f"\nnumba-cuda: {compared - different} of {compared} kernels give the same bits, {sum(refused.values())} not compiled by Numba"
        )
    assert compared >= LEAST_KERNELS, refused
    unknown = {test: told for test, told in differences.items() if test not in KNOWN_DIFFERENCES}
    assert unknown == {}
    assert sorted(KNOWN_DIFFERENCES) == sorted(differences), "these do not differ any more"
    assert compared - different >= LEAST_RATE * compared

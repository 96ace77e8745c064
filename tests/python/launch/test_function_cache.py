"""`cache=True`: files of compiled overloads, found again by the next process while the source stays as it is."""

import json
import os
import pickle
import re

import numpy as np
import pytest
from cudasim import cuda
from ptx_texts import HALF

PROGRAM = """
import json, sys
import numpy as np
from numba import cuda

SUMMAND = 3

@cuda.jit(cache=True)
def add(x):
    x[0] += SUMMAND

def adding(n):
    @cuda.jit(cache=True)
    def inner(x):
        x[0] += n
    return inner

found = {}
for name, kernel in (("add", add), ("inner 1", adding(1)), ("inner 2", adding(2))):
    for dtype in (np.int64, np.float32):
        x = np.zeros(1, dtype)
        kernel[1, 1](x)
        found[f"{name} {dtype.__name__}"] = int(x[0])
    stats = kernel.stats
    found[name] = [stats.cache_path, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]
print(json.dumps(found))
"""


@pytest.fixture
def program(run, tmp_path):
    """Runs the program, as text or as it was; returns what it found."""

    def start(text=None, **variables):
        if text is not None:
            run.write(text)
        done = run("script.py", ENABLE_CUDASIM="1", **variables)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return start


def counts(found):
    return [tuple(found[name][1:]) for name in ("add", "inner 1", "inner 2")]


def values(found):
    return [
        found[f"{name} {dtype}"] for name in ("add", "inner 1", "inner 2") for dtype in ("int64", "float32")
    ]


def test_next_process_finds_what_the_first_compiled(program, tmp_path):
    first, second = program(PROGRAM), program()
    assert counts(first) == [(0, 2)] * 3 and counts(second) == [(2, 0)] * 3
    assert values(first) == values(second) == [3, 3, 1, 1, 2, 2]
    folder = tmp_path / "__pycache__"
    assert first["add"][0] == str(folder)
    names = sorted(re.sub(r"py\d+", "py", file.name) for file in folder.iterdir())
    inner = [
        f"script.adding.locals.inner-13.py.{ending}" for ending in ("1.nbc", "2.nbc", "3.nbc", "4.nbc", "nbi")
    ]
    assert names == [f"script.add-8.py.{ending}" for ending in ("1.nbc", "2.nbc", "nbi")] + inner


def test_changed_source_is_compiled_again(program, tmp_path):
    program(PROGRAM)
    changed = program(PROGRAM.replace("SUMMAND = 3", "SUMMAND = 40"))
    assert counts(changed) == [(0, 2)] * 3 and values(changed)[:2] == [40, 40]
    assert counts(program()) == [(2, 0)] * 3


def test_spoiled_files_are_compiled_again(program, tmp_path):
    program(PROGRAM)
    for number, file in enumerate(sorted((tmp_path / "__pycache__").iterdir())):
        file.write_bytes(b"" if number % 2 else file.read_bytes()[:-9])
    again = program()
    assert values(again) == [3, 3, 1, 1, 2, 2]
    assert counts(program()) == [(2, 0)] * 3


def test_folder_can_be_chosen(program, tmp_path):
    found = program(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path / "chosen"))
    folder = found["add"][0]
    assert os.path.dirname(folder) == str(tmp_path / "chosen")
    assert os.path.basename(folder).startswith(tmp_path.name + "_")
    assert not (tmp_path / "__pycache__").exists() and len(os.listdir(folder)) == 8


def test_processes_at_the_same_time(run, tmp_path):
    run.write(PROGRAM)
    done = run.script(
        """
        import subprocess, sys
        several = [subprocess.Popen([sys.executable, "program.py"], stdout=subprocess.PIPE) for _ in range(4)]
        results = {process.communicate()[0].split(b"inner 1 int64")[1].split(b",")[0] for process in several}
        print(results, [process.returncode for process in several])
        """.replace("program.py", str(run.write(PROGRAM, "program.py"))),
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.strip() == r"""{b'": 1'} [0, 0, 0, 0]""", done.stderr


def test_kernels_that_warn_are_compiled_again(program):
    text = """
import json, warnings
import numpy as np
from numba import cuda

@cuda.jit(cache=True)
def kernel(x):
    for i in reversed(range(3)):
        x[0] = i

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kernel[1, 1](np.ones(1))
print(json.dumps([str(warning.message) for warning in caught]))
"""
    first, second = program(text), program()
    assert len(first) == 1 and "reversed" in first[0] and second == first


def test_without_cache_nothing_is_kept():
    @cuda.jit
    def kernel(x):
        x[0] = 1

    kernel[1, 1](np.zeros(1))
    kernel[1, 1](np.zeros(1))
    kernel[1, 1](np.zeros(1, np.int32))
    assert kernel.stats.cache_path is None and not kernel.stats.cache_hits
    assert list(kernel.stats.cache_misses.values()) == [1, 1]


def test_functions_without_a_file_cannot_be_cached():
    namespace = {"cuda": cuda}
    with pytest.raises(
        RuntimeError, match="cannot cache function 'kernel': no locator available for file '<string>'"
    ):
        exec("@cuda.jit(cache=True)\ndef kernel(x):\n    x[0] = 1\n", namespace)


@pytest.mark.parametrize("in_tuple", [False, True])
def test_kernels_with_device_arrays_in_them_cannot_be_cached(tmp_path, monkeypatch, in_tuple):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    captured = cuda.to_device(np.arange(3))
    several = (captured, 5)

    @cuda.jit(cache=True)
    def kernel(x):
        x[0] = several[0][1] if in_tuple else captured[1]

    with pytest.raises(pickle.PicklingError, match="referencing global device arrays"):
        kernel[1, 1](np.zeros(1, np.int64))


def test_linked_kernels_cannot_be_cached(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    half = cuda.declare_device("half", "uint32(uint32)", link=cuda.PTXSource(HALF), abi="c")

    @cuda.jit(cache=True)
    def kernel(x):
        x[0] = half(x[0])

    with pytest.raises(RuntimeError, match="linking files"):
        kernel[1, 1](np.zeros(1, np.uint32))

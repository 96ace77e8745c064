"""Reports of real comparisons are what the published schema says."""

import json

import pytest
from cudasim.comparing.report import schema

jsonschema = pytest.importorskip("jsonschema")

PROGRAM = """
import json, sys
import numpy as np
import cudasim
from numba import cuda

@cuda.jit
def shift(x, y):
    i = cuda.grid(1)
    if i + 1 < x.size:
        x[i] = x[i + 1]
    if i == 0:
        print("first", x[0])
    if i < 4:
        y[i + (x[0] == 999)] = 1.5

@cuda.jit
def beyond(x):
    x[cuda.grid(1)] = 1

with cudasim.compare_with_gpu(raises=False, also_faulting=True) as found:
    shift[4, 256](np.arange(1000), np.zeros(4))
    try:
        beyond[1, 101](np.zeros(100))
    except IndexError:
        pass
print(json.dumps(found.report))
"""


@pytest.mark.parametrize(
    "planted",
    [
        "order=reverse",
        "put=m0-1:77",
        "flip=p0+3.1",
        "print=more",
        "cuLaunchKernelEx=719",
        "cuMemCreate=2",
        "crash=cuLaunchKernelEx",
    ],
)
def test_reports(run, gpu, planted):
    done = run.script(PROGRAM, **gpu(planted))
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert len(report["launches"]) == 2
    jsonschema.validate(report, schema())

"""Types that programs add with Numba's extension API: examples with every function of theirs in both modes, accepted by ptxas; packages
that use the API."""

import math
import shutil
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "extension_programs"
PRINTED = {
    "interval": [
        [2.5, 4.0, 1.5, 3.25, 1.0, 0.0, 1.5, 3.5, 6.0, 1.5, 8.0, 16.5, 1.0],
        [[0.0, 1.0, 16.0], [12.0, 25.0, 16.0], [0.0, 1.0, 16.0], [10.0, 21.0, 16.0]],
        7.0,
    ],
    "quaternion": [
        [4, 4, 6, 8, -54, 12, 18, 24, -4, 30**0.5, 0, 1, 1, 1, 1, -1, 1, 1, -28, 0, 1, 140],
        [5.0, 5.0, 25.0, 42.0],
    ],
}


def printed_by(done):
    assert done.returncode == 0, done.stderr
    return [eval(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("program", PRINTED)
def test_every_function_of_an_example(run_with_numba, program, mode):
    done = run_with_numba("-W", "ignore", PROGRAMS / f"{program}.py", ENABLE_CUDASIM="1", CUDASIM_MODE=mode)
    assert printed_by(done) == PRINTED[program]


@pytest.mark.parametrize("program", PRINTED)
def test_ptxas_takes_the_examples(run_with_numba, program):
    if shutil.which("ptxas") is None:
        pytest.skip("no ptxas")
    done = run_with_numba.script(rf"""
        import re, runpy, subprocess
        from numba import cuda
        from numba.cuda.dispatcher import CUDADispatcher
        known = runpy.run_path({str(PROGRAMS / f"{program}.py")!r})
        for name, value in known.items():
            if isinstance(value, CUDADispatcher) and not value.device:
                for ptx in value.inspect_asm().values():
                    target = re.search(r"\.target (\w+)", ptx)[1]
                    subprocess.run(["ptxas", "-arch=" + target, "-o", "/dev/null", "-"], input=ptx, text=True, check=True)
                    print(repr(name))
    """, ENABLE_CUDASIM="1", CUDASIM_MODE="native")  # fmt: skip
    kernels = {"interval": ["functions", "arrays", "declared"], "quaternion": ["operators", "conversions"]}
    assert printed_by(done)[-len(kernels[program]) :] == kernels[program]


AWKWARD = """
import awkward as ak
import numpy as np
from numba import cuda, types

ak.numba.register_and_check()


class HostArrays:
    '''Copies what a view of awkward's points to.'''

    def __init__(self):
        self.kept = []

    def prepare_args(self, kind, value, stream, retr):
        if not isinstance(value, ak.Array):
            return kind, value
        view = ak._connect.numba.arrayview.ArrayView.fromarray(value)
        copies = [cuda.to_device(each) if isinstance(each, np.ndarray) else each for each in view.lookup.positions]
        addresses = np.array([getattr(each, "device_ctypes_pointer", each) for each in copies], object)
        table = cuda.to_device(np.array([getattr(each, "value", each) for each in addresses], np.intp))
        self.kept += [copies, table]
        return types.UniTuple(types.uint64, 5), (
            view.pos, view.start, view.stop, table.device_ctypes_pointer.value, 0
        )


@cuda.jit(extensions=[HostArrays()])
def kernel(out, lists, records, missing):
    out[0] = len(lists)
    for i in range(len(lists)):
        for j in range(len(lists[i])):
            out[1] += lists[i][j]
    for one in lists:
        for number in one:
            out[2] += number
    out[3] = records[1].x
    out[4] = records[1]["y"][0]
    out[5] = records.x[0]
    out[6] = missing[1] is None
    last = missing[2]
    if last is not None:
        out[7] = last
    out[8] = lists[1:][1][0]


out = np.zeros(9)
kernel[1, 1](
    out, ak.Array([[1, 2], [], [3.5]]), ak.Array([{"x": 1, "y": [1, 2]}, {"x": 3, "y": [5.5]}]), ak.Array([1, None, 3])
)
print(out.tolist())
"""

# NumPy's square root, which vector uses for much, is in no kernel of Numba's; momenta need getattr().
VECTOR = """
import numpy as np
import vector
from numba import cuda, types

vector.register_numba()


class Planar:
    def prepare_args(self, kind, value, stream, retr):
        if isinstance(value, vector.VectorObject2D):
            return types.UniTuple(types.float64, 2), (float(value.x), float(value.y))
        return kind, value


@cuda.jit(extensions=[Planar()])
def kernel(out, given):
    out[0], out[1], out[2] = given.x, given.y, given.rho2
    both = given + vector.obj(x=1.0, y=8.0)
    out[3], out[4] = both.x, both.rho2
    spatial = vector.obj(x=1.0, y=2.0, z=2.0)
    out[5], out[6] = spatial.mag2, spatial.cross(vector.obj(x=0.0, y=0.0, z=1.0)).x
    out[7], out[8] = both.dot(given), given.phi
    event = vector.obj(x=3.0, y=4.0, z=0.0, t=13.0)
    out[9], out[10], out[11] = event.rho2, event.tau2, event.scale(2.0).x


out = np.zeros(12)
kernel[1, 1](out, vector.obj(x=3, y=4))
print(out.round(9).tolist())
"""


@pytest.mark.parametrize(
    ("package", "program", "printed"),
    [
        ("awkward", AWKWARD, [3.0, 6.5, 6.5, 3.0, 5.5, 1.0, 1.0, 3.0, 3.5]),
        ("vector", VECTOR, [3, 4, 25, 4, 160, 9, 2, 60, math.atan2(4, 3), 25, 144, 6]),
    ],
)
def test_a_package_of_others(run_with_numba, package, program, printed):
    if run_with_numba("-c", f"import {package}").returncode != 0:
        pytest.skip(f"no {package} beside numba")
    done = run_with_numba.script(program, ENABLE_CUDASIM="1", CUDASIM_MODE="native")
    assert printed_by(done)[-1] == pytest.approx(printed)

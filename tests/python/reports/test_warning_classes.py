"""Every warning has the class of its kind, and keeps the kernel's line where a filter makes an error of it."""

import pickle
import re
import subprocess
import sys
import textwrap
import traceback
import warnings

import numpy as np
import pytest
from cudasim import _native, cuda, errors, options

KINDS = [kind for kind, severity in _native.finding_kinds() if severity == "warning"]


@cuda.jit
def invert(x):
    i = cuda.grid(1)
    x[i] = 1 / x[i]


@cuda.jit
def leaves_early(x):
    i = cuda.grid(1)
    if i > 3:
        return
    cuda.syncthreads()
    x[i] = 1


@cuda.jit
def goes_around(x):
    i = cuda.grid(1)
    some = i
    if i < 16:
        some = cuda.ballot_sync(0xFFFFFFFF, i > 3)
    x[i] = some


FACTOR = 3.0


@cuda.jit
def scale(x):
    x[cuda.grid(1)] = FACTOR


@cuda.jit
def uses_a_dictionary(x):
    i = cuda.grid(1)
    table = {0: 5}
    x[i] = table[0]


def last_line(error):
    return traceback.extract_tb(error.__traceback__)[-1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_class_that_can_be_pickled(kind):
    found = errors.warning_class(kind)
    assert (
        issubclass(found, errors.CudasimWarning) and found is not errors.CudasimWarning and found.kind == kind
    )
    assert found.__name__ == "".join(map(str.capitalize, kind.split("-"))) + "Warning"
    assert getattr(errors, found.__name__) is found and found.__name__ in dir(errors)
    assert type(pickle.loads(pickle.dumps(found("text")))) is found


def test_every_kind_is_documented():
    document = (options.__file__.rpartition("/frontend/")[0]) + "/docs/findings.md"
    with open(document, encoding="utf-8") as file:
        text = file.read()
    for kind, _ in _native.finding_kinds():
        assert re.search(rf"`{kind}`", text), kind


@pytest.mark.parametrize(
    "kernel, kind",
    [(invert, "float-division"), (leaves_early, "barrier-early-exit"), (goes_around, "divergent-lanes")],
)
def test_one_kind_can_be_filtered_alone(kernel, kind):
    other = "barrier-early-exit" if kind == "float-division" else "float-division"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", errors.warning_class(kind))
        kernel[1, 32](np.zeros(32))
        assert caught == []
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", errors.warning_class(other))
        kernel[1, 32](np.zeros(32))
    (warning,) = caught
    assert warning.category is errors.warning_class(kind) and warning.message.finding.kind == kind


@pytest.mark.parametrize(
    "kernel, kind, line",
    [
        (invert, "float-division", "x[i] = 1 / x[i]"),
        (leaves_early, "barrier-early-exit", "cuda.syncthreads()"),
        (goes_around, "divergent-lanes", "some = cuda.ballot_sync(0xFFFFFFFF, i > 3)"),
        (uses_a_dictionary, "not-gpu-code", "table = {0: 5}"),
    ],
)
def test_as_an_error_a_warning_keeps_the_kernels_line(kernel, kind, line):
    x = np.zeros(32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.CudasimWarning)
        with pytest.raises(errors.warning_class(kind)) as caught:
            kernel[1, 32](x)
    assert last_line(caught.value).line == line and caught.value.__context__ is None


def test_a_changed_constant_is_told_at_the_kernels_line():
    global FACTOR
    scale[1, 4](np.zeros(4))
    FACTOR = 4.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.ChangedConstantWarning) as caught:
            scale[1, 4](np.zeros(4))
    assert last_line(caught.value).line == "x[cuda.grid(1)] = FACTOR"


def test_results_are_not_written_where_not_gpu_code_is_an_error():
    x = np.zeros(4)

    @cuda.jit
    def kernel(x):
        table = {0: 5}
        x[cuda.grid(1)] = table[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.NotGpuCodeWarning)
        with pytest.raises(errors.NotGpuCodeWarning):
            kernel[1, 4](x)
    assert (x == 0).all()


SCRIPT = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def invert(x):
        i = cuda.grid(1)
        x[i] = 1 / x[i]

    invert[1, 4](np.zeros(4))
    print("after")
"""


@pytest.mark.parametrize("option, ends", [("ignore", False), ("error", True)])
def test_pythons_own_option_takes_the_classes(run, option, ends):
    script = run.write(SCRIPT)
    done = run("-W", f"{option}::cudasim.errors.FloatDivisionWarning", script, ENABLE_CUDASIM="1")
    assert ("after" not in done.stdout) == ends, done.stderr
    assert ("FloatDivisionWarning: tid" in done.stderr) == ends
    other = run("-W", f"{option}::cudasim.errors.BarrierEarlyExitWarning", script, ENABLE_CUDASIM="1")
    assert "after" in other.stdout and "FloatDivisionWarning: tid" in other.stderr


def test_pytest_filters_them_and_names_no_function_where_there_is_none(tmp_path):
    (tmp_path / "test_both.py").write_text(
        textwrap.dedent("""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def invert(x):
            i = cuda.grid(1)
            x[i] = 1 / x[i]

        @cuda.jit
        def dictionary(x):
            table = {0: 5}
            x[cuda.grid(1)] = table[0]

        def test_invert():
            invert[1, 4](np.zeros(4))

        def test_dictionary():
            dictionary[1, 4](np.zeros(4))
    """)
    )
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nfilterwarnings =\n    error\n    ignore::cudasim.errors.FloatDivisionWarning\n"
    )
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "--cudasim", "-p", "no:cacheprovider"], cwd=tmp_path,
                          capture_output=True, text=True)  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout and "NotGpuCodeWarning" in done.stdout, done.stdout
    assert "in None" not in done.stdout and "choice.py" not in done.stdout, done.stdout

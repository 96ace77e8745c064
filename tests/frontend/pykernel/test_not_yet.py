"""The list of what Numba's CUDA target compiles and this compiler does not yet (tests/not_yet.py) is true."""

import pathlib
import re
import warnings

import not_yet
import numpy as np
import pytest
from cudasim import cuda, options

SOURCES = pathlib.Path(__file__).resolve().parents[3] / "frontend" / "pykernel"


def launch(body, argument, mode):
    with options.override(mode=mode):
        cuda.jit(not_yet.kernel_of(body))[1, 1](np.zeros(4), argument)


def refusal(body, argument):
    with pytest.raises(Exception) as caught:
        launch(body, argument, "native")
    return caught.value


@pytest.mark.parametrize(
    ("shown", "body", "argument"), not_yet.PROBES, ids=[row[0] for row in not_yet.PROBES]
)
def test_native_mode_refuses_it_and_python_mode_runs_it(shown, body, argument):
    assert getattr(refusal(body, argument), "standing", None) == "not-yet", refusal(body, argument)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        launch(body, argument, "auto")
    assert ["Python mode" in str(w.message) for w in heard] == [True], [str(w.message) for w in heard]


def test_every_such_refusal_of_the_compiler_is_listed():
    heard = "\n".join(str(refusal(body, argument)) for _, body, argument in not_yet.PROBES)
    # Parts of messages that other parts are joined to.
    rare = ["tuples of more than ", "this expression is not supported", "this assignment target is not supported",
            "a `*` parameter of a kernel", "the type ", "arrays of ", "results of type "]  # fmt: skip
    for file in SOURCES.glob("*.cpp"):
        for text, rest in re.findall(r'refuse_unsupported\(\s*"([^"]+)"([^;]*);', file.read_text()):
            if "Standing::not_gpu_code" in rest:
                continue
            assert text in heard or any(part in text for part in rare), (
                f"{file.name}: {text!r} is not in not_yet.py"
            )


def test_the_document_has_the_list():
    text = not_yet.DOCUMENT.read_text()
    assert not_yet.with_section(text) == text, "run: python tests/not_yet.py --write"

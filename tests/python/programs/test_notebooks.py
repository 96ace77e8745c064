"""Notebooks: cells are kernels, with their output, their errors, Ctrl-C and progress. Executed by nbclient."""

import os
import re
import threading
import time

import pytest
from python_mode_required import needs_python_mode

nbclient = pytest.importorskip(
    "nbclient", reason="nbclient is not installed (scripts/set_up.sh test installs it)"
)
pytest.importorskip("ipykernel", reason="ipykernel is not installed (scripts/set_up.sh test installs it)")

import nbformat  # noqa: E402 - comes with nbclient
from cudasim import options  # noqa: E402
from processes import clean_environment  # noqa: E402

BEGIN = "import numpy as np\nfrom numba import cuda"


@pytest.fixture(scope="module")
def kernel():
    """A running Jupyter kernel, which is asked for cell after cell."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(env=clean_environment(ENABLE_CUDASIM="1"))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def plain(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def executed(*cells):
    """The outputs of a notebook's cells: a list of (kind, text) for each."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True)
    client.execute(env=clean_environment(ENABLE_CUDASIM="1"))
    return [[_output(output) for output in cell.outputs] for cell in notebook.cells]


def _output(output):
    if output.output_type == "stream":
        return output.name, output.text
    if output.output_type == "error":
        return "error", plain("\n".join(output.traceback))
    return output.output_type, output.data["text/plain"]


def asked(kernel, cell, while_running=None):
    """The outputs of one cell in the running kernel."""
    _, client = kernel
    outputs = []

    def take(message):
        content = message["content"]
        if message["msg_type"] == "stream":
            outputs.append((content["name"], content["text"]))
        elif message["msg_type"] == "error":
            outputs.append(("error", plain("\n".join(content["traceback"]))))
        elif message["msg_type"] in ("execute_result", "display_data"):
            outputs.append((message["msg_type"], content["data"]["text/plain"]))

    if while_running is not None:
        threading.Timer(1.5, while_running).start()
    client.execute_interactive(cell, timeout=60, output_hook=take)
    return outputs


def test_cells_print_and_compute_and_their_errors_end_at_the_kernels_line():
    first, second, third, fourth = executed(
        BEGIN
        + """
@cuda.jit
def fill(x):
    i = cuda.grid(1)
    if i == 1:
        print("thread", i)

    x[i] = 1

x = np.zeros(3)
fill[1, 3](x)
x""",
        "fill[1, 4](x)",
        "@cuda.jit\ndef fill(x):\n    x[cuda.grid(1)] = 2\nfill[1, 3](x)\nx",
        "fill[1, 3](np.zeros(2))",
    )
    assert first == [("stdout", "thread 1\n"), ("execute_result", "array([1., 1., 1.])")]
    assert second[0] == ("stdout", "thread 1\n")
    kind, text = second[1]
    assert kind == "error"
    frames, message = text.split("\nIndexError: ")
    assert re.fullmatch(r"-+> 9 +x\[i\] = 1", frames.splitlines()[-1]), frames
    assert "Cell In[1], line 9, in fill(x)" in frames
    assert message.startswith(
        "tid=[3, 0, 0] ctaid=[0, 0, 0]: index 3 is out of bounds for axis 0 with size 3"
    )
    assert frames.count("Cell In") == 2 and "cudasim" not in frames and "site-packages" not in frames
    assert third == [("execute_result", "array([2., 2., 2.])")]
    assert (
        "----> 3     x[cuda.grid(1)] = 2" in fourth[0][1] and "Cell In[3], line 3, in fill(x)" in fourth[0][1]
    )


def test_a_cell_run_again_uses_its_new_source(kernel):
    cell = BEGIN + "\n@cuda.jit\ndef fill(x):\n    x[cuda.grid(1)] = {}\nx = np.zeros(2)\nfill[1, 2](x)\nx"
    for value in (1, 2, 1, 3):
        assert asked(kernel, cell.format(value)) == [("execute_result", f"array([{value}., {value}.])")]


def test_a_kernel_in_a_timed_cell_has_source(kernel):
    cell = (
        "%%time\n"
        + BEGIN
        + "\n@cuda.jit\ndef fill(x):\n    x[cuda.grid(1)] = 4\nx = np.zeros(2)\nfill[1, 2](x)\nx"
    )
    outputs = asked(kernel, cell)
    assert ("execute_result", "array([4., 4.])") in outputs, outputs
    assert "Wall time" in "".join(text for kind, text in outputs if kind == "stdout")


ENDLESS = """
@cuda.jit
def endless(x):
    i = 0
    while i >= 0:
        i = (i + 1) % 1000
        x[0] = i
"""


@pytest.fixture(params=["native", pytest.param("python", marks=needs_python_mode)])
def mode(request, kernel):
    if "mode" not in options.BY_NAME:
        pytest.skip("there is one mode only")
    asked(kernel, f"from cudasim import options\noptions.set(mode={request.param!r})")
    yield request.param
    asked(kernel, "options.set(mode=None)")


def test_interrupting_ends_a_kernel_and_leaves_the_notebook_usable(kernel, mode):
    asked(kernel, BEGIN + ENDLESS)
    for _ in range(2):
        begin = time.monotonic()
        outputs = asked(kernel, "endless[1, 32](np.zeros(1))", while_running=kernel[0].interrupt_kernel)
        assert time.monotonic() - begin < 30
        (text,) = [text for kind, text in outputs if kind == "error"]
        assert "KeyboardInterrupt" in text and "in endless(" in text and "site-packages" not in text
    assert asked(kernel, "x = np.zeros(2)\ncuda.jit(lambda x: None)[1, 2](x)\nx") == [
        ("execute_result", "array([0., 0.])")
    ]


def test_long_launches_show_a_bar_in_the_cell(kernel, mode):
    limited = (
        "from cudasim import options\nwith options.override(time_limit={}):\n    endless[1, 1](np.zeros(1))"
    )
    asked(kernel, BEGIN + ENDLESS)
    outputs = asked(kernel, limited.format(3.4))
    shown = "".join(text for kind, text in outputs if kind in ("stderr", "display_data"))
    assert re.search(rf"endless \({mode}\):\s+0%.*0/1 blocks, 00:02 elapsed, \? left", shown), outputs
    assert "Warning" not in shown and [kind for kind, _ in outputs][-1] == "error"
    assert [kind for kind, _ in asked(kernel, limited.format(1.2))] == ["error"]


def test_a_bar_in_a_cell_ends_at_all_blocks(kernel):
    asked(kernel, BEGIN)
    outputs = asked(
        kernel,
        """
import time
from cudasim.reports import progress as _progress
bar = _progress.shown_as("some", "native")(4)
bar.show(1, 3.0)
bar.close(4)
""",
    )
    text = "".join(text for _, text in outputs)
    assert text.split("\r")[-1].startswith("some (native): 100%") and text.endswith("\n"), outputs


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX")
def test_other_threads_of_the_notebook_go_on_while_a_kernel_runs(kernel):
    outputs = asked(
        kernel,
        BEGIN
        + ENDLESS
        + """
import threading, time
from cudasim import options
counted, over = [0], []
def count():
    while not over:
        counted[0] += 1
        time.sleep(0.001)
thread = threading.Thread(target=count)
thread.start()
try:
    with options.override(time_limit=1.0):
        endless[1, 1](np.zeros(1))
except TimeoutError:
    seen = counted[0]
over.append(True)
thread.join()
seen > 20
""",
    )
    assert outputs == [("execute_result", "True")]


@needs_python_mode
def test_pdb_in_a_cells_kernel_asks_in_the_notebook(kernel):
    _, client = kernel
    answers, prompts, shown = ["p i", "n", "p x[i]", "c"], [], []

    def answer(message):
        prompts.append(message["content"]["prompt"])
        client.input(answers.pop(0) if answers else "q")

    def take(message):
        shown.append(
            message["content"].get("text", "") + plain("\n".join(message["content"].get("traceback", [])))
        )

    cell = (
        BEGIN
        + """
@cuda.jit
def asks(x):
    i = cuda.grid(1)
    if i == 5:
        import pdb; pdb.set_trace()
    x[i] = i
    cuda.syncthreads()
x = np.zeros(8)
asks[1, 8](x)
print("sum", x.sum())
"""
    )
    client.execute_interactive(cell, timeout=60, allow_stdin=True, stdin_hook=answer, output_hook=take)
    text = "".join(shown)
    assert answers == [] and len(prompts) == 4, (prompts, text)
    assert all("asks tid=[5, 0, 0] ctaid=[0, 0, 0]" in prompt for prompt in prompts)
    assert "5\n" in text and "sum 28.0" in text

    answers[:] = ["q"]
    client.execute_interactive(
        "asks[1, 8](x)", timeout=60, allow_stdin=True, stdin_hook=answer, output_hook=take
    )
    assert asked(kernel, "x[:] = 0\nprint(x.sum())") == [("stdout", "0.0\n")]


def test_debug_after_a_failed_cell_shows_the_variables_of_the_thread(kernel):
    """Needs no Python mode: the kernel was compiled."""
    _, client = kernel
    failed = asked(
        kernel,
        BEGIN
        + """
@cuda.jit(opt=True)
def scale(x, factor):
    i = cuda.grid(1)
    doubled = 2 * i
    x[i] = doubled * factor

scale[1, 32](np.zeros(20), 1.5)""",
    )
    assert failed[-1][0] == "error" and "tid=[20, 0, 0]" in failed[-1][1], failed
    printed, commands = [], ["p i, doubled, factor, x.shape", "q"]

    def take(message):
        if message["msg_type"] == "stream":
            printed.append(message["content"]["text"])

    client.execute_interactive(
        "%debug",
        timeout=60,
        allow_stdin=True,
        output_hook=take,
        stdin_hook=lambda _: client.input(commands.pop(0)),
    )
    assert "(20, 40, 1.5, (20,))" in plain("".join(printed)), printed

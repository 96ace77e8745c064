"""Long launches say how far they are: on a terminal, in a log, not at all when short or switched off. (Notebooks:
test_notebooks.py.)"""

import os
import re
import signal

import pytest
from cudasim import options
from cudasim.reports import progress as _progress
from python_mode_required import needs_python_mode
from terminal import on_a_terminal, screen_lines

LONG = """
    import sys
    import numpy as np
    from cudasim import cuda, options
    from cudasim.reports import progress as _progress
    from cudasim.errors import KernelTimeoutError

    @cuda.jit
    def count(x, blocks):
        # So many blocks end at once, the others never.
        i = 0
        while cuda.blockIdx.x >= blocks:
            i = (i + 1) % 1000
            x[0] = i

    def until_the_limit(grid=1, blocks=0, seconds=3.2):
        with options.override(time_limit=seconds, policy="forward", workers=1):
            try:
                count[grid, 1](np.zeros(1), blocks)
            except KernelTimeoutError:
                print("stopped")
"""
#: So that the tests take less time: a launch counts as long after 0.4 seconds.
SOON = LONG.replace("seconds=3.2", "seconds=1.4") + "    _progress.AFTER_SECONDS = 0.4\n"


def test_a_terminal_shows_a_bar_with_blocks_rate_and_time_left(run):
    text = on_a_terminal(run, LONG + "    until_the_limit(grid=4, blocks=3)\n")
    pictures = [part for part in re.split("[\r\n]", text) if part.startswith("count (native): ")]
    assert len(pictures) > 5
    assert re.fullmatch(
        r"count \(native\):  75%\|[^|]+\| 3/4 blocks, 00:0[23] elapsed, 00:0\d left, +\d\.\d\d(block/s|s/block)",
        pictures[-1],
    ), pictures[-1]
    assert all(len(picture) <= 100 for picture in pictures)
    assert screen_lines(text) == ["stopped"]


def test_one_long_block_is_shown_too(run):
    text = on_a_terminal(run, SOON + "    until_the_limit()\n")
    assert re.search(r"count \(native\):   0%\|\s*\| 0/1 blocks, 00:0[01] elapsed, \? left", text)


def test_an_error_comes_after_the_bar_has_gone(run):
    text = on_a_terminal(run, SOON + "    options.set(time_limit=0.9)\n    count[1, 1](np.zeros(1), 0)\n")
    assert "count (native)" in text
    lines = screen_lines(text)
    assert lines[0] == "Traceback (most recent call last):" and "time limit" in " ".join(lines[-6:]), lines


def test_printed_lines_and_the_bar_do_not_mix(run):
    text = on_a_terminal(
        run,
        SOON
        + """
    @cuda.jit
    def talk(x):
        i = 0
        n = 0
        while i >= 0:
            i = (i + 1) % 1000
            x[0] = i
            if i == 0:
                n += 1
                if n % 10000 == 0:
                    print("line", n)
    options.set(time_limit=1.4)
    try:
        talk[1, 1](np.zeros(1))
    except KernelTimeoutError:
        print("stopped")
    """,
    )
    assert "talk (native)" in text
    lines = screen_lines(text)
    assert len(lines) > 3 and lines[-1] == "stopped"
    assert lines[:-1] == [f"line {n}0000" for n in range(1, len(lines))]


PYTHON_MODE = (
    SOON
    + """
    import warnings
    warnings.simplefilter("ignore")  # print(end=) is not GPU code
    options.set(mode="python")
    @cuda.jit
    def slow(x, n, talks):
        i = cuda.grid(1)
        for j in range(n):
            x[0] += j % 7
        if talks:
            print("thread", end=" ")
            print(i)
"""
)


@pytest.mark.skipif("mode" not in options.BY_NAME, reason="there is no Python mode")
@needs_python_mode
def test_lines_that_python_code_writes_and_the_bar_do_not_mix(run):
    text = on_a_terminal(
        run,
        PYTHON_MODE + "    slow[30, 1](np.zeros(1), 1_000_000, True)\n    print(type(sys.stdout).__name__)\n",
    )
    assert "slow (python)" in text
    assert screen_lines(text) == [*(f"thread {i}" for i in range(30)), "TextIOWrapper"]


@pytest.mark.skipif("mode" not in options.BY_NAME, reason="there is no Python mode")
@needs_python_mode
def test_one_block_in_python_mode_shows_how_long_it_runs(run):
    text = on_a_terminal(run, PYTHON_MODE + "    slow[1, 30](np.zeros(1), 1_000_000, False)\n")
    assert re.search(r"slow \(python\):   0%\|\s*\| 0/1 blocks, 00:0\d elapsed, \? left", text), text
    assert screen_lines(text) == []


@pytest.mark.skipif("mode" not in options.BY_NAME, reason="there is no Python mode")
@needs_python_mode
def test_a_debugger_has_the_terminal_for_itself(run):
    text = on_a_terminal(
        run,
        PYTHON_MODE
        + """
    import io, pdb
    @cuda.jit
    def stops(x):
        if cuda.grid(1) == 3:
            pdb.Pdb(stdin=io.StringIO("p 40 + 2\\nc\\n"), stdout=sys.stdout).set_trace()
        for j in range(1_000_000):
            x[0] += j % 7
    stops[1, 30](np.zeros(1))
    slow[1, 30](np.zeros(1), 1_000_000, False)
    """,
    )
    # On a busy machine a bar may come before the thread gets to the debugger, and goes then.
    _, prompt, after = text.partition("(Pdb stops")
    assert prompt and "42" in after and "stops (python)" not in after and "slow (python)" in after, text


def test_bars_of_the_program_stay(run):
    text = on_a_terminal(
        run,
        SOON
        + """
    from tqdm import tqdm
    for _ in tqdm(range(2), desc="outer"):
        until_the_limit(seconds=1.0)
    """,
    )
    assert "count (native)" in text
    assert [line for line in screen_lines(text) if "outer" in line][-1].startswith("outer: 100%")


@pytest.mark.parametrize("how", ["environment", "in Python"])
def test_progress_can_be_switched_off(run, how):
    code = SOON + ("    options.set(progress=False)\n" if how == "in Python" else "")
    text = on_a_terminal(
        run,
        code + "    until_the_limit()\n    print('tqdm' in sys.modules)\n",
        CUDASIM_PROGRESS="0" if how == "environment" else None,
    )
    assert text == "stopped\r\nFalse\r\n"


def test_short_launches_show_nothing_and_import_nothing(run):
    text = on_a_terminal(run, LONG + "    until_the_limit(seconds=1.5)\n    print('tqdm' in sys.modules)\n")
    assert text == "stopped\r\nFalse\r\n"


def test_a_log_gets_a_line_per_interval(run):
    done = run.script(SOON + "    _progress.LOG_INTERVAL = 1.2\n    until_the_limit(4, 3, 3)\n")
    assert done.stdout == "stopped\n"
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith("cudasim: count (native):  75%, 3/4 blocks, 00:01 elapsed, 00:00 left, ")
    assert lines[1].startswith("cudasim: count (native):  75%, 3/4 blocks, 00:02 elapsed, 00:00 left, ")


def test_a_log_gets_its_first_line_after_a_minute(run):
    assert _progress.LOG_INTERVAL == 60
    done = run.script(LONG + "    until_the_limit()\n    print('tqdm' in sys.modules)\n")
    assert (done.stdout, done.stderr) == ("stopped\nFalse\n", "")


def test_a_program_without_standard_error_output_runs(run):
    done = run.script(SOON + "    sys.stderr = None\n    until_the_limit()\n")
    assert (done.stdout, done.stderr) == ("stopped\n", "")


def test_an_error_output_that_cannot_be_written_does_not_end_the_launch(run):
    text = on_a_terminal(
        run,
        SOON
        + """
    class Broken:
        encoding = "utf-8"
        def isatty(self): return True
        def fileno(self): return 2
        def write(self, text): raise OSError("no more")
        def flush(self): pass
    sys.stderr = Broken()
    until_the_limit()
    """,
    )
    assert text == "stopped\r\n"


def test_without_tqdm_a_warning_says_what_to_install(run):
    done = run.script(
        SOON + "    sys.modules['tqdm'] = None\n    sys.stderr.isatty = lambda: True\n    until_the_limit()\n"
    )
    assert done.stdout == "stopped\n" and "pip install tqdm" in done.stderr, done.stderr


def test_control_c_while_the_bar_is_drawn_ends_the_launch(run):
    text = on_a_terminal(
        run,
        SOON
        + """
    import os, signal
    show = _progress._Bar.show
    def interrupted(self, done, seconds):
        show(self, done, seconds)
        os.kill(os.getpid(), signal.SIGINT)
    _progress._Bar.show = interrupted
    try:
        until_the_limit(seconds=20)
    except KeyboardInterrupt:
        print("interrupted")
    _progress._Bar.show = show
    until_the_limit(seconds=0.6)
    """,
    )
    assert screen_lines(text) == ["interrupted", "stopped"]


class Display:
    def __init__(self, show):
        self.show = show

    def give_stdout_back(self):
        pass


@pytest.mark.parametrize("kind", ["function", "method", "object"])
def test_what_signal_handlers_raise_gets_out_and_nothing_else(kind):
    class Alarm(OSError):
        pass

    class Handler:
        def __call__(self, *_):
            raise Alarm

        method = __call__

    def handler(*_):
        raise Alarm

    before = signal.signal(
        signal.SIGUSR1, {"function": handler, "method": Handler().method, "object": Handler()}[kind]
    )
    try:
        progress = _progress.LaunchProgress("kernel", "native", 1)
        progress._display = Display(lambda *_: os.kill(os.getpid(), signal.SIGUSR1))
        with pytest.raises(Alarm):
            progress.show(0, 3)
    finally:
        signal.signal(signal.SIGUSR1, before)

    def breaks(*_):
        raise OSError

    progress._display = Display(breaks)
    progress.show(0, 3)
    progress.show(0, 4)
    progress.close()


def test_ctrl_c_while_the_bar_is_drawn_shows_nothing_of_it(run):
    """The signal comes while tqdm runs: from its own refresh()."""
    text = on_a_terminal(
        run,
        SOON
        + """
    import os, signal, tqdm
    draw = tqdm.tqdm.refresh
    def refresh(self, *arguments, **keywords):
        os.kill(os.getpid(), signal.SIGINT)
        return draw(self, *arguments, **keywords)
    tqdm.tqdm.refresh = refresh
    count[1, 1](np.zeros(1), 0)
    """,
    )
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)  # from CPython 3.13 on tracebacks have colours
    shown = [line for line in screen_lines(text) if line.strip()]
    assert any(line.startswith("KeyboardInterrupt") for line in shown), text
    files = [line for line in shown if line.lstrip().startswith("File ")]
    assert len(files) == 2 and all("script.py" in line for line in files), text
    assert "refresh" not in text and "cudasim/_progress" not in text, text

"""Core files from end to end: what a program that fails leaves, and what `cudasim debug --core` makes of it elsewhere."""

import glob
import os
import re
import subprocess
import sys

import pytest
from processes import clean_environment

FAILS = """\
import numpy as np
from numba import cuda


@cuda.jit(device=True)
def place(i):
    where = i * i
    return where


@cuda.jit
def spread(x, out):
    i = cuda.grid(1)
    total = 0.0
    for k in range(3):
        total += x[i] * k
    where = place(i)
    out[where] = total


x = np.arange(32.0)
spread[1, 32](x[:3], np.zeros(20))
spread[1, 32](x, np.zeros(20))
"""
GOOD = """\
import numpy as np
from numba import cuda


@cuda.jit
def double(x):
    i = cuda.grid(1)
    x[i] *= 2


double[2, 16](np.arange(32.0))
double[1, 8](np.arange(8.0))
"""


def program(folder, *words, **variables):
    """(status, standard output, standard error) of a Python program."""
    done = subprocess.run([sys.executable, *words], cwd=folder, text=True, timeout=120, capture_output=True, stdin=subprocess.DEVNULL,
                          env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH"), **variables))  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def script(folder, code=FAILS, name="fails.py", **variables):
    (folder / name).write_text(code)
    return program(folder, name, ENABLE_CUDASIM="1", **variables)


def cores(folder):
    return sorted(glob.glob(str(folder / "*.cudasim")))


def debugged(folder, core, *commands, status=0, **variables):
    """What a batch of commands on a core file shows, line by line."""
    commands = [word for one in commands for word in ("-ex", one)]
    core = core if isinstance(core, tuple) else ("--core", core)
    done, shown, said = program(folder, "-m", "cudasim", "debug", "-batch", *commands, *core, **variables)
    assert "Internal error" not in shown + said, shown + said
    assert done == status, (done, shown, said)
    return (shown + said).splitlines()


@pytest.fixture(scope="module")
def failed(tmp_path_factory):
    """(core file of the launch that failed, in a folder of its own; what the program said). The script is gone."""
    folder, elsewhere = tmp_path_factory.mktemp("program"), tmp_path_factory.mktemp("elsewhere")
    status, _, said = script(
        folder, FAILS.replace("spread[1, 32](x[:3]", "spread[1, 3](x[:3]"), CUDASIM_CORE="cores"
    )
    assert status == 1
    (written,) = cores(folder / "cores")
    core = elsewhere / "one.cudasim"
    os.rename(written, core)
    os.unlink(folder / "fails.py")
    return core, written, said


def test_a_failing_launch_leaves_a_core_file_that_the_error_names(failed):
    _, written, said = failed
    assert "IndexError: tid=[5, 0, 0] ctaid=[0, 0, 0]: index 25 is out of bounds" in said
    assert os.path.basename(written).startswith("core_spread_")
    if sys.version_info >= (3, 11):  # which show notes
        assert f"  core file: {written}\n  open it with: cudasim debug --core {written}\n" in said


def test_the_prompt_stands_at_the_thread_that_failed(failed):
    core, _, _ = failed
    shown = debugged(
        core.parent, core.name, "info locals", "print x[3:5] * 2, out.size", "backtrace", "list 5,7", "cuda thread 7", "continue"
    )  # fmt: skip
    place = r"at \S+fails\.py"
    for line, expected in zip(shown, [
        r"Thread block\(0,0,0\) thread\(5,0,0\) stopped: IndexError: index 25 is out of bounds for axis 0 with size 20",
        rf"spread block\(0,0,0\) thread\(5,0,0\) {place}:18",
        r"18\t    out\[where\] = total",
        r"i = 5", r"total = 15\.0", r"k = 2", r"where = 25",
        r"\$1 = \(\[6\., 8\.\], 20\)",
        rf"#0  spread \(x=.*\) {place}:18", rf"#1  <module> \(\) {place}:23",
        r"5\t@cuda\.jit\(device=True\)", r"6\tdef place\(i\):", r"7\t    where = i \* i",
        r"\[Switching focus to spread block\(0,0,0\) thread\(7,0,0\)\]",
    ], strict=False):  # fmt: skip
        assert re.fullmatch(expected, line), (expected, line, shown)
    assert shown[-2:] == [
        "The launch has ended as it was recorded, to the bit.",
        "[The program exited normally]",
    ]


def test_the_program_that_launched_is_in_the_backtrace(tmp_path):
    """Of the launch that failed, of one that gcore writes, and of one that is recorded; innermost function first."""
    code = GOOD.replace(
        "double[2, 16](np.arange(32.0))",
        "def run(n):\n    double[2, n](np.arange(20.0))\n\n\n(lambda: run(16))()",
    )
    script(tmp_path, code, CUDASIM_CORE=".")
    (core,) = cores(tmp_path)
    commands = "-ex", "break 8 thread 1", "-ex", "run", "-ex", "gcore stopped.cudasim", "-ex", "kill"
    program(tmp_path, "-m", "cudasim", "debug", "-batch", *commands, "fails.py")
    program(tmp_path, "-m", "cudasim", "record", "fails.py", "-o", "all.cudasim", "--launch", "1")
    for name in (core, "stopped.cudasim", "all.cudasim"):
        shown = debugged(tmp_path, name, "backtrace", "kill")
        frames = [re.sub(r"^#\d+ +(\S+) .*:(\d+)$", r"\1 \2", line) for line in shown if line.startswith("#")]
        assert frames[1:] == ["run 12", "<lambda> 15", "<module> 15"], (name, shown)


def test_a_core_file_is_stepped_from_its_beginning(failed):
    core, _, _ = failed
    shown = debugged(
        core.parent, core.name, "break place if i == 3", "run", "next", "print where", "finish", "next", "delete", "continue", "continue"
    )  # fmt: skip
    assert any(
        re.fullmatch(r"Breakpoint 1, place block\(0,0,0\) thread\(3,0,0\) at \S+:7", line) for line in shown
    ), shown
    assert "$1 = 9" in shown
    assert any("stopped: IndexError: index 25" in line for line in shown[5:])
    assert "The launch has ended as it was recorded, to the bit." in shown


def test_what_was_compiled_is_shown_where_the_source_has_changed(failed, tmp_path):
    core, written, _ = failed
    folder = os.path.dirname(os.path.dirname(written))
    changed = os.path.join(folder, "fails.py")
    with open(changed, "w", encoding="utf-8") as file:
        file.write("\n" * 40)
    try:
        assert "18\t    out[where] = total" in debugged(tmp_path, str(core))
    finally:
        os.unlink(changed)


def test_a_changed_value_makes_another_end_and_that_is_said(failed):
    core, _, _ = failed
    shown = debugged(
        core.parent, core.name, "break 18 thread 0", "run", "set var total = 77.0", "continue", "continue", status=1
    )  # fmt: skip
    assert "The launch has ended otherwise than it was recorded:" in shown
    assert any("memory differs after the launch" in line for line in shown), shown


def test_each_failing_launch_has_a_file_and_limits_hold(tmp_path):
    code = FAILS.split("spread[1, 32](x[:3]")[0] + (
        "for _ in range(4):\n    try:\n        spread[1, 32](x, np.zeros(20))\n    except IndexError as error:\n"
        "        print(any('core file' in note for note in error.__notes__))\n"
    )
    status, shown, said = script(tmp_path, code, CUDASIM_CORE=str(tmp_path), CUDASIM_CORE_FILES="2")
    assert (status, shown) == (0, "True\nTrue\nFalse\nFalse\n"), said
    assert len(cores(tmp_path)) == 2
    (tmp_path / "none").mkdir()
    status, shown, said = script(
        tmp_path, code, CUDASIM_CORE=str(tmp_path / "none"), CUDASIM_CORE_MEMORY="100"
    )
    assert (status, shown.split()) == (0, ["False"] * 4), said
    assert "OptionWarning: core: there is no core file" in said
    assert "more than 100 bytes" in said
    assert not cores(tmp_path / "none")


def test_without_the_option_there_is_none_and_cudas_variables_ask_for_one(tmp_path):
    assert script(tmp_path)[0] == 1
    assert not cores(tmp_path)
    variables = {"CUDA_ENABLE_COREDUMP_ON_EXCEPTION": "1", "CUDA_COREDUMP_FILE": "dump_%p"}
    assert script(tmp_path, **variables)[0] == 1
    (core,) = cores(tmp_path)
    assert re.fullmatch(r"dump_\d+\.cudasim", os.path.basename(core))


def test_a_file_that_cannot_be_written_does_not_hide_the_error(tmp_path):
    (tmp_path / "file").write_text("")
    for arguments in (["fails.py"], ["-W", "error", "fails.py"]):
        (tmp_path / "fails.py").write_text(FAILS)
        status, _, said = program(
            tmp_path, *arguments, ENABLE_CUDASIM="1", CUDASIM_CORE=str(tmp_path / "file" / "cores")
        )
        assert status == 1
        assert "IndexError: tid=[3, 0, 0] ctaid=[0, 0, 0]: index 3 is out of bounds" in said, said
    status, _, said = script(tmp_path, CUDASIM_CORE=str(tmp_path / "file" / "cores"))
    assert "OptionWarning: core: there is no core file: " in said
    assert "Not a directory" in said


def record(folder, code, name="good.py"):
    (folder / name).write_text(code)
    status, _, said = program(folder, "-m", "cudasim", "record", "-o", "run.cudasim", name)
    assert os.path.exists(folder / "run.cudasim"), (status, said)


def test_a_recorded_launch_without_an_error_stops_at_its_entry(tmp_path):
    record(tmp_path, GOOD)
    shown = debugged(tmp_path, "run.cudasim", "next", "print i, x[i]", "continue")
    assert re.fullmatch(
        r"There are 2 launches in the file; this is #1 double<<<\(2, 1, 1\), \(16, 1, 1\)>>>, the first\. --launch N chooses another\.",
        shown[0],
    )
    assert re.fullmatch(r"Kernel entry, double block\(0,0,0\) thread\(0,0,0\) at \S*good.py:7", shown[1]), (
        shown
    )
    assert "$1 = (0, 0.0)" in shown
    assert "The launch has ended as it was recorded, to the bit." in shown


def test_a_launch_is_chosen_by_its_number(tmp_path):
    record(tmp_path, GOOD)
    shown = debugged(tmp_path, ("--core", "run.cudasim", "--launch", "2"), "print blockDim.x", "continue")
    assert "$1 = 8" in shown
    shown = debugged(tmp_path, ("--core", "run.cudasim", "--launch", "7"), status=2)
    assert any("there is no launch 7 in it; it has 1, 2" in line for line in shown), shown


def test_the_first_launch_that_failed_is_taken(tmp_path):
    record(tmp_path, GOOD.replace("double[1, 8](np.arange(8.0))", "double[1, 8](np.arange(7.0))"))
    shown = debugged(tmp_path, "run.cudasim")
    assert "this is #2 double<<<(1, 1, 1), (8, 1, 1)>>>, the first that failed" in shown[0]
    assert "thread(7,0,0) stopped: IndexError" in shown[1]


def test_files_that_are_no_core_files_are_refused(tmp_path, failed):
    (tmp_path / "text.cudasim").write_text("no record")
    shown = debugged(tmp_path, "text.cudasim", status=2)
    assert shown == [
        "cudasim debug: text.cudasim is no core file of cudasim's: option core and `cudasim record` make them"
    ]
    assert (
        "cannot read the core file none.cudasim: No such file"
        in debugged(tmp_path, "none.cudasim", status=2)[0]
    )
    whole = failed[0].read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    for content in (
        whole[: len(whole) // 2],
        bytes(damaged),
        whole[:24],
        whole[:16] + b"\xff" * 8 + whole[24:],
    ):
        (tmp_path / "damaged.cudasim").write_bytes(content)
        shown = debugged(tmp_path, "damaged.cudasim", "info locals", status=2)
        assert any(line.startswith("cudasim: ") and "damaged.cudasim: " in line for line in shown), shown
        assert "[The program exited with code 2]" in shown
    (tmp_path / "damaged.cudasim").write_bytes(whole[:-1])  # the launch is whole
    shown = debugged(tmp_path, "damaged.cudasim", "print i")
    assert "$1 = 5" in shown
    assert "The end of the file is missing: it was cut, or its recording was not finished." in shown


def test_python_mode_is_said(tmp_path):
    record(tmp_path, GOOD.replace("    x[i] *= 2", "    x[i] *= 2\n    breakpoint() if i < 0 else None"))
    shown = debugged(tmp_path, "run.cudasim", status=2)
    assert any("ran in Python mode" in line and "cudasim replay --trust --pdb" in line for line in shown), (
        shown
    )


def test_arguments_that_do_not_go_together(tmp_path, failed):
    assert "takes no script" in debugged(tmp_path, ("--core", str(failed[0]), "k.py"), status=2)[0]
    assert "--launch needs --core" in debugged(tmp_path, ("--launch", "2", "k.py"), status=2)[0]


def test_gcore_writes_the_launch_that_stands(tmp_path, failed):
    (tmp_path / "fails.py").write_text(FAILS)
    shown = debugged(tmp_path, ("fails.py",), "break 17 thread 2", "run", "gcore at_17.cudasim", "set var total = 5.0",
                     "delete", "continue", "generate-core-file", "print i", "kill")  # fmt: skip
    assert f"Saved core file {tmp_path}/at_17.cudasim" in shown
    assert f"Saved core file {tmp_path}/core_spread_1.cudasim" in shown
    standing = debugged(
        tmp_path, "at_17.cudasim", "break 18 thread 2", "continue", "print total", "continue", "continue"
    )
    assert any(line.startswith("Kernel entry, spread block(0,0,0) thread(0,0,0)") for line in standing), (
        standing
    )
    assert "$1 = 6.0" in standing
    assert (
        "The core file was written while the launch stood: there is no recorded end to compare with."
        in standing
    )
    of_error = debugged(tmp_path, "core_spread_1.cudasim", "print i")
    assert "stopped: IndexError: index 3 is out of bounds" in of_error[0]
    again = debugged(tmp_path, str(failed[0]), "gcore copy.cudasim")
    assert f"Saved core file {tmp_path}/copy.cudasim" in again
    assert "stopped: IndexError: index 25" in debugged(tmp_path, "copy.cudasim")[0]


def test_gcore_where_it_cannot_be(tmp_path):
    (tmp_path / "fails.py").write_text(FAILS)
    shown = debugged(
        tmp_path,
        ("fails.py",),
        "gcore",
        "break 17",
        "run",
        "gcore nowhere/c.cudasim",
        "gcore a b",
        "kill",
        status=1,
    )
    assert "The program is not being run." in shown
    assert any("nowhere: No such file or directory" in line for line in shown), shown
    assert "One file is needed: gcore [FILE]." in shown


def test_a_core_file_takes_the_place_of_the_program(tmp_path, failed):
    (tmp_path / "good.py").write_text(GOOD)
    shown = debugged(tmp_path, ("good.py",), "run", f"core-file {failed[0]}", "print i", "core-file good.py")
    assert shown[0] == "[The program exited normally]"
    assert "stopped: IndexError: index 25" in shown[1]
    assert "$1 = 5" in shown
    assert "good.py is no core file of cudasim's: option core and `cudasim record` make them." in shown

"""simulator/image/checks.def is the one table of declared checks: a row that a back end does not expand does not
compile. Shown with a copy of the table that has one row more."""

import json
import pathlib
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "simulator" / "image" / "checks.def"
BACK_ENDS = {"jit": "simulator/jit/declared_checks.cpp", "gpu": "gpu_backend/check_expansion.cpp"}


def compiled_with(row, source, folder):
    """The compiler's errors about `source` when the table has this row too."""
    commands = ROOT / "build" / "release" / "compile_commands.json"
    if not commands.exists():
        pytest.skip("build/release is not there: run make test")
    entry = next(entry for entry in json.loads(commands.read_text()) if entry["file"] == str(ROOT / source))
    copy = folder / "simulator" / "image" / "checks.def"
    copy.parent.mkdir(parents=True)
    copy.write_text(TABLE.read_text() + row + "\n")
    words = shlex.split(entry["command"])
    words = words[1:] if pathlib.Path(words[0]).name == "ccache" else words
    at = words.index("-o")
    command = [words[0], f"-I{folder}", *words[1:at], *words[at + 2 :], "-fsyntax-only"]
    done = subprocess.run(command, cwd=entry["directory"], capture_output=True, text=True, timeout=300)
    return "" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("source", BACK_ENDS.values())
def test_both_back_ends_read_the_table(source):
    assert '#include "simulator/image/checks.def"' in (ROOT / source).read_text()


def test_a_check_that_the_simulator_does_not_expand_does_not_compile(tmp_path):
    row = 'CHECK(check_nothing, "__cudasim_check_nothing", "void (i1)", drop)'
    errors = compiled_with(row, BACK_ENDS["jit"], tmp_path)
    assert "Expansion" in errors and "check_nothing" in errors


def test_a_check_without_an_action_on_the_gpu_does_not_compile(tmp_path):
    row = 'CHECK(check_nothing, "__cudasim_check_nothing", "void (i1)", vanish)'
    errors = compiled_with(row, BACK_ENDS["gpu"], tmp_path)
    assert "vanish" in errors


def test_a_row_with_all_of_it_compiles(tmp_path):
    row = 'CHECK(check_nothing, "__cudasim_check_nothing", "void (i1)", drop)'
    assert compiled_with(row, BACK_ENDS["gpu"], tmp_path) == ""

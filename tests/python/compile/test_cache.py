"""Compiled kernels on disk: a second run of a program compiles nothing, and nothing that happens to the folder
changes what a program does."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

SCRIPT = """
    import sys
    import warnings
    import numpy as np
    from cudasim import _native, cache, cuda

    @cuda.jit
    def scale(x, factor):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = factor * x[i] + 1

    x = np.arange(5.0)
    scale[1, 8](x, 3.0)
    print(x.tolist())
"""
RESULT = "[1.0, 4.0, 7.0, 10.0, 13.0]"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "compiled kernels"


def usage(run, folder, **variables):
    done = run(
        "-m", "cudasim.command_line", "cache", "info", "--json", CUDASIM_CACHE_DIR=str(folder), **variables
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def hits_and_misses(run, folder):
    state = usage(run, folder)
    return state["hits"], state["misses"]


def entry_of(folder):
    (entry,) = folder.glob("*.kernel")
    return entry


def scales(run, folder, **variables):
    """Runs SCRIPT; its result is right and nothing is said on standard error."""
    done = run.script(SCRIPT, CUDASIM_CACHE_DIR=str(folder), **variables)
    assert (done.stdout.strip(), done.stderr) == (RESULT, "")


def test_the_second_run_compiles_nothing(run, folder):
    scales(run, folder)
    assert hits_and_misses(run, folder) == (0, 1)
    scales(run, folder)
    assert hits_and_misses(run, folder) == (1, 1)
    state = usage(run, folder)
    assert state["entries"] == 1 and state["bytes"] == entry_of(folder).stat().st_size
    assert state["folder"] == str(folder) and state["limit"] == 256 << 20 and state["problem"] is None


def test_a_launch_imports_no_part_of_numpy_that_it_does_not_need(run, folder):
    script = SCRIPT.replace("    x = np.arange(5.0)", "    before = set(sys.modules)\n    x = np.arange(5.0)")
    script += "    print(sorted(name for name in set(sys.modules) - before if name.startswith('numpy')))\n"
    done = run.script(script, CUDASIM_CACHE_DIR=str(folder))
    assert done.stdout.splitlines() == [RESULT, "[]"], done.stderr


FAULTS = """
    import numpy as np
    from cudasim import cuda

    @cuda.jit(device=True)
    def pick(x, i):
        return x[i + 3]

    @cuda.jit
    def beyond(x, message):
        i = cuda.grid(1)
        if message and i == 2:
            raise ValueError("thread two")
        x[i] = pick(x, i)

    for message in (False, True):
        try:
            beyond[2, 4](np.zeros(9), message)
        except Exception as error:
            import traceback
            print(traceback.format_exc())
"""


def test_errors_of_cached_kernels_name_the_same_places(run, folder):
    cold, warm = (run.script(FAULTS, CUDASIM_CACHE_DIR=str(folder)).stdout for _ in range(2))
    assert cold == warm
    assert hits_and_misses(run, folder) == (1, 1)
    assert "index 9 is out of bounds" in warm and "in pick" in warm and "thread two" in warm


def test_a_changed_kernel_is_another_one(run, folder):
    scales(run, folder)
    changed = SCRIPT.replace("factor * x[i] + 1", "factor * x[i] + 2")
    assert run.script(changed, CUDASIM_CACHE_DIR=str(folder)).stdout.strip() == "[2.0, 5.0, 8.0, 11.0, 14.0]"
    moved = SCRIPT.replace("import warnings", "import warnings\n\n")  # places in reports are part of the code
    assert run.script(moved, CUDASIM_CACHE_DIR=str(folder)).stdout.strip() == RESULT
    assert hits_and_misses(run, folder) == (0, 3)


def test_a_changed_global_is_another_kernel(run, folder):
    text = SCRIPT.replace("x[i] + 1", "x[i] + OFFSET").replace("import sys", "OFFSET = {}")
    results = [run.script(text.format(k), CUDASIM_CACHE_DIR=str(folder)).stdout.strip() for k in (1, 2, 1)]
    assert results == [RESULT, "[2.0, 5.0, 8.0, 11.0, 14.0]", RESULT]
    assert hits_and_misses(run, folder) == (1, 2)


@pytest.mark.parametrize("variables", [{"CUDASIM_CACHE": "0"}, {"CUDASIM_CACHE_SIZE": "0"}])
def test_it_can_be_switched_off(run, folder, variables):
    scales(run, folder, **variables)
    assert not folder.exists()


def test_options_change_it_in_a_running_program(run, folder):
    done = run.script(
        SCRIPT
        + """
    from cudasim import options
    with options.override(cache_dir=sys.argv[1]):
        cuda.jit(lambda x: None)[1, 8](x)
    with options.override(cache=False):
        cuda.jit(lambda x, y: None)[1, 8](x, x)
    """,
        folder / "other",
        CUDASIM_CACHE_DIR=str(folder / "first"),
    )
    assert done.returncode == 0, done.stderr
    assert [hits_and_misses(run, folder / name) for name in ("first", "other")] == [(0, 1), (0, 1)]


@pytest.mark.parametrize("where", ["XDG_CACHE_HOME", "HOME"])
def test_its_place_follows_the_environment(run, tmp_path, where):
    variables = {"XDG_CACHE_HOME": None, "HOME": str(tmp_path / "nobody"), where: str(tmp_path / "base")}
    assert run.script(SCRIPT, CUDASIM_CACHE_DIR=None, **variables).stdout.strip() == RESULT
    expected = tmp_path / "base" / (".cache/cudasim" if where == "HOME" else "cudasim")
    assert len(list(expected.glob("*.kernel"))) == 1


def test_a_relative_xdg_folder_is_ignored(run, tmp_path):
    variables = {"XDG_CACHE_HOME": "here", "HOME": str(tmp_path / "home")}
    assert run.script(SCRIPT, CUDASIM_CACHE_DIR=None, **variables).stdout.strip() == RESULT
    assert not (tmp_path / "here").exists() and (tmp_path / "home/.cache/cudasim").exists()


@pytest.mark.parametrize("home", ["/nonexistent", "/proc", "/dev/null", "relative", None])
def test_without_a_place_for_it_programs_work_silently(run, home):
    done = run.script(SCRIPT, CUDASIM_CACHE_DIR=None, XDG_CACHE_HOME="/proc/nowhere", HOME=home)
    assert (done.stdout.strip(), done.stderr) == (RESULT, "")


def test_a_folder_that_was_asked_for_and_cannot_be_is_said_once(run):
    script = SCRIPT + "    cuda.jit(scale.py_func)[1, 8](x, 3.0); cuda.jit(scale.py_func)[1, 4](x, 3.0)\n"
    done = run.script(script, CUDASIM_CACHE_DIR="/proc/nowhere")
    assert done.stdout.strip() == RESULT
    said = "CacheUnusedWarning: the cache of compiled kernels is not used: /proc/nowhere"
    assert done.stderr.count(said) == 1 and "script.py:14: " + said in done.stderr


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_said_once_and_not_used(run, folder, mode):
    scales(run, folder)
    folder.chmod(mode)
    done = run.script(SCRIPT, CUDASIM_CACHE_DIR=str(folder))
    assert done.stdout.strip() == RESULT
    assert done.stderr.count(f"may be written by others; take that away with: chmod go-w {folder}") == 1
    assert "others" in usage(run, folder)["problem"]
    cleared = run("-m", "cudasim.command_line", "cache", "clear", CUDASIM_CACHE_DIR=str(folder))
    assert cleared.returncode == 1 and "chmod" in cleared.stderr
    folder.chmod(0o700)
    assert hits_and_misses(run, folder) == (0, 1)


def planted(whole):
    """Damaged entries: name → bytes."""
    flip = lambda at: whole[:at] + bytes([whole[at] ^ 0x20]) + whole[at + 1 :]  # noqa: E731
    yield "header", flip(3)
    yield "version", flip(8)
    yield "checksum", flip(30)
    yield "key", flip(80)
    yield "facts", flip(whole.index(b"scale") + 20)
    yield "code", flip(len(whole) - 500)
    yield "last byte", flip(len(whole) - 1)
    yield "empty", b""
    yield "half", whole[: len(whole) // 2]
    yield "a text", b"hello, world\n" * 1000
    yield "longer", whole + b"\0"


def test_damaged_entries_are_compiled_again(run, folder):
    scales(run, folder)
    entry = entry_of(folder)
    whole = entry.read_bytes()
    for misses, (what, damaged) in enumerate(planted(whole), 2):
        entry.write_bytes(damaged)
        scales(run, folder)
        assert entry.read_bytes() == whole, what
        assert hits_and_misses(run, folder) == (0, misses), what


def test_many_processes_at_once(run, folder):
    script = run.write(SCRIPT)
    environment = {**os.environ, "CUDASIM_CACHE_DIR": str(folder)}
    processes = [
        subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    assert {process.communicate(timeout=120)[0].strip() for process in processes} == {RESULT}
    state = usage(run, folder)
    assert state["entries"] == 1 and state["hits"] + state["misses"] == 8
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".kernel") in (
        ["hits", "misses"],
        ["misses"],
    )


def test_a_forked_child_compiles_and_finds(run, folder):
    done = run.script(
        SCRIPT
        + """
    import os
    @cuda.jit
    def other(x):
        x[0] = 42
    for _ in range(2):
        child = os.fork()
        if child == 0:
            again = np.arange(5.0)
            cuda.jit(scale.py_func)[1, 8](again, 3.0)
            other[1, 1](again)
            os._exit(0 if again.tolist() == [42.0, 4.0, 7.0, 10.0, 13.0] else 1)
        assert os.waitpid(child, 0)[1] == 0
    """,
        CUDASIM_CACHE_DIR=str(folder),
    )
    assert done.returncode == 0, done.stderr
    state = usage(run, folder)
    assert state["entries"] == 2 and state["misses"] == 2 and state["hits"] >= 1


def test_the_size_limit_holds(run, folder):
    many = """
        import numpy as np
        from cudasim import cuda, options
        x = np.zeros(1)
        for constant in range(12):
            def kernel(x):
                x[0] = constant
            cuda.jit(kernel)[1, 1](x)
            assert x[0] == constant
    """
    assert run.script(many, CUDASIM_CACHE_DIR=str(folder)).returncode == 0
    state = usage(run, folder)
    assert state["entries"] == 12
    limit = state["bytes"] // 2
    scales(run, folder, CUDASIM_CACHE_SIZE=str(limit))
    state = usage(run, folder, CUDASIM_CACHE_SIZE=str(limit))
    assert state["bytes"] <= limit == state["limit"] and 3 <= state["entries"] <= 6
    scales(run, folder)
    assert usage(run, folder)["hits"] == 1  # the newest one stayed


def test_clear_removes_what_is_the_caches(run, folder):
    scales(run, folder)
    (folder / "notes.txt").write_text("mine")
    done = run("-m", "cudasim.command_line", "cache", "clear", CUDASIM_CACHE_DIR=str(folder))
    assert done.returncode == 0 and "removed 1 compiled kernel" in done.stdout, done.stderr
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    state = usage(run, folder)
    assert (state["entries"], state["bytes"], state["hits"], state["misses"]) == (0, 0, 0, 0)


def test_info_shows_it_and_makes_nothing(run, folder):
    done = run("-m", "cudasim.command_line", "cache", "info", CUDASIM_CACHE_DIR=str(folder))
    assert f"folder            {folder}" in done.stdout and "0 of 0 looked up" in done.stdout
    assert (
        f"folder            {folder}"
        in run("-m", "cudasim.command_line", "info", CUDASIM_CACHE_DIR=str(folder)).stdout
    )
    everything = json.loads(
        run("-m", "cudasim.command_line", "info", "--json", CUDASIM_CACHE_DIR=str(folder)).stdout
    )
    assert everything["cache"]["folder"] == str(folder)
    assert not folder.exists()


def test_the_tests_own_cache_is_not_the_users():
    assert pathlib.Path(os.environ["CUDASIM_CACHE_DIR"]).parent.name.startswith("cudasim_tests_")


@pytest.mark.parametrize(
    "home, reason",
    [
        ("/dev/null", "/dev/null is not a folder"),
        ("relative", "no home directory"),
        ("", "no home directory"),
    ],
)
def test_info_says_why_kernels_cannot_be_kept(run, home, reason):
    state = usage(run, "", XDG_CACHE_HOME=None, HOME=home)
    assert reason in state["problem"] and not state["enabled"]

"""Where options come from besides programs: names of environment variables, pyproject.toml; and what is strongest."""

import pytest

SHOW = """
from cudasim import options
print(options.get("workers"), options.value_and_source("workers")[1])
"""


def test_misspelt_variables_are_reported_once_with_what_was_meant(run):
    done = run.script(
        """
        import cudasim.cuda as cuda
        from cudasim import options

        @cuda.jit
        def kernel():
            pass

        kernel[1, 1]()
        kernel[1, 1]()
        options.set(workers=1)
        kernel[1, 1]()
        """,
        CUDASIM_WOKERS="3",
        CUDASIM_TEST_SOMETHING="1",
    )
    assert done.returncode == 0 and done.stderr.count("OptionWarning") == 1, done.stderr
    assert "script.py:9: OptionWarning: " in done.stderr
    assert (
        "CUDASIM_WOKERS is not an option of cudasim and has no effect. Did you mean 'CUDASIM_WORKERS'?"
        in done.stderr
    )


@pytest.mark.parametrize(
    "name, meant",
    [("cudasim_workers", "Did you mean 'CUDASIM_WORKERS'"), ("CUDASIM_XYZZY", "docs/options.md")],
)
def test_other_unknown_variables_are_reported_too(run, name, meant):
    done = run.script("from cudasim import options\noptions.get('seed')", **{name: "1"})
    assert name in done.stderr and meant in done.stderr, done.stderr


@pytest.mark.parametrize("statement", ["from numba import cuda", "import numba.cuda"])
@pytest.mark.parametrize("variables, says", [
    ({"CUDASIM_WORKERS": "3"}, "CUDASIM_WORKERS is set, but has no effect: the simulator is not switched on. Set ENABLE_CUDASIM=1"),
    ({"CUDASIM_WORKERS": "3", "CUDASIM_SEED": "1"}, "CUDASIM_WORKERS, CUDASIM_SEED are set, but have no effect"),
    ({"CUDASIM_WORKERS": "3", "ENABLE_CUDASIM": "0"}, None),
    ({"CUDASIM_WORKERS": "3", "ENABLE_CUDASIM": "1"}, None),
    ({}, None),
])  # fmt: skip
def test_options_without_the_switch_are_reported_once(any_run, statement, variables, says):
    done = any_run.script(
        f"""
        try:
            {statement}
            {statement}
            import numba.cuda
        except ModuleNotFoundError:
            pass
        """,
        **{"CUDASIM_CACHE_DIR": None, "CUDASIM_KEEP_IMAGES": None, **variables},
    )
    assert done.stderr.count("OptionWarning") == (says is not None), done.stderr
    if says is not None:
        assert says in done.stderr and "script.py:3: OptionWarning" in done.stderr


def test_pyproject_gives_options_from_the_nearest_folder_above(run):
    run.write(
        '[tool.other]\nx = 1\n[tool.cudasim]\nworkers = 3\ntime-limit = 2.5\ndevice_memory = "64M"\nstrict = true\n',
        "pyproject.toml",
    )
    below = run.folder / "package" / "tests"
    below.mkdir(parents=True)
    run.folder = below
    done = run.script(
        SHOW
        + "print(options.get('time_limit'), options.get('device_memory'), options.get('strict'), options.is_given('fma'))"
    )
    first, second = done.stdout.splitlines()
    assert first == f"3 {below.parents[1] / 'pyproject.toml'}, [tool.cudasim]", done.stderr
    assert second == f"2.5 {64 << 20} True False"


def test_paths_in_pyproject_begin_in_its_folder(run):
    run.write('[tool.cudasim]\ncache_dir = "kept"\n', "pyproject.toml")
    top = run.folder
    (top / "below").mkdir()
    run.folder = top / "below"
    done = run.script("from cudasim import options; print(options.get('cache_dir'))", CUDASIM_CACHE_DIR=None)
    assert done.stdout.strip() == str(top / "kept"), done.stderr


@pytest.mark.parametrize("content, says", [
    ("[tool.cudasim]\nwokers = 3\n", "there is no option 'wokers'. Did you mean 'workers'?"),
    ("[tool.cudasim]\nworkers = 100000\n", "workers: 100000 is not valid; workers takes a number from 0 to 1024"),
    ("[tool.cudasim]\nworkers = \n", "is not valid TOML: "),
    ("[tool]\ncudasim = 3\n", "[tool.cudasim] is not a table of options"),
])  # fmt: skip
def test_what_is_wrong_in_pyproject_is_said_with_the_file(run, content, says):
    run.write(content, "pyproject.toml")
    done = run.script(SHOW)
    assert f"OptionError: {run.folder / 'pyproject.toml'}" in done.stderr and says in done.stderr, done.stderr


def test_a_pyproject_of_others_is_not_parsed(run):
    run.write("[project\nname = 'cudasim'\n", "pyproject.toml")
    assert run.script(SHOW).stdout.startswith("0 default"), "not ours to complain of"


def test_the_order_of_sources(run):
    """Strongest first: set, marker, command line, environment, pyproject.toml, default."""
    run.write("[tool.cudasim]\nworkers = 1\n", "pyproject.toml")
    done = run.script(
        """
        import os
        from cudasim import options
        print(options.get("workers"))
        os.environ["CUDASIM_WORKERS"] = "2"
        options.set()
        print(options.get("workers"))
        options.set_from_arguments("--workers", workers=3)
        print(options.get("workers"))
        with options.marked("@pytest.mark.cudasim", workers=4):
            print(options.get("workers"))
            with options.override(workers=5):
                print(options.get("workers"), options.value_and_source("workers")[1])
        options.set(workers=6)
        with options.marked("@pytest.mark.cudasim", workers=4):
            print(options.get("workers"))
        options.set(workers=None)
        print(options.get("workers"))
        """
    )
    assert done.stdout.split("\n") == ["1", "2", "3", "4", "5 cudasim.options.override", "6", "3", ""], (
        done.stderr
    )

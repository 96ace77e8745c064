"""The command-line program: run, info, ir, and what it says to wrong usage."""

import json
import signal
import subprocess
import sys

import cudasim
import pytest
from cudasim import options

SCRIPT = """
    import sys
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def twice(a):
        return 2 * a

    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = twice(x[i])

    @cuda.jit
    def beyond(x):
        x[cuda.grid(1) + int(sys_argument)] = 1

    sys_argument = sys.argv[1] if len(sys.argv) > 1 else 0
    x = np.ones(4)
    double[1, 4](x)
    print("result", x.tolist(), sys.argv[1:], __name__)
"""


def cudasim_program(run, *arguments, **variables):
    return run("-m", "cudasim.command_line", *arguments, **variables)


def test_run_runs_a_script_with_its_arguments(run):
    done = cudasim_program(run, "run", run.write(SCRIPT), "7", "--flag")
    assert done.stdout.strip() == "result [2.0, 2.0, 2.0, 2.0] ['7', '--flag'] __main__", done.stderr
    assert done.returncode == 0


def test_run_takes_options_before_the_script(run):
    script = run.write("""
        import os
        from cudasim import options
        print(options.value_and_source("workers"), options.get("strict"), os.environ["CUDASIM_WORKERS"])
        """)
    done = cudasim_program(run, "run", "--workers", "2", "--strict=1", script)
    assert done.stdout.strip() == "(2, 'command line --workers') True 2", done.stderr


def test_run_runs_modules(run):
    run.write("import sys; print('module', sys.argv[1:])", "some_module.py")
    assert cudasim_program(run, "run", "-m", "some_module", "a").stdout.strip() == "module ['a']"


def test_run_exits_by_findings_that_the_script_caught(run):
    script = run.write("""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def beyond(x):
            x[5] = 1

        try:
            beyond[1, 1](np.zeros(1))
        except IndexError:
            print("caught")
        """)
    done = cudasim_program(run, "run", script)
    assert (done.returncode, done.stdout.strip()) == (1, "caught") and "kernels had 1 error" in done.stderr
    assert run("-m", "cudasim", script).returncode == 0  # plain Python status


@pytest.mark.parametrize(
    "arguments, status, words",
    [
        ((), 2, ["usage: cudasim"]),
        (("run",), 2, ["no script given"]),
        (("run", "missing.py"), 2, ["missing.py", "No such file"]),
        (("run", "--workers", "x", "a.py"), 2, ["--workers", "'x'", "a number"]),
        (("nosuch",), 2, ["invalid choice"]),
        (("ir", "a.py"), 2, ["--kernel"]),
        (("ir", "missing.py", "--kernel", "k"), 1, ["missing.py", "No such file"]),
    ],
)
def test_wrong_usage_is_explained(run, arguments, status, words):
    done = cudasim_program(run, *arguments)
    assert done.returncode == status
    for word in words:
        assert word in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_environment_is_explained(run):
    done = cudasim_program(run, "run", run.write("print(1)"), CUDASIM_POLICY="sideways")
    assert (
        done.returncode == 2 and "CUDASIM_POLICY" in done.stderr and "forward, reverse, random" in done.stderr
    )


def test_version(run):
    assert cudasim_program(run, "--version").stdout.strip() == f"cudasim {cudasim.__version__}"


def test_info_for_programs(run):
    done = cudasim_program(run, "info", "--json", CUDASIM_WORKERS="1")
    everything = json.loads(done.stdout)
    assert everything["versions"]["cudasim"] == cudasim.__version__
    assert everything["versions"]["llvm"].startswith("19.")
    assert everything["devices"][0]["max_threads_per_block"] == 1024
    assert set(everything["options"]) == set(options.BY_NAME)
    assert everything["options"]["workers"] == {"value": 1, "source": "environment variable CUDASIM_WORKERS"}


def test_info_for_people(run):
    text = cudasim_program(run, "info", CUDASIM_DEVICE_MEMORY="64M").stdout
    assert "H100" in text and "numba" in text and "environment variable CUDASIM_DEVICE_MEMORY" in text
    assert "memory total                    67108864" in text


@pytest.mark.parametrize(
    "stage, words",
    [
        ("typed", ["double", "float64"]),
        ("nvvm", ["nvptx64-nvidia-cuda", "define void @", "!dbg"]),
        ("instrumented", ["define", "cudasim_hook"]),
        ("ptx", [".visible .entry", ".target sm_90"]),
    ],
)
def test_ir_shows_every_stage(run, stage, words):
    done = cudasim_program(run, "ir", run.write(SCRIPT), "--kernel", "double", "--stage", stage)
    assert done.returncode == 0, done.stderr
    for word in words:
        assert word in done.stdout
    assert "result" not in done.stdout  # the script's own output is kept apart


def test_ir_takes_arguments_and_an_architecture(run):
    script = run.write(
        "import sys; assert sys.argv[1:] == ['--n', '3']\n" + __import__("textwrap").dedent(SCRIPT)
    )
    done = cudasim_program(
        run, "ir", script, "--kernel", "double", "--stage", "ptx", "--arch", "sm_80", "--", "--n", "3"
    )
    assert ".target sm_80" in done.stdout, done.stderr


def test_ir_names_the_kernels_there_are(run):
    done = cudasim_program(run, "ir", run.write(SCRIPT), "--kernel", "duoble")
    assert done.returncode == 1 and "'duoble'" in done.stderr and "double" in done.stderr


def test_ir_says_what_stopped_the_script(run):
    done = cudasim_program(run, "ir", run.write("raise KeyError('boom')"), "--kernel", "k")
    assert done.returncode == 1 and "KeyError" in done.stderr and "boom" in done.stderr


@pytest.mark.parametrize("arguments", [["info"], ["cache", "info"]])
def test_a_reader_that_leaves_early_is_no_error(arguments):
    program = subprocess.Popen(
        [sys.executable, "-m", "cudasim.command_line", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    program.stdout.close()
    assert program.stderr.read() == b"" and program.wait(timeout=60) == 128 + signal.SIGPIPE

"""cudasim compare, record --gpu, diff and cudasim-gpu-run; the option gpu=compare; pytest."""

import json
import pathlib
import subprocess

import pytest
from cudasim import _native

SCRIPT = """
import sys
import numpy as np
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

@cuda.jit
def square(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = x[i] * x[i]

x = np.arange(1000, dtype=np.float32)
y = np.ones(1000, dtype=np.float32)
for _ in range(2):
    saxpy[4, 256](2, x, y)
square[4, 256](y)
print(sys.argv[1:], y[3])
"""
#: Bit 30 of y[257] after the second launch.
FLIP = "flip@2=p4+1031.6"


def gpu_run(folder, environment, *arguments):
    """cudasim-gpu-run with arguments, which needs nothing of Python."""
    program = _native.find_gpu_runner()
    if not program:
        pytest.skip("cudasim-gpu-run is not built")
    kept = {name: value for name, value in environment.items() if name.startswith("CUDASIM")}
    return subprocess.run(
        [program, *arguments], cwd=folder, env=kept, capture_output=True, text=True, timeout=60
    )


def test_a_script_is_compared_launch_by_launch(run, gpu):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim", "compare", script, "--mine", **gpu())
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['--mine'] 169.0\n"  # (2·3 + 2·3 + 1)²
    assert "3 launches: 3 same" in done.stderr


def test_a_difference_is_reported_and_the_script_goes_on(run, gpu):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim", "compare", "--json", "r.json", "--html", "r.html", script, **gpu(FLIP))
    assert done.returncode == 1
    assert done.stdout == "[] 169.0\n"
    assert "3 launches: 2 same, 1 different" in done.stderr
    report = json.loads((run.folder / "r.json").read_text())
    assert [launch["verdict"] for launch in report["launches"]] == ["same", "different", "same"]
    assert "saxpy" in (run.folder / "r.html").read_text()


def test_launches_are_chosen_as_records_are(run, gpu):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim", "compare", "--kernel", "square", "--json", "r.json", script, **gpu())
    assert done.returncode == 0, done.stderr
    assert [launch["kernel"] for launch in json.loads((run.folder / "r.json").read_text())["launches"]] == [
        "square"
    ]


@pytest.mark.parametrize(
    "arguments, message",
    [(["--rtol", "-1"], "no finite number"), (["--launch", "x"], "not the number of a launch"), ([], "no script given"),
     (["--json", "/nowhere/r.json", "script.py"], "/nowhere/r.json")],
)  # fmt: skip
def test_wrong_usage_of_compare(run, gpu, arguments, message):
    run.write(SCRIPT)
    if "--launch" in arguments or "--rtol" in arguments:
        arguments = [*arguments, "script.py"]
    done = run("-m", "cudasim", "compare", *arguments, **gpu())
    assert done.returncode == 2 and message in done.stderr, done.stderr


@pytest.mark.parametrize("planted, status", [("cuInit=999", 11), ("devices=0", 12), ("version=10020", 13)])
def test_without_a_gpu_the_exit_status_says_why(run, gpu, planted, status):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim", "compare", script, **gpu(planted))
    assert done.returncode == status and done.stderr.startswith("cudasim compare: "), done.stderr
    assert done.stdout == ""


def test_records_travel(run, gpu):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim", "record", "--gpu", script, "-o", "run.cudasim", ENABLE_CUDASIM="1")
    assert done.returncode == 0, done.stderr
    there = gpu_run(run.folder, gpu(FLIP), "run.cudasim", "-o", "gpu.cudasim")
    assert there.returncode == 0, there.stderr
    assert there.stdout.count("ran, ") == 3
    home = run("-m", "cudasim", "diff", "run.cudasim", "gpu.cudasim", "--json", "r.json")
    assert home.returncode == 1, home.stderr
    assert "y[257] = 515.0" in home.stdout and "3 launches: 2 same, 1 different" in home.stdout
    assert run("-m", "cudasim", "diff", "run.cudasim", "gpu.cudasim", "--launch", "1").returncode == 0
    again = run("-m", "cudasim", "replay", "run.cudasim")
    assert again.returncode == 0 and again.stdout.count("reproduced to the bit") == 3


def test_files_that_do_not_belong_together_are_refused_by_name(run, gpu):
    script = run.write(SCRIPT)
    for name, chosen in (("first", "1"), ("second", "2..")):
        done = run("-m", "cudasim", "record", "--gpu", "-o", f"{name}.cudasim", "--launch", chosen, script)
        assert done.returncode == 0, done.stderr
    assert gpu_run(run.folder, gpu(), "second.cudasim", "-o", "gpu.cudasim").returncode == 0
    for record, results, message in (
        ("first.cudasim", "gpu.cudasim", "which is not in first.cudasim"),
        ("gpu.cudasim", "first.cudasim", "not a file of records"),
        ("first.cudasim", "second.cudasim", "not a file of a GPU's results"),
        ("nowhere.cudasim", "gpu.cudasim", "cannot read nowhere.cudasim"),
    ):
        done = run("-m", "cudasim", "diff", record, results)
        assert done.returncode == 2 and message in done.stderr, done.stderr


def test_a_plain_record_has_nothing_for_a_gpu(run, gpu):
    script = run.write(SCRIPT)
    assert run("-m", "cudasim", "record", "-o", "run.cudasim", script).returncode == 0
    done = gpu_run(run.folder, gpu(), "run.cudasim", "-o", "gpu.cudasim")
    assert done.returncode == 2 and "cudasim record --gpu" in done.stderr
    assert not (run.folder / "gpu.cudasim").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [(["--arch", "sm_80"], "there is neither"), (["--gpu", "--arch", "80"], "no architecture of a GPU"),
     (["--gpu", "--arch", "sm_999"], "no architecture of a GPU")],
)  # fmt: skip
def test_wrong_architectures(run, arguments, message):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim", "record", *arguments, "-o", "run.cudasim", script)
    assert done.returncode != 0 and message in done.stdout + done.stderr, done.stderr


def test_the_option_compares_every_launch_of_a_program(run, gpu):
    done = run.script(SCRIPT, **gpu(CUDASIM_GPU="compare"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith("cudasim: launches compared with Stand-in GPU A: 3 same\n")
    done = run.script(SCRIPT, **gpu(FLIP, CUDASIM_GPU="compare"))
    assert done.returncode == 1 and "GpuDifference: Launch 2: saxpy" in done.stderr


def test_a_comparison_inside_of_another_one_has_its_launches(run, gpu):
    program = (
        SCRIPT
        + """
import cudasim
with cudasim.compare_with_gpu() as outer:
    square[4, 256](y)
    found = cudasim.compare(square[4, 256], y)
    assert len(found.verdicts) == 1
    square[4, 256](y)
assert len(outer.verdicts) == 3
"""
    )
    done = run.script(program, **gpu(CUDASIM_GPU="compare"))
    assert done.returncode == 0, done.stderr


TESTS = (
    SCRIPT.replace("for _ in", "def test_saxpy():\n  for _ in")
    .replace("square[4", "def test_square():\n  square[4")
    .partition("print(")[0]
)


def test_pytest_compares(run, gpu):
    pathlib.Path(run.folder / "test_it.py").write_text(TESTS)
    done = run("-m", "pytest", "-q", "--cudasim", "--cudasim-gpu=compare", "test_it.py", **gpu())
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout
    done = run("-m", "pytest", "-q", "--cudasim", "--cudasim-gpu=compare", "test_it.py", **gpu(FLIP))
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout
    assert "GpuDifference: Launch 2: saxpy" in done.stdout and "y[257] = 515.0" in done.stdout


def test_pytest_records_each_test_for_a_gpu(run, gpu):
    pathlib.Path(run.folder / "test_it.py").write_text(TESTS)
    done = run("-m", "pytest", "-q", "--cudasim", "--cudasim-record-gpu", "runs", "test_it.py", **gpu())
    assert done.returncode == 0, done.stdout
    files = sorted(path.name for path in (run.folder / "runs").iterdir())
    assert files == ["test_it.py-test_saxpy.cudasim", "test_it.py-test_square.cudasim"]
    there = gpu_run(run.folder, gpu(), f"runs/{files[0]}", "-o", "gpu.cudasim")
    assert there.returncode == 0 and there.stdout.count("ran, ") == 2


def test_pytest_records_and_compares(run, gpu):
    pathlib.Path(run.folder / "test_it.py").write_text(
        TESTS
        + """

def test_own_comparison():
    import cudasim
    from numba import cuda
    assert cudasim.compare(saxpy[4, 256], 2, np.ones(8, np.float32), np.ones(8, np.float32)).verdicts == ["same"]
"""
    )
    options = (
        "--cudasim",
        "--cudasim-record-gpu",
        "runs",
        "--cudasim-record",
        "failed",
        "--cudasim-gpu=compare",
    )
    done = run("-m", "pytest", "-q", *options, "test_it.py", **gpu(FLIP))
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout, done.stdout
    assert "GpuDifference: Launch 2: saxpy" in done.stdout
    assert "run it again with: cudasim replay failed/test_it.py-test_saxpy.cudasim" in done.stdout
    assert [path.name for path in (run.folder / "failed").iterdir()] == ["test_it.py-test_saxpy.cudasim"]
    numbers = {
        path.name: [
            int(line[1:].split()[0])
            for line in gpu_run(run.folder, gpu(), path, "-o", "gpu").stdout.splitlines()
        ]
        for path in (run.folder / "runs").iterdir()
    }
    assert numbers == {
        "test_it.py-test_saxpy.cudasim": [1, 2],
        "test_it.py-test_square.cudasim": [1],
        "test_it.py-test_own_comparison.cudasim": [1],
    }


def test_nothing_of_cuda_is_loaded_unasked(run, gpu):
    program = (
        SCRIPT
        + """
assert not any(name.startswith("cudasim.comparing") for name in sys.modules)
assert "libcuda.so" not in open("/proc/self/maps").read()
import cudasim
cudasim.compare(square[4, 256], y)
assert "libcuda.so" not in open("/proc/self/maps").read()  # it is in the other process
"""
    )
    done = run.script(program, **gpu())
    assert done.returncode == 0, done.stderr


def test_the_command_compares_whatever_the_option_says(run, gpu):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim", "compare", script, **gpu(CUDASIM_GPU="compare"))
    assert done.returncode == 0 and "3 launches: 3 same" in done.stderr, done.stderr


def test_a_script_that_is_not_there_is_wrong_usage(run, gpu):
    done = run("-m", "cudasim", "compare", "nowhere.py", **gpu())
    assert done.returncode == 2 and "cannot read the script nowhere.py" in done.stderr
    assert "No launch was compared" not in done.stderr


def test_results_that_were_cut_are_told(run, gpu):
    script = run.write(SCRIPT)
    assert run("-m", "cudasim", "record", "--gpu", "-o", "run.cudasim", script).returncode == 0
    assert gpu_run(run.folder, gpu(), "run.cudasim", "-o", "gpu.cudasim").returncode == 0
    whole = (run.folder / "gpu.cudasim").read_bytes()
    (run.folder / "cut.cudasim").write_bytes(whole[:-100])
    done = run("-m", "cudasim", "diff", "run.cudasim", "cut.cudasim")
    assert done.returncode == 1 and "cut.cudasim is not complete" in done.stderr


PROCESSES = """
import multiprocessing, sys
import numpy as np
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

def work(a):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)
    saxpy[4, 256](a, x, y)

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    processes = [context.Process(target=work, args=(a,)) for a in (1, 2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    work(3)
"""


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_launches_of_processes_that_the_script_starts_are_compared(run, gpu, how):
    script = run.write(PROCESSES)
    command = "-m", "cudasim.command_line", "compare", "--json", "report.json", "--html", "report.html"
    done = run(*command, script, how, **gpu())
    assert done.returncode == 0, done.stderr
    launches = json.loads((run.folder / "report.json").read_text())["launches"]
    assert [(launch["number"], launch["verdict"]) for launch in launches] == [(1, "same")] * 3
    assert "process" not in launches[0] and len({launch["process"] for launch in launches[1:]}) == 2
    assert f"Launch 1 of process {launches[1]['process']}: saxpy" in done.stderr
    done = run(*command, script, how, **gpu("flip=p4+1031.6"))
    assert done.returncode == 1
    launches = json.loads((run.folder / "report.json").read_text())["launches"]
    assert [launch["verdict"] for launch in launches] == ["different"] * 3
    assert launches[2]["arrays"][1]["elements"][0]["writes"][0]["thread"] == [1, 0, 0]


@pytest.mark.parametrize("command", ["compare", "record"])
def test_a_kernel_that_is_not_launched_is_told_with_those_that_are(run, gpu, command):
    script = run.write(SCRIPT)
    output = ("-o", "run.cudasim") if command == "record" else ()
    done = run("-m", "cudasim.command_line", command, *output, "--kernel", "saxby", script, **gpu())
    assert "the script's own process launched no kernel saxby, but saxpy, square" in done.stderr, done.stderr


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_reports_that_cannot_be_written_are_refused_before_the_script_runs(run, gpu, option):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim.command_line", "compare", option, "/nowhere/report", script, **gpu())
    assert done.returncode == 2 and not done.stdout, done.stdout
    assert "cudasim compare: cannot write /nowhere/report: No such file or directory" in done.stderr


NESTED = """
import json, os, sys, threading
import numpy as np
import cudasim
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

x, y = np.arange(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)
os.chdir("/")
one = cudasim.compare(saxpy[4, 256], 2, x, y, raises=False)
with cudasim.compare_with_gpu(raises=False) as two:
    saxpy[4, 256](2, x, y)
saxpy[4, 256](2, x, y)
print(one.verdicts, two.verdicts)
"""


@pytest.mark.parametrize("how", ["command", "option"])
def test_comparisons_of_a_script_are_inside_of_that_of_the_program(run, gpu, how):
    script = run.write(NESTED)
    if how == "command":
        done = run("-m", "cudasim.command_line", "compare", "--json", "report.json", script, **gpu())
        launches = json.loads((run.folder / "report.json").read_text())["launches"]
        assert [(launch["number"], launch["verdict"]) for launch in launches] == [
            (n, "same") for n in (1, 2, 3)
        ]
    else:
        done = run(script, **gpu(CUDASIM_GPU="compare"))
        assert "launches compared with Stand-in GPU A: 3 same" in done.stderr
    assert done.returncode == 0 and done.stdout == "['same'] ['same']\n", done.stderr


def test_differences_that_the_script_takes_itself_are_in_the_report_of_the_command(run, gpu):
    done = run("-m", "cudasim.command_line", "compare", run.write(NESTED), **gpu("flip@1=p4+1031.6"))
    assert done.returncode == 1 and "3 launches: 1 different, 2 same" in done.stderr, done.stderr


@pytest.mark.alone
def test_a_launch_belongs_to_the_comparison_in_which_it_began(run, gpu):
    program = """
import threading, time
import numpy as np
import cudasim
from numba import cuda

@cuda.jit
def long(x, n):
    value = x[0]
    for _ in range(n):
        value = value * 3 + 1
    x[0] = value

begun = threading.Event()

def work():
    begun.set()
    long[1, 1](np.ones(1, np.uint64), 300_000_000)

thread = threading.Thread(target=work)
with cudasim.compare_with_gpu() as found:
    thread.start()
    begun.wait()
    time.sleep(0.1)
with cudasim.compare_with_gpu() as other:
    thread.join()
print(found.verdicts, other.verdicts)
"""
    done = run.script(program, **gpu())
    assert done.stdout == "['same'] []\n", done.stdout + done.stderr


def test_files_of_tests_with_like_names_are_kept_apart(run, gpu):
    pathlib.Path(run.folder / "test_it.py").write_text("""
import numpy as np
import pytest
from numba import cuda

@cuda.jit
def inc(x):
    x[0] += 1

@pytest.mark.parametrize("name", ["a/b", "a-b", "a b", "a:b", "plain"])
def test_inc(name):
    inc[1, 1](np.zeros(1))
""")
    done = run("-m", "pytest", "-q", "--cudasim", "--cudasim-record-gpu", "runs", "test_it.py", **gpu())
    assert done.returncode == 0, done.stdout
    names = sorted(path.name for path in (run.folder / "runs").iterdir())
    assert len(names) == 5 and "test_it.py-test_inc-plain.cudasim" in names, names


def test_recorded_processes_end_quietly(run, gpu):
    script = run.write(PROCESSES)
    done = run("-m", "cudasim.command_line", "record", "-o", "run.cudasim", script, "spawn", **gpu())
    assert done.returncode == 0 and "Exception" not in done.stderr and "Traceback" not in done.stderr, (
        done.stderr
    )


def test_json_and_html_are_two_files(run, gpu):
    script = run.write(SCRIPT)
    done = run("-m", "cudasim.command_line", "compare", "--json", "x", "--html", "x", script, **gpu())
    assert done.returncode == 2 and "name the same file, x" in done.stderr

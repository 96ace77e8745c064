"""The program cudasim-gpu-run as people use it, on the stand-in for NVIDIA's driver (tests/gpu_backend/libcuda/stand_in)."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import cudasim
import pytest
from cudasim import _native
from stand_in_driver import STAND_IN

ROOT = pathlib.Path(cudasim.__file__).resolve().parents[3]
PROGRAM = pathlib.Path(_native.find_gpu_runner() or "/nowhere")

pytestmark = [
    pytest.mark.skipif(not PROGRAM.exists(), reason="cudasim-gpu-run is not built"),
    pytest.mark.skipif(not STAND_IN.exists(), reason="the stand-in driver is not built"),
]

#: Four launches; in the third the simulator finds an error, the fourth prints.
RECORDED = """
import sys
import numpy as np
import cudasim
from cudasim import _native
from cudasim.recording.recorder import Recorder
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

@cuda.jit
def beyond(x):
    x[cuda.grid(1)] = 1

@cuda.jit
def printing(x):
    print("hello from", cuda.grid(1))

writer = _native.RecordWriter(sys.argv[1])

def take(record):
    _native.add_gpu_code(record, "sm_75")
    writer.add(record)

x, y = np.arange(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)
with Recorder(take, None, print, keep_after=True).in_force():
    saxpy[4, 256](2, x, y)
    saxpy[4, 256](3, x, y)
    try:
        beyond[1, 1001](x)
    except IndexError:
        pass
    printing[1, 2](x)
writer.close()
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "script.py").write_text(RECORDED)
    environment = {**os.environ, "ENABLE_CUDASIM": "1"}
    done = subprocess.run(
        [sys.executable, "script.py", "run.cudasim"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder / "run.cudasim"


@pytest.fixture
def program(tmp_path):
    """Runs the program with nothing in its environment but what names the driver."""

    def run(*arguments, planted="", driver=STAND_IN, timeout=60):
        return subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=tmp_path,
            env={"CUDASIM_LIBCUDA": str(driver), "CUDASIM_TEST_LIBCUDA": planted, "PATH": "/nonexistent"},
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


def result_file(folder):
    return _native.GpuResultFile(str(folder / "gpu.cudasim"))


def statuses(folder):
    file = result_file(folder)
    assert file.finished
    return [(file.result(i).number, file.result(i).status) for i in range(file.results)]


def test_help_names_the_arguments_and_the_exit_codes(program):
    done = program("--help")
    assert done.returncode == 0 and done.stderr == ""
    for word in (
        "RECORD",
        "--output",
        "--launches",
        "--time-limit",
        "--with-faulting",
        "--gpus",
        "--version",
    ):
        assert word in done.stdout
    assert "--serve" not in done.stdout  # for cudasim itself
    assert re.search(r"10 no driver,\s+11 a broken one,\s+12 no GPU,\s+13 driver or GPU too old", done.stdout)


def test_the_version_is_that_of_cudasim(program):
    assert program("--version").stdout == cudasim.__version__ + "\n"


@pytest.mark.parametrize(
    "planted, driver, status, words",
    [
        ("", STAND_IN, 0, "GPU: Stand-in GPU A, compute capability 9.0"),
        ("", "/nowhere/libcuda.so.1", 10, "GPU: none: CUDASIM_LIBCUDA names /nowhere/libcuda.so.1"),
        ("cuInit=999", STAND_IN, 11, "CUDA_ERROR_UNKNOWN"),
        ("devices=0", STAND_IN, 12, "finds no GPU"),
        ("version=10020", STAND_IN, 13, "is too old: it has CUDA 10.2"),
        ("capabilities=6.1", STAND_IN, 13, "compute capability 6.1"),
    ],
)
def test_gpus_are_listed_and_the_exit_code_says_why_there_is_none(
    program, recorded, planted, driver, status, words
):
    done = program("--gpus", planted=planted, driver=driver)
    assert (done.returncode, done.stderr) == (status, "")
    assert words in done.stdout
    if status:
        done = program(recorded, "-o", "gpu.cudasim", planted=planted, driver=driver)
        assert done.returncode == status and done.stderr.startswith("cudasim-gpu-run: "), done.stderr


def test_a_file_of_records_becomes_a_file_of_results(program, recorded, tmp_path):
    done = program(recorded, "-o", "gpu.cudasim")
    assert done.returncode == 1, done.stderr  # the third launch did not run
    lines = done.stdout.splitlines()
    assert re.fullmatch(r"#1 saxpy: ran, \d+\.\d{3} ms by the GPU's events", lines[0])
    assert lines[2].startswith("#3 beyond: refused: the simulator found an error in it: ")
    assert lines[2].endswith("(--with-faulting runs it all the same)")
    assert statuses(tmp_path) == [(1, "ran"), (2, "ran"), (3, "refused"), (4, "ran")]
    results, records = result_file(tmp_path), _native.RecordReader(str(recorded))
    for number in (0, 1):
        record = records.read(number)
        outcome = results.outcome(number, record)
        for i, entry in enumerate(record.memory):
            after = outcome.content(i)
            assert after is None or after == record.content(i, True), entry
    assert sorted(results.result(3).printed.decode().splitlines()) == ["hello from 0", "hello from 1"]


def test_launches_with_errors_run_on_request(program, recorded, tmp_path):
    done = program(recorded, "-o", "gpu.cudasim", "--with-faulting", "--launches", "3")
    assert statuses(tmp_path) == [(3, "ran")], done.stdout  # its checks end the thread
    assert done.returncode == 0


@pytest.mark.parametrize(
    "launches, numbers",
    [("2", [2]), ("1..2", [1, 2]), ("2..", [2, 3, 4]), ("..2", [1, 2]), ("4..99", [4])],
)
def test_launches_are_chosen_by_number(program, recorded, tmp_path, launches, numbers):
    program(recorded, "-o", "gpu.cudasim", "--launches", launches)
    assert [number for number, _ in statuses(tmp_path)] == numbers


@pytest.mark.parametrize("launches", ["", "0", "x", "..", "3..2", "-1", "1...2", "1..2..3", "1 ..2"])
def test_what_names_no_launches_is_refused(program, recorded, tmp_path, launches):
    done = program(recorded, "-o", "gpu.cudasim", f"--launches={launches}")
    assert done.returncode == 2, done.stdout
    assert not (tmp_path / "gpu.cudasim").exists()


def test_launches_that_are_not_in_the_file_are_refused(program, recorded, tmp_path):
    done = program(recorded, "-o", "gpu.cudasim", "--launches", "7..9")
    assert done.returncode == 2
    assert done.stderr == "cudasim-gpu-run: none of the launches 1..4 of the file was asked for\n"


@pytest.mark.parametrize("limit", ["0", "-1", "x", "nan"])
def test_time_limits_are_positive_numbers(program, recorded, limit):
    done = program(recorded, "-o", "gpu.cudasim", "--time-limit", limit)
    assert done.returncode == 2 and "time-limit" in done.stderr, done.stderr


def test_a_kernel_that_hangs_is_ended_and_the_next_one_runs(program, recorded, tmp_path):
    settings = tmp_path / "settings"
    settings.write_text("hang_kernel@1=1")
    done = program(
        recorded, "-o", "gpu.cudasim", "--time-limit", "0.3", "--launches", "1..2", planted=f"@{settings}"
    )
    assert done.returncode == 1
    # A process of its own counts its launches from 1.
    assert "#1 saxpy: timed-out: the kernel was not over after 0.3 seconds" in done.stdout
    assert [status for _, status in statuses(tmp_path)] == ["timed-out", "timed-out"]


@pytest.mark.parametrize(
    "planted, words",
    [
        ("cuLaunchKernelEx=700", "faulted: cuLaunchKernelEx returned CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
        ("cuMemCreate=2", "failed: cuMemCreate returned CUDA_ERROR_OUT_OF_MEMORY (2)"),
        ("crash=cuLaunchKernelEx", "lost: the process that runs the kernel was ended by signal 11"),
        ("virtual_memory=0", "refused: the GPU has no virtual memory management"),
    ],
)
def test_failures_are_told_for_each_launch(program, recorded, tmp_path, planted, words):
    done = program(recorded, "-o", "gpu.cudasim", "--launches", "1..2", planted=planted)
    assert done.returncode == 1
    assert [line.split(": ", 1)[1].startswith(words) for line in done.stdout.splitlines()] == [True, True], (
        done.stdout
    )
    assert len(statuses(tmp_path)) == 2


def test_stray_writes_are_told(program, recorded):
    done = program(recorded, "-o", "gpu.cudasim", "--launches", "1", planted="put=p4+4004:77")
    assert done.stdout.endswith("; it wrote 1 bytes outside of every allocation\n")


@pytest.mark.parametrize("arguments", [[], ["run.cudasim"], ["-o", "gpu.cudasim"]])
def test_without_input_or_output_it_says_how_it_is_used(program, arguments):
    done = program(*arguments)
    assert done.returncode == 2 and "cudasim-gpu-run run.cudasim -o gpu.cudasim" in done.stderr


@pytest.mark.parametrize("arguments", [["--nonsense"], ["a", "b", "-o", "c"], ["--serve", "x"]])
def test_wrong_arguments_are_refused(program, arguments):
    assert program(*arguments).returncode != 0


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "cannot read input: No such file or directory"),
        (b"", "this is not a file of records, or it is damaged"),
        (b"\x7fELF" * 100, "this is not a file of records, or it is damaged"),
        (b"CUDASIM GPU RUN\n" + bytes([1]) + bytes(7), "this is a file of a GPU's results, not a file of records"),
        (b"CUDASIM RECORD\r\n" + bytes([3]) + bytes(7), "has version 3, this cudasim reads version 2: a newer one wrote it"),
        (b"CUDASIM RECORD\r\n" + bytes([2]) + bytes(7), "has no launches for a GPU"),
    ],
)  # fmt: skip
def test_input_that_is_no_record_for_a_gpu_is_refused(program, tmp_path, content, words):
    if content is not None:
        (tmp_path / "input").write_bytes(content)
    done = program("input", "-o", "gpu.cudasim")
    assert done.returncode == 2 and words in done.stderr, done.stderr
    assert not (tmp_path / "gpu.cudasim").exists()


def test_a_record_made_before_gpus_were_known_has_nothing_for_one(program):
    done = program(ROOT / "tests/simulator/driver/seeds/run.cudasim", "-o", "gpu.cudasim")
    assert done.returncode == 2 and "has no launches for a GPU" in done.stderr


@pytest.mark.parametrize("output", ["/nowhere/gpu.cudasim", "/proc/version", "."])
def test_output_that_cannot_be_written_is_named(program, recorded, output):
    done = program(recorded, "-o", output)
    assert done.returncode == 2 and f"cannot write {output}: " in done.stderr, done.stderr


def test_the_input_is_not_replaced(program, recorded, tmp_path):
    before = recorded.read_bytes()
    (tmp_path / "link").symlink_to(recorded)
    done = program(recorded, "-o", "link")
    assert done.returncode == 2 and "the results would replace" in done.stderr
    assert recorded.read_bytes() == before


def children_of(process):
    return [int(pid) for pid in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_there(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("planted", ["hang_kernel=1", "hang=cuModuleLoadDataEx"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_whoever_ends_it_ends_its_child_too(recorded, tmp_path, planted, how):
    process = subprocess.Popen(
        [PROGRAM, recorded, "-o", tmp_path / "gpu.cudasim"],
        env={"CUDASIM_LIBCUDA": str(STAND_IN), "CUDASIM_TEST_LIBCUDA": planted},
    )
    begin = time.monotonic()
    while not (children := children_of(process.pid)):
        assert time.monotonic() < begin + 20
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(how)
    assert process.wait(10) == -how
    begin = time.monotonic()
    while any(map(is_there, children)):
        assert time.monotonic() < begin + 10
        time.sleep(0.05)
    assert not result_file(tmp_path).finished

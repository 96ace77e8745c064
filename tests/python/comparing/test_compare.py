"""cudasim.compare() and compare_with_gpu(): launches beside the same launches on a GPU."""

import json

import pytest

SAXPY = """
import json, sys, warnings
import numpy as np
import cudasim
from numba import cuda

@cuda.jit
def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]

x = np.arange(1000, dtype=np.float32)
y = np.ones(1000, dtype=np.float32)
"""


def report_of(done):
    """The JSON that the program prints last."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_launch_that_leaves_the_same_is_the_same(run, gpu):
    done = run.script(
        SAXPY
        + "found = cudasim.compare(saxpy[4, 256], 2, x, y)\nprint(found.verdicts, y[7])\nprint(json.dumps(found.report))",
        **gpu(),
    )
    report = report_of(done)
    assert done.stdout.splitlines()[0] == "['same'] 15.0"
    (launch,) = report["launches"]
    assert launch["status"] == "ran" and launch["gpu"]["name"].startswith("Stand-in GPU")
    assert [(array["name"], array["verdict"]) for array in launch["arrays"]] == [("x", "same"), ("y", "same")]
    assert launch["where"]["line"] == 15 and launch["milliseconds"] >= 0


def test_a_flipped_bit_is_found_in_its_element_with_its_writer(run, gpu):
    program = (
        SAXPY
        + """
try:
    cudasim.compare(saxpy[4, 256], 2, x, y)
except cudasim.GpuDifference as difference:
    print(y[7])
    print(str(difference), file=sys.stderr)
    print(json.dumps(difference.report))
"""
    )
    done = run.script(program, **gpu("flip=p4+1028.6"))
    report = report_of(done)
    assert done.stdout.splitlines()[0] == "15.0"  # the simulator's results are there
    (array,) = [each for each in report["launches"][0]["arrays"] if each["verdict"] == "different"]
    assert array["name"] == "y" and array["mismatched"] == 1
    (element,) = array["elements"]
    assert element["index"] == [257]
    (write,) = element["writes"]
    assert (write["thread"], write["block"], write["line"]) == ([1, 0, 0], [1, 0, 0], 11)
    assert float(write["value"]) == 515.0
    reads = {read["name"]: read for read in element["reads"]}
    assert reads["x"]["index"] == [257] and float(reads["x"]["value"]) == 257.0
    assert float(reads["y"]["value"]) == 1.0
    assert "y[257]" in done.stderr or "(257,)" in done.stderr


def test_a_difference_nobody_catches_ends_the_program_at_the_launch(run, gpu):
    done = run.script(SAXPY + "cudasim.compare(saxpy[4, 256], 2, x, y)", **gpu("flip=p4+1028.6"))
    assert done.returncode == 1
    assert "GpuDifference" in done.stderr and "line 15, in <module>" in done.stderr


@pytest.mark.parametrize(
    "tolerance, verdict",
    [("", "close"), ("exact=True", "different"), ("ulp=1", "close"), ("rtol=0, atol=0", "different"),
     ("exact=True, tolerances={'y': {'ulp': 1}}", "close")],
)  # fmt: skip
def test_tolerances(run, gpu, tolerance, verdict):
    program = (
        SAXPY
        + f"""
found = cudasim.compare(saxpy[4, 256], 2, x, y, raises=False{", " + tolerance if tolerance else ""})
print(json.dumps(found.report))
"""
    )
    launch = report_of(run.script(program, **gpu("flip=p4+1028.0")))["launches"][0]
    assert launch["verdict"] == verdict


@pytest.mark.parametrize(
    "tolerance, message",
    [("rtol=-1", "rtol of the arrays is -1"), ("exact=True, ulp=3", "leave out either exact or ulp"), ("tolerances={'z': {}}", "has the arrays: x, y"),
     ("tolerances={'y': {'reltol': 1}}", "has reltol")],
)  # fmt: skip
def test_wrong_tolerances_are_refused(run, gpu, tolerance, message):
    done = run.script(SAXPY + f"cudasim.compare(saxpy[4, 256], 2, x, y, {tolerance})", **gpu())
    assert done.returncode == 1 and message in done.stderr, done.stderr


def test_all_launches_of_a_block_are_compared(run, gpu):
    program = (
        SAXPY
        + """
with cudasim.compare_with_gpu() as found:
    for _ in range(3):
        saxpy[4, 256](2, x, y)
print(json.dumps(found.report))
saxpy[4, 256](2, x, y)
assert len(found.verdicts) == 3
"""
    )
    report = report_of(run.script(program + "print(json.dumps(found.report))", **gpu()))
    assert [launch["verdict"] for launch in report["launches"]] == ["same"] * 3
    assert [launch["number"] for launch in report["launches"]] == [1, 2, 3]


def test_a_write_behind_the_end_shows(run, gpu):
    program = SAXPY + "print(json.dumps(cudasim.compare(saxpy[4, 256], 2, x, y, raises=False).report))"
    launch = report_of(run.script(program, **gpu("put=p4+4004:77")))["launches"][0]
    assert launch["verdict"] == "different"
    (write,) = launch["outside"]
    assert write["bytes"] == 1 and write["near"].startswith("4 bytes behind the end of ")


def test_global_variables_and_pointers_in_memory_hold(run, gpu):
    program = """
    import json
    import numpy as np, cudasim
    from numba import cuda

    TABLE = np.arange(8, dtype=np.float64) * 1.5

    @cuda.jit
    def k(x):
        table = cuda.const.array_like(TABLE)
        i = cuda.grid(1)
        if i < x.size:
            x[i] = table[i % 8]
            if i == 3:
                print("thread", i, x[i])

    x = np.zeros(100)
    print(json.dumps(cudasim.compare(k[2, 64], x).report))
    """
    launch = report_of(run.script(program, **gpu()))["launches"][0]
    assert launch["verdict"] == "same", launch
    assert launch["printed"]["lines"] == {"simulated": 1, "gpu": 1}


@pytest.mark.parametrize(
    "planted, status, word",
    [("cuLaunchKernelEx=719", "failed", "CUDA_ERROR_LAUNCH_FAILED"), ("cuMemCreate=2", "failed", "CUDA_ERROR_OUT_OF_MEMORY"),
     ("crash=cuLaunchKernelEx", "failed", "signal 11"), ("hang_kernel=1", "failed", "not over after")],
)  # fmt: skip
def test_a_gpu_that_fails_is_told_and_the_program_lives(run, gpu, planted, status, word):
    program = (
        SAXPY
        + """
for attempt in range(2):
    try:
        found = cudasim.compare(saxpy[4, 256], 2, x, y, raises=False)
        print(json.dumps(found.report["launches"][0]))
    except cudasim.errors.NotComparedError as error:
        print(json.dumps(error.launch))
"""
    )
    done = run.script(program, **gpu(planted, CUDASIM_GPU_TIME_LIMIT="0.3"))
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        launch = json.loads(line)
        assert launch["status"] == status and word in launch["message"], launch


@pytest.mark.parametrize(
    "variables, status, words",
    [({"CUDASIM_LIBCUDA": "/nowhere/libcuda.so.1"}, 11, "/nowhere"), ({"CUDASIM_TEST_LIBCUDA": "devices=0"}, 12, "no"),
     ({"CUDASIM_TEST_LIBCUDA": "version=10020"}, 13, "10.2"), ({"CUDASIM_TEST_LIBCUDA": "crash=cuInit"}, 11, "signal")],
)  # fmt: skip
def test_without_a_gpu_the_error_says_why(run, gpu, variables, status, words):
    program = (
        SAXPY
        + """
try:
    cudasim.compare(saxpy[4, 256], 2, x, y)
except cudasim.errors.NoGpuError as error:
    print(error.exit_status, error)
"""
    )
    done = run.script(program, **{**gpu(), **variables})
    assert done.stdout.startswith(f"{status} ") or status == 11 and done.stdout.startswith("10 "), (
        done.stdout + done.stderr
    )
    assert words in done.stdout


def test_an_error_on_the_simulator_is_raised_and_not_sent(run, gpu):
    program = (
        SAXPY
        + """
@cuda.jit
def beyond(x):
    x[cuda.grid(1)] = 1

with cudasim.compare_with_gpu() as found:
    try:
        beyond[1, 1001](x)
    except IndexError as error:
        print(error)
print(json.dumps(found.report))
"""
    )
    launch = report_of(run.script(program, **gpu()))["launches"][0]
    assert launch["status"] == "not-compared" and "the simulator found an error" in launch["message"]


def test_faults_that_both_sides_have_are_the_same(run, gpu):
    program = (
        SAXPY
        + """
@cuda.jit
def indirect(where, x):
    i = cuda.grid(1)
    x[where[i]] = i

where = np.arange(64)
where[[40, 7]] = 64, -65
with cudasim.compare_with_gpu(also_faulting=True) as found:
    try:
        indirect[2, 32](where, np.zeros(64))
    except IndexError as error:
        print(error)
print(json.dumps(found.report))
"""
    )
    done = run.script(program, **gpu())
    launch = report_of(done)["launches"][0]
    assert launch["verdict"] == "same", launch
    (first,) = launch["faults"]  # of each place the lowest thread, as in the simulator's reports
    assert done.stdout.startswith("tid=[7, 0, 0] ctaid=[0, 0, 0]: index -65 is out of bounds")
    assert (first["thread"], first["where"]["line"]) == (
        [7, 0, 0],
        19,
    ) and "index -65 is out of bounds" in first["message"]


def test_an_array_from_outside_of_the_kernel_is_sent(run, gpu):
    program = (
        SAXPY
        + """
outside = cuda.to_device(np.arange(3.0))

@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    out[i] = 2 * outside[i]
    outside[i] = 10

print(json.dumps(cudasim.compare(kernel[1, 3], np.zeros(3), raises=False).report))
"""
    )
    launch = report_of(run.script(program, **gpu()))["launches"][0]
    assert launch["verdict"] == "same" and launch["outside"] == []


def test_memory_of_another_device_is_not_sent(run, gpu):
    program = (
        SAXPY
        + """
with cuda.gpus[1]:
    peer, there = cuda.current_context(), cuda.to_device(y)
cuda.current_context().enable_peer_access(peer)
with cudasim.compare_with_gpu() as found:
    saxpy[4, 256](2, x, there)
print(there[7])
print(json.dumps(found.report))
"""
    )
    done = run.script(program, **gpu(CUDASIM_DEVICE="h100,h100"))
    launch = report_of(done)["launches"][0]
    assert done.stdout.startswith("15.0")
    assert launch["status"] == "refused" and "memory of another device" in launch["message"], launch


@pytest.mark.alone
def test_lines_that_a_gpu_loses_are_told(run, gpu):
    program = (
        SAXPY
        + """
@cuda.jit
def says(x):
    i = cuda.grid(1)
    print("a line of such a length that all of them do not fit into the buffer of a GPU, 16 MiB", i, x[i])

sys.stdout, out = sys.stderr, sys.stdout
found = cudasim.compare(says[1000, 256], np.zeros(256000), raises=False)
print(json.dumps(found.report), file=out)
"""
    )
    done = run.script(program, **gpu())
    launch = report_of(done)["launches"][0]
    (explanation,) = launch["explanations"]
    assert "fewer lines" in explanation["text"] and "what is printed" in explanation["text"], explanation


def test_accesses_of_fields_and_parts_have_their_values(run, gpu):
    program = (
        SAXPY
        + """
POINT = np.dtype([("id", np.int32), ("at", [("x", np.float32), ("y", np.float32)], (2,)), ("z", np.complex64)], align=True)

@cuda.jit
def move(points, from_):
    i = cuda.threadIdx.x
    for step in range(20):
        points[i].at[1].y = from_[i].at[0].x + step
    points[i].z = complex(from_[i].at[0].x, 2.5)

points, from_ = np.zeros(8, POINT), np.zeros(8, POINT)
from_["at"]["x"] = 1.5
print(json.dumps(cudasim.compare(move[1, 8], points, from_, raises=False).report))
"""
    )
    done = run.script(program, **gpu("flip=p0+44.6;flip=p0+51.6"))
    launch = report_of(done)["launches"][0]
    (array,) = [each for each in launch["arrays"] if each["verdict"] == "different"]
    fields = {element["field"]: element for element in array["elements"]}
    assert set(fields) == {"at[1].y", "z"}, fields
    element = fields["at[1].y"]
    assert element["total_writes"] == 20 and element["index"] == [1]
    assert {write["field"] for write in element["writes"]} == {"at[1].y"}
    assert float(element["writes"][-1]["value"]) == 20.5
    read = element["reads"][0]
    assert (read["name"], read["index"], read["field"], float(read["value"])) == (
        "from_",
        [1],
        "at[0].x",
        1.5,
    )
    parts = {write["field"]: float(write["value"]) for write in fields["z"]["writes"]}
    assert parts == {"z.real": 1.5, "z.imag": 2.5}, fields["z"]["writes"]
    assert "at[0].x" in {read.get("field") for read in fields["z"]["reads"]}  # of the real part


def test_whole_records_are_read(run, gpu):
    program = (
        SAXPY
        + """
TRIPLE = np.dtype([("a", "f8"), ("b", "f8"), ("c", "f8")])
PAIR = np.dtype([("a", "f4"), ("b", "i4")])

@cuda.jit
def copy(to, source):
    to[cuda.threadIdx.x] = source[cuda.threadIdx.x]

for dtype in (TRIPLE, PAIR):
    to, source = np.zeros(4, dtype), np.ones(4, dtype)
    print(json.dumps(cudasim.compare(copy[1, 4], to, source, raises=False).report))
"""
    )
    done = run.script(program, **gpu("flip=p0+3.6"))
    assert done.returncode == 0, done.stderr
    values = []
    for line in done.stdout.splitlines():
        (array,) = [
            each for each in json.loads(line)["launches"][0]["arrays"] if each["verdict"] == "different"
        ]
        read = array["elements"][0]["reads"][0]
        assert (read["name"], read["index"], read.get("field")) == ("source", [0], None), read
        values.append(read["value"])
    assert values[0].endswith("(the first 16 of 24 bytes)") and values[1] in ("(1., 1)", "(1.0, 1)"), values


def test_zeros_of_the_other_sign_are_told(run, gpu):
    program = SAXPY + "print(cudasim.compare(saxpy[4, 256], 0, x, np.zeros(1000, np.float32)))"
    done = run.script(program, **gpu("flip=p4+3.7"))
    assert "1 zeros have the other sign" in done.stdout, done.stdout + done.stderr


def test_launches_that_are_deferred_raise_at_the_end(run, gpu):
    program = (
        SAXPY
        + """
stream = cuda.stream()
x, y = cuda.to_device(x), cuda.to_device(y)
for way in (1, 2):
    try:
        if way == 1:
            cudasim.compare(saxpy[4, 256, stream], 2, x, y)
        else:
            with cudasim.compare_with_gpu():
                saxpy[4, 256, stream](2, x, y)
    except cudasim.GpuDifference as difference:
        print(len(difference.report["launches"]))
"""
    )
    done = run.script(program, **gpu("flip=p4+1031.6", CUDASIM_DEFERRED="1"))
    assert done.stdout == "1\n1\n", done.stdout + done.stderr


def test_host_threads_have_comparisons_of_their_own(run, gpu):
    program = (
        SAXPY
        + """
import threading

verdicts = {}

def work(number):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, dtype=np.float32)
    with cudasim.compare_with_gpu() as found:
        for _ in range(number + 1):
            saxpy[4, 256](number, x, y)
    one = cudasim.compare(saxpy[4, 256], 2, x, y)
    verdicts[number] = [len(found.verdicts), len(one.verdicts)]

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(verdicts))
"""
    )
    assert report_of(run.script(program, **gpu())) == {str(number): [number + 1, 1] for number in range(4)}


def test_kernels_in_python_mode_warn_at_their_launch(run, gpu):
    done = run.script(
        SAXPY + "saxpy[4, 256](2, x, y)\nprint(y[7])", **gpu(CUDASIM_GPU="compare", CUDASIM_MODE="python")
    )
    assert done.returncode == 0 and done.stdout == "15.0\n"
    assert "script.py:15: NotComparedWarning: a launch of saxpy was not compared" in done.stderr, done.stderr
    assert "1 not-compared" in done.stderr

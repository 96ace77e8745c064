"""`cudasim record`, `replay` and `show`, and `pytest --cudasim-record`: launches come out the same in another process, and what differs is
said.
"""

import json
import pathlib
import re
import types

import pytest
from cudasim import errors
from python_mode_required import needs_python_mode

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"

SAXPY = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] += a * x[i]
        if i == 2:
            print("two", y[i])

    @cuda.jit
    def other(y):
        y[0] = 1

    x, y = np.arange(10.0), np.ones(10)
    for round in range(3):
        saxpy[2, 8](np.float32(round), x, y)
    other[1, 1](y)
"""


def program(run, *arguments, **variables):
    return run("-m", "cudasim.command_line", *arguments, **variables)


def recorded(run, script, *options):
    """A file of the launches of a script."""
    done = program(run, "record", "-o", "run.cudasim", *options, run.write(script))
    assert "are in run.cudasim" in done.stderr, done.stderr
    return done


def launches(run, *arguments):
    done = program(run, "show", "run.cudasim", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["launches"]


def test_launches_are_reproduced_in_another_process(run):
    done = recorded(run, SAXPY)
    assert done.returncode == 0 and done.stdout == "two 1.000000\ntwo 3.000000\ntwo 7.000000\n"
    again = program(run, "replay", "run.cudasim")
    assert again.returncode == 0, again.stderr
    verdicts = [line for line in again.stdout.splitlines() if line.startswith("#")]
    assert verdicts == [
        *(f"#{k} saxpy<<<(2, 1, 1), (8, 1, 1)>>>: reproduced to the bit" for k in (1, 2, 3)),
        "#4 other<<<(1, 1, 1), (1, 1, 1)>>>: reproduced to the bit",
    ]
    assert again.stdout.count("two ") == 3


def test_launches_are_chosen_by_kernel_and_number(run):
    recorded(run, SAXPY, "--kernel", "saxpy", "--launch", "2..3")
    assert [(each["number"], each["kernel"]) for each in launches(run)] == [(2, "saxpy"), (3, "saxpy")]
    assert len(launches(run, "--launch", "3..")) == 1
    done = program(run, "replay", "run.cudasim", "--launch", "1")
    assert (
        done.returncode == 2 and done.stderr == "cudasim replay: run.cudasim has no launch 1; it has: 2, 3\n"
    )


def test_show_tells_arguments_memory_and_what_came_of_it(run):
    recorded(run, SAXPY)
    shown = program(run, "show", "run.cudasim", "--launch", "2", "--sources").stdout
    for part in ("#2 saxpy<<<(2, 1, 1), (8, 1, 1)>>>", "a: float32 = 1.0", "x: array(float64, 1d, C), shape (10,) at 0x",
                 "[0. 1. 2. ... 7. 8. 9.]", "printed 1 lines; the first: two 3.000000", "| def saxpy(a, x, y):"):  # fmt: skip
        assert part in shown, shown


def test_dates_and_differences_of_dates_are_shown(run):
    recorded(
        run,
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def shift(day, by, out):
            out[0] = day + by

        out = np.zeros(1, "M8[h]")
        shift[1, 1](np.datetime64("2020-02-29T00", "h"), np.timedelta64(36, "h"), out)
        """,
    )
    shown = program(run, "show", "run.cudasim").stdout
    assert "day: datetime64[h] = 2020-02-29T00" in shown and "by: timedelta64[h] = 36 hours" in shown, shown
    again = program(run, "replay", "run.cudasim")
    assert again.returncode == 0 and "reproduced to the bit" in again.stdout, again.stderr


def test_a_launch_that_failed_fails_again_with_the_same_report(run):
    script = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def shift(x):
            i = cuda.grid(1)
            x[i] = x[i + 1]

        shift[1, 32](np.arange(32.0))
        """
    done = recorded(run, script)
    message = "IndexError: tid=[31, 0, 0] ctaid=[0, 0, 0]: index 32 is out of bounds for axis 0 with size 32"
    assert done.returncode == 1 and message in done.stderr
    again = program(run, "replay", "run.cudasim")
    assert message in again.stderr and "x[i] = x[i + 1]" in again.stderr
    assert again.returncode == 0 and "reproduced to the bit" in again.stdout
    assert "error: out-of-bounds-index: tid=[31, 0, 0]" in program(run, "show", "run.cudasim").stdout


def test_other_options_show_what_differs(run):
    script = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def last(winner, wins):
            winner[0] = cuda.grid(1)
            wins[cuda.grid(1)] = winner[0]

        last[4, 64](np.zeros(1, np.int64), np.zeros(256, np.int64))
        """
    recorded(run, script, "--after")
    again = program(run, "replay", "run.cudasim", "--policy", "reverse")
    assert again.returncode == 1
    assert "differs from the record with policy=reverse" in again.stdout
    assert re.search(
        r"memory differs after the launch: 'winner' of 8 bytes, in 1 bytes, the first at byte 0", again.stdout
    )
    assert program(run, "replay", "run.cudasim").returncode == 0


def test_an_error_that_several_workers_have_and_one_has_not_is_told(run):
    script = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def wait_for_block_0(flag, x):
            if cuda.blockIdx.x == 0 and cuda.threadIdx.x == 0:
                flag[0] = 1
            cuda.syncthreads()
            assert flag[0] == 1, "block 0 has not run"
            x[cuda.grid(1)] = 1

        wait_for_block_0[2, 32](np.zeros(1), np.zeros(64))
        """
    recorded(run, script)
    again = program(run, "replay", "run.cudasim", "--policy", "reverse", "--workers", "1")
    assert again.returncode == 1
    assert (
        "recorded: none" in again.stdout
        and "now: error: kernel-exception: tid=[0, 0, 0] ctaid=[1, 0, 0]" in again.stdout
    )


def test_pointers_in_memory_and_globals_of_modules_lead_to_what_they_did(run):
    script = """
        import numpy as np
        from numba import cuda
        from numba.cuda.cudadrv import driver

        PTX = '''
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .global .align 8 .u64 total = 5;
        .visible .entry count(.param .u64 pointers)
        {
            .reg .u64 %rd<6>;
            .reg .u32 %r<2>;
            ld.param.u64 %rd1, [pointers];
            ld.global.u64 %rd2, [%rd1];
            ld.global.u64 %rd3, [%rd2];
            ld.global.u64 %rd4, [total];
            add.u64 %rd4, %rd4, %rd3;
            st.global.u64 [total], %rd4;
            st.global.u64 [%rd2], %rd4;
            ret;
        }
        '''
        module = cuda.current_context().create_module_ptx(PTX)
        value = cuda.to_device(np.array([37], np.uint64))
        pointers = cuda.to_device(np.array([value.device_ctypes_pointer.value], np.uint64))
        function = module.get_function("count")
        for _ in range(2):
            driver.launch_kernel(function.handle, 1, 1, 1, 1, 1, 1, 0, 0, [pointers])
        print(value.copy_to_host()[0])
        """
    done = recorded(run, script)
    assert done.stdout == "84\n", done.stderr
    again = program(run, "replay", "run.cudasim")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.count("reproduced to the bit") == 2


def test_streams_cooperative_launches_shared_memory_and_ufuncs(run):
    script = """
        import numpy as np
        from numba import cuda, float32, vectorize
        from cudasim import options

        @cuda.jit
        def neighbours(x, out):
            tile = cuda.shared.array(0, float32)
            tile[cuda.threadIdx.x] = x[cuda.grid(1)]
            cuda.syncthreads()
            out[cuda.grid(1)] = tile[cuda.blockDim.x - 1 - cuda.threadIdx.x]

        @cuda.jit
        def everyone(x):
            x[cuda.grid(1)] = 1
            cuda.cg.this_grid().sync()
            if cuda.grid(1) == 0:
                for i in range(1, x.size):
                    x[0] += x[i]

        @vectorize(["float64(float64, float64)"], target="cuda")
        def hypotenuse(a, b):
            return (a * a + b * b) ** 0.5

        with options.override(deferred=True):
            stream = cuda.stream()
            x = cuda.to_device(np.arange(64, dtype=np.float32), stream)
            out = cuda.device_array_like(x, stream)
            neighbours[2, 32, stream, 128](x, out)
            stream.synchronize()
        everyone[2, 32](np.zeros(64))
        hypotenuse(np.arange(10.0), np.ones(10))
        print(out.copy_to_host()[:3], cuda.reduce(lambda a, b: a + b)(np.arange(1000.0)))
        """
    done = recorded(run, script)
    assert done.returncode == 0 and done.stdout == "[31. 30. 29.] 499500.0\n", done.stdout + done.stderr
    names = [each["kernel"] for each in launches(run)]
    assert {"neighbours", "everyone"} <= set(names) and len(names) >= 4, names
    again = program(run, "replay", "run.cudasim")
    assert again.returncode == 0, again.stdout + again.stderr
    assert again.stdout.count("reproduced to the bit") == len(names)


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_all_examples_are_reproduced(run, example):
    done = program(run, "record", "-o", "run.cudasim", "--launch", "..8", str(EXAMPLES / example))
    assert done.returncode == 0, done.stderr
    files = sorted(pathlib.Path(run.folder).glob("run*.cudasim"))
    assert len(files) == (2 if example == "between_processes.py" else 1)
    verdicts = ""
    for file in files:
        again = program(run, "replay", file, "--trust")
        assert again.returncode == 0, again.stdout + again.stderr
        verdicts += again.stdout
    assert "reproduced to the bit" in verdicts


def test_processes_that_the_script_starts_leave_files_of_their_own(run):
    script = """
        import multiprocessing
        import sys
        import numpy as np
        from numba import cuda

        @cuda.jit
        def add_one(x):
            x[cuda.grid(1)] += 1

        def launch(count):
            for _ in range(count):
                add_one[1, 4](np.zeros(4))

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            process = context.Process(target=launch, args=(2,))
            process.start()
            process.join()
            launch(1)
        """
    for method in ("fork", "spawn"):
        done = program(run, "record", "-o", f"{method}.cudasim", run.write(script), method)
        assert done.returncode == 0, done.stderr
        first, second = sorted(
            pathlib.Path(run.folder).glob(f"{method}*.cudasim"), key=lambda path: len(path.name)
        )
        assert f"a process that the script started left {second.name}" in done.stderr
        assert program(run, "replay", first).stdout.count("reproduced to the bit") == 1
        assert program(run, "replay", second).stdout.count("reproduced to the bit") == 2


PYTHON_MODE = """
    import math
    import numpy as np
    from numba import cuda
    import constants

    TABLE = np.array([10.0, 20.0, 30.0])
    ON_DEVICE = cuda.to_device(np.arange(5.0))
    SETTINGS = {"scale": 2, "name": "x"}
    data = open(__file__)  # no global of the kernel, though an attribute that it uses has this name

    @cuda.jit(device=True)
    def twice(a, by=2):
        return by * a

    def made(offset):
        @cuda.jit
        def kernel(x, n, pair):
            i = cuda.grid(1)
            shared = cuda.shared.array(8, np.float64)
            shared[cuda.threadIdx.x] = i
            cuda.syncthreads()
            if i < x.size:
                x[i] = twice(TABLE[i % 3]) + math.sqrt(n) + offset + ON_DEVICE[i % 5] + SETTINGS["scale"]
                x[i] += constants.GRAVITY + pair[1] + shared[7 - cuda.threadIdx.x]
            if i == 3:
                print(f"three {x[i]}")
        return kernel

    x = np.zeros(16)
    made(0.5)[2, 8](x, 9, (1, 2.5))
    print(x[:2])
"""


@needs_python_mode
class TestPythonMode:
    """Kernels of Python mode are recorded as sources and plain data."""

    def record(self, run, script=PYTHON_MODE):
        run.write("GRAVITY = 9.81\nUNUSED = open(__file__)\n", "constants.py")
        return program(run, "record", "-o", "run.cudasim", "--mode", "python", run.write(script))

    def test_sources_and_plain_data_are_enough(self, run):
        done = self.record(run)
        assert done.returncode == 0 and "1 of 1 launches" in done.stderr, done.stderr
        run.write("raise SystemExit('imported')", "constants.py")
        again = program(run, "replay", "run.cudasim", "--trust")
        assert again.returncode == 0, again.stdout + again.stderr
        assert "reproduced to the bit" in again.stdout and "three " in again.stdout

    def test_python_code_runs_only_where_it_is_trusted(self, run):
        self.record(run)
        again = program(run, "replay", "run.cudasim")
        assert again.returncode == 2 and "say --trust" in again.stderr and again.stdout == ""

    def test_a_global_that_is_no_plain_data_is_named(self, run):
        script = """
            import numpy as np
            from numba import cuda

            class Settings:
                value = 3

            SETTINGS = Settings()

            @cuda.jit
            def kernel(x):
                x[0] = SETTINGS.value

            kernel[1, 1](np.zeros(1))
            """
        done = self.record(run, script)
        assert "SETTINGS is a __main__.Settings, which is not plain data" in done.stderr
        assert "0 of 1 launches" in done.stderr

    def test_an_exception_comes_again_from_the_recorded_source(self, run):
        script = """
            import numpy as np
            from numba import cuda

            @cuda.jit
            def kernel(x):
                if cuda.grid(1) == 3:
                    raise ValueError("three")

            kernel[1, 4](np.zeros(4))
            """
        done = self.record(run, script)
        assert "ValueError: tid=[3, 0, 0] ctaid=[0, 0, 0]: three" in done.stderr, done.stderr
        for file in pathlib.Path(run.folder).glob("*.py"):
            file.write_text("")
        again = program(run, "replay", "run.cudasim", "--trust")
        assert again.returncode == 0, again.stdout + again.stderr
        assert 'raise ValueError("three")' in again.stderr

    def test_pdb_stops_in_the_kernel(self, run):
        self.record(run)
        done = run(
            "-m",
            "cudasim.command_line",
            "replay",
            "run.cudasim",
            "--trust",
            "--pdb",
            input="p cuda.grid(1)\nc\n",
        )
        assert "i = cuda.grid(1)" in done.stdout, done.stdout + done.stderr
        assert "reproduced to the bit" in done.stdout

    def test_other_policies(self, run):
        script = """
            import numpy as np
            from numba import cuda

            @cuda.jit
            def kernel(x):
                x[0] = cuda.grid(1)

            kernel[2, 4](np.zeros(1))
            """
        self.record(run, script)
        assert program(run, "replay", "run.cudasim", "--trust").returncode == 0
        again = program(run, "replay", "run.cudasim", "--trust", "--policy", "reverse")
        assert again.returncode == 1 and "'x' of 8 bytes" in again.stdout


@pytest.mark.parametrize("text", ["no record", "", "CUDASIM RECORD\r\n"])
def test_what_is_no_record_is_refused(run, text):
    run.write(text, "run.cudasim")
    for command in ("replay", "show"):
        done = program(run, command, "run.cudasim")
        assert done.returncode == 2 and done.stderr.startswith(
            f"cudasim {command}: this is not a file of records"
        ), done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["record", "-o", "x.cudasim"], "no script given"),
        (
            ["record", "-o", "/nowhere/x.cudasim", "a.py"],
            "cannot write /nowhere/x.cudasim: No such file or directory",
        ),
        (["record", "-o", "x.cudasim", "--launch", "3-5", "a.py"], "'3-5' is not the number of a launch"),
        (["record", "-o", "x.cudasim", "--launch", "5..3", "a.py"], "names no launch"),
        (["replay", "missing.cudasim"], "cannot read missing.cudasim: No such file or directory"),
    ],
)
def test_wrong_usage_is_told(run, arguments, message):
    run.write("", "a.py")
    done = program(run, *arguments)
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_wrong_options_of_replay_are_told(run):
    recorded(run, SAXPY)
    done = program(run, "replay", "run.cudasim", "--policy", "sideways")
    assert done.returncode == 2 and done.stderr.startswith(
        "cudasim replay: --policy is 'sideways', but has to be"
    ), done.stderr


def test_what_is_enqueued_when_the_script_ends_is_recorded(run):
    script = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def add_one(x):
            x[cuda.grid(1)] += 1

        x = cuda.to_device(np.zeros(4))
        add_one[1, 4, cuda.stream()](x)
        """
    assert "1 of 1 launches" in recorded(run, script, "--deferred").stderr
    assert program(run, "replay", "run.cudasim").returncode == 0


@pytest.mark.parametrize("mode", ["native", pytest.param("python", marks=needs_python_mode)])
def test_recorders_inside_of_each_other_have_their_own_numbers(mode):
    import numpy as np
    from cudasim import _native, cuda, options
    from cudasim.recording.recorder import Recorder, Selection

    @cuda.jit
    def first(x):
        x[cuda.threadIdx.x] += 1

    @cuda.jit
    def second(x):
        x[cuda.threadIdx.x] += 2

    x = cuda.to_device(np.zeros(4))
    outer, inner, raising = [], [], []

    def refuse(record):
        raising.append(record.number)
        raise KeyError(record.number)

    with options.override(mode=mode):
        with Recorder(outer.append).in_force():
            first[1, 4](x)
            with Recorder(inner.append, Selection("second"), keep_after=True).in_force():
                first[1, 4](x)
                second[1, 4](x)
                with Recorder(refuse).in_force(), pytest.raises(KeyError):
                    second[1, 4](x)
            second[1, 4](x)
        assert not _native.recording()
        first[1, 4](x)
    assert [(record.number, record.display_name) for record in outer] == [
        (1, "first"), (2, "first"), (3, "second"), (4, "second"), (5, "second")]  # fmt: skip
    assert [(record.number, record.display_name) for record in inner] == [(1, "second"), (2, "second")]
    assert raising == [1]
    assert [entry["recorded_after"] for entry in inner[0].memory if entry["recorded"]] == [True]
    assert [entry["recorded_after"] for entry in outer[0].memory if entry["recorded"]] == [False]


def test_a_recorder_beside_one_that_the_engine_has_from_elsewhere():
    from cudasim import _native
    from cudasim.recording.recorder import Recorder

    _native.record_launches(lambda name: 0, lambda record, number, why: None)
    try:
        with pytest.raises(RuntimeError, match="are being recorded already"):
            with Recorder(lambda record: None).in_force():
                pass
    finally:
        _native.record_launches(None)


def test_without_a_recorder_nothing_is_kept():
    from cudasim import _native

    assert not _native.recording()
    with pytest.raises(errors.RecordError, match="cannot read"):
        _native.RecordReader("/nowhere")


@pytest.mark.parametrize(
    "name",
    [
        "().__class__.__base__",
        "array(exit(), 1d, C)",
        "UniTuple(" * 3000 + "int8" + " x 2)" * 3000,
        "Tuple(int8",
    ],
)
def test_names_of_types_in_a_record_are_not_evaluated(name, monkeypatch):
    from cudasim.recording.parameters import arguments_of
    from cudasim.type_system import type_names

    def evaluated(text):
        raise AssertionError(text)

    monkeypatch.setattr(type_names, "evaluate", evaluated)
    record = types.SimpleNamespace(arguments=[("x", name)], parameters=bytes(8))
    with pytest.raises(errors.RecordError, match="malformed"):
        arguments_of(record)

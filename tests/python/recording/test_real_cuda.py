"""`cudasim record --real` with the real numba-cuda, whose launches go to a fake GPU: functions of NumPy, by the names of kernels."""

import json
import shutil

import pytest

#: Stands before a script: numba-cuda without a GPU.
FAKE = """
    import ctypes
    import math
    import sys
    import numpy as np
    from numba import cuda, float32, types
    from numba.cuda import dispatcher
    from cudasim.recording import real_cuda

    def fake(configuration, *arguments):
        return COMPUTED[configuration.dispatcher.py_func.__name__](*arguments)

    COMPUTED = {}
    dispatcher._LaunchConfiguration.__call__ = fake
    real_cuda.NumbaCuda.description = "Fake GPU", (9, 0), (13, 0)
    real_cuda.NumbaCuda.synchronize = lambda self: None
    real_cuda.NumbaCuda.read = lambda self, address, count: ctypes.string_at(address, count)
"""
#: Runs the command in a process that has FAKE.
COMMAND = "\n    from cudasim import command_line\n    sys.exit(command_line.main(sys.argv[1:]))\n"

KERNELS = """
    import math
    import sys
    import numba
    import numpy as np
    from numba import cuda, float32, types

    COMPUTED = sys.modules["fakes"].COMPUTED

    @cuda.jit(device=True)
    def square(v):
        return v * v

    @cuda.jit(fastmath=False)
    def mixed(x, total, out):
        tile = cuda.shared.array(32, float32)
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        tile[t] = square(x[i])
        cuda.syncthreads()
        cuda.atomic.add(total, 0, tile[31 - t])
        local = cuda.local.array(2, numba.float64)
        local[0] = math.floor(x[i])
        out[i] = local[0] + types.float32(1) + cuda.laneid + numba.cuda.blockDim.x
        out[i] += cuda.shfl_sync(0xFFFFFFFF, x[i], 3)

    def on_gpu(x, total, out):
        total[0] += (x * x).sum()
        out[:] = x + 1 + np.arange(32) + 32 + 3

    COMPUTED["mixed"] = on_gpu

    @cuda.jit
    def doubled(y):
        y[cuda.grid(1)] *= 2

    def wrongly(y):
        y.value[:] = 7

    COMPUTED["doubled"] = wrongly

    x, total, out = np.arange(32, dtype=np.float32), np.zeros(1, np.float32), np.zeros(32)
    mixed[1, 32](x, total, out)
    print(total[0], out[1], sys.argv[1:])
    y = np.ones(4)
    doubled[1, 4](cuda.InOut(y))
    print(y)
"""


@pytest.fixture
def command(run_with_numba):
    """`cudasim` with the fake GPU."""
    program = run_with_numba.write(
        FAKE + "    sys.modules['fakes'] = sys.modules['__main__']" + COMMAND, "program.py"
    )

    def run(*arguments, **variables):
        return run_with_numba(program, *arguments, **variables)

    run.write = run_with_numba.write
    run.folder = run_with_numba.folder
    return run


def test_a_script_runs_on_the_gpu_and_is_compared_with_the_simulation(command):
    script = command.write(KERNELS)
    done = command("record", "--real", script, "-o", "run.cudasim", "argument")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "10416.0 38.0 ['argument']\n[7. 7. 7. 7.]\n", "what the GPU computed"
    assert done.stderr.strip().splitlines()[-1] == (
        "cudasim record: 2 of 2 launches are in run.cudasim, what the GPU made of them in run.gpu.cudasim"
    )
    diff = command("diff", "run.cudasim", "run.gpu.cudasim", "--exact", "--json", "report.json")
    assert diff.returncode == 1, diff.stdout + diff.stderr
    same, different = json.loads((command.folder / "report.json").read_text())["launches"]
    assert (same["kernel"], same["verdict"]) == ("mixed", "same")
    assert (different["kernel"], different["verdict"]) == ("doubled", "different")
    assert different["arrays"][0]["mismatched"] == 4
    assert different["where"]["file"].endswith("script.py") and "milliseconds" not in different
    replay = command("replay", "run.cudasim")
    assert replay.returncode == 0 and replay.stdout.count("reproduced to the bit") == 2, replay.stdout


def test_chosen_launches_of_a_real_run(command):
    script = command.write(KERNELS)
    done = command("record", "--real", "--kernel", "doubled", "-o", "run.cudasim", script)
    assert "1 of 1 launches of doubled are in run.cudasim" in done.stderr, done.stderr
    shown = command("show", "run.cudasim", "--json")
    assert [launch["kernel"] for launch in json.loads(shown.stdout)["launches"]] == ["doubled"]


@pytest.mark.parametrize(
    "arguments, variables, message",
    [
        (
            "--real --gpu",
            {},
            "--real records what a GPU computes here, --gpu what one is to compute elsewhere",
        ),
        ("--real --mode python", {}, "leave --mode python out"),
        ("--real", {"ENABLE_CUDASIM": "1"}, "--real needs the real numba.cuda"),
        ("--real --launch 0", {}, "names no launch"),
        ("--real --arch mips", {}, "no architecture of a GPU"),
    ],
)
def test_what_does_not_go_with_real(run_with_numba, arguments, variables, message):
    script = run_with_numba.write("print('ran')")
    done = run_with_numba(
        "-m", "cudasim.command_line", "record", *arguments.split(), "-o", "run.cudasim", script, **variables
    )
    assert done.returncode == 2 and message in done.stderr and done.stdout == "", done.stderr
    assert not (run_with_numba.folder / "run.cudasim").exists()


def test_without_numba_cuda(run):
    done = run(
        "-m", "cudasim.command_line", "record", "--real", "-o", "run.cudasim", run.write("print('ran')")
    )
    assert done.returncode == 2 and "pip install numba-cuda" in done.stderr and done.stdout == "", done.stderr


def test_every_name_of_numba_cuda_that_is_used_is_there(run_with_numba):
    done = run_with_numba.script("""
        import inspect
        from numba import cuda
        from numba.cuda import args, dispatcher

        configuration = dispatcher._LaunchConfiguration
        assert callable(configuration.__call__)
        names = inspect.signature(configuration.__init__).parameters
        assert {"dispatcher", "griddim", "blockdim", "stream", "sharedmem"} <= set(names), names
        kernel = cuda.jit(lambda x: None)
        assert kernel._can_compile is True and len(kernel.overloads) == 0
        assert kernel.py_func.__name__ == "<lambda>"
        wanted = {"debug", "opt", "fastmath", "launch_bounds", "max_registers", "link", "extensions"}
        assert wanted - set(kernel.targetoptions) <= {"max_registers"}, kernel.targetoptions
        for name in ("In", "Out", "InOut"):
            assert issubclass(getattr(args, name), args.ArgHint)
        assert callable(cuda.synchronize) and callable(cuda.from_cuda_array_interface)
        assert callable(cuda.get_current_device) and hasattr(type(cuda.driver.driver), "get_version")
    """)
    assert done.returncode == 0, done.stderr


def test_names_of_numba_cuda_mean_those_of_cudasim(run_with_numba):
    done = run_with_numba.script("""
        import types

        import numba.cuda.random
        from cudasim import cuda as own
        from cudasim.compile.real_names import counterpart
        from numba import cuda

        shared = [name for name in vars(cuda) if not name.startswith("_") and hasattr(own, name)]
        other = {name for name in shared if counterpart(getattr(cuda, name)) is not getattr(own, name)}
        # Types are known by their names; kernels do not use the rest, nor modules that packages import.
        other = {name for name in other if not isinstance(getattr(cuda, name), types.ModuleType)}
        assert other <= {"bfloat16", "dim3", "grid_group", "gpus", "implementation", "runtime"}, other
        assert len(shared) > 200, len(shared)
        assert counterpart(cuda.atomic.add) is own.atomic.add
        assert counterpart(cuda.shared.array) is own.shared.array
        from cudasim.cuda import random
        assert counterpart(numba.cuda.random) is random
        for name in ("xoroshiro128p_uniform_float32", "xoroshiro128p_normal_float64"):
            assert counterpart(getattr(numba.cuda.random, name)) is getattr(random, name)
        assert counterpart(len) is len and counterpart(numba) is numba and counterpart(3) == 3
    """)
    assert done.returncode == 0, done.stderr


REAL = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def saxpy(a, x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + y[i]

    @cuda.jit
    def says(x):
        print("thread", cuda.threadIdx.x, x[0])

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    out = cuda.device_array(1000, np.float32)
    saxpy[8, 128](np.float32(3), cuda.to_device(x), y, out)
    assert np.array_equal(out.copy_to_host(), 3 * x + y)
    saxpy.forall(500)(np.float32(3), cuda.In(x), cuda.In(y), out[::2])
    says[1, 2](x)
    cuda.synchronize()
    print("done")
"""


@pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="no GPU: there is no nvidia-smi")
def test_a_real_gpu(run_with_numba):
    """Needs a GPU and numba-cuda with a toolkit."""
    script = run_with_numba.write(REAL)
    main = "-m", "cudasim.command_line"
    done = run_with_numba(*main, "record", "--real", script, "-o", "run.cudasim", timeout=300)
    assert done.returncode == 0 and "3 of 3 launches" in done.stderr, done.stdout + done.stderr
    assert sorted(done.stdout.splitlines()) == ["done", "thread 0 0.000000", "thread 1 0.000000"], done.stdout
    diff = run_with_numba(*main, "diff", "run.cudasim", "run.gpu.cudasim", "--json", "report.json")
    launches = json.loads((run_with_numba.folder / "report.json").read_text())["launches"]
    assert [launch["verdict"] for launch in launches] == ["same"] * 3, diff.stdout

"""The switch: when numba.cuda means cudasim.cuda, with and without numba and numba-cuda installed."""

import os
import subprocess
import sys

import pytest

REPORT = """
import sys
{statement}
print(sys.modules["numba.cuda"].__name__, sys.modules["numba.cuda"] is sys.modules["cudasim.cuda"])
"""

STATEMENTS = [
    "from numba import cuda",
    "import numba.cuda",
    "import numba.cuda as cuda",
    "from numba.cuda import grid",
    "def f():\n    from numba import cuda\n    return cuda.grid\nf()",
    "import importlib; importlib.import_module('numba.cuda')",
    "import numba.cuda.cudadrv.driver",
    "from numba.cuda.cudadrv.error import CudaAPIError",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_every_way_of_importing_gives_cudasim(any_run, statement):
    done = any_run.script(REPORT.format(statement=statement), ENABLE_CUDASIM="1")
    assert done.stdout.split() == ["cudasim.cuda", "True"], done.stderr


def test_numba_variable_switches_too(any_run):
    done = any_run.script(REPORT.format(statement="from numba import cuda"), NUMBA_ENABLE_CUDASIM="1")
    assert done.stdout.split() == ["cudasim.cuda", "True"], done.stderr


def test_config_attribute_before_the_import_switches(run_with_numba):
    done = run_with_numba.script(
        REPORT.format(statement="import numba; numba.config.ENABLE_CUDASIM = 1\nfrom numba import cuda")
    )
    assert done.stdout.split() == ["cudasim.cuda", "True"], done.stderr


def test_config_attribute_switches_for_good_even_when_it_then_reads_false(run_with_numba):
    done = run_with_numba.script(
        """
        import numba
        numba.config.ENABLE_CUDASIM = 1
        from numba import cuda
        import numba.cuda.cudadrv.driver
        import cudasim.cuda.cudadrv.driver
        print(numba.config.ENABLE_CUDASIM, numba.cuda.cudadrv.driver is cudasim.cuda.cudadrv.driver)
        """,
        CUDASIM_REPORT_AS_SIMULATOR="0",
    )
    assert done.stdout.split() == ["0", "True"], done.stderr


@pytest.mark.parametrize("others", [{"NUMBA_ENABLE_CUDASIM": "1"}, {}])
def test_zero_is_off_whatever_else_is_set(run_with_numba, others):
    done = run_with_numba.script(
        """
        import numba
        numba.config.ENABLE_CUDASIM = 1
        from numba import cuda
        print(cuda.__name__, "cudasim" in cuda.__file__)
        """,
        ENABLE_CUDASIM="0",
        **others,
    )
    assert done.stdout.split() == ["numba.cuda", "False"], done.stderr


def test_zero_without_numba_gives_no_stand_in(run):
    done = run.script("import numba", ENABLE_CUDASIM="0", NUMBA_ENABLE_CUDASIM="1")
    assert "ModuleNotFoundError" in done.stderr


def test_off_by_default(run):
    assert "ModuleNotFoundError" in run.script("import numba").stderr


def test_off_by_default_with_numba(run_with_numba):
    done = run_with_numba.script("from numba import cuda; print(cuda.__name__)")
    assert done.stdout.split() == ["numba.cuda"], done.stderr


def test_wins_over_a_finder_that_was_put_in_front_later(run_with_numba):
    done = run_with_numba.script(
        """
        import sys
        import _numba_cuda_redirector
        sys.meta_path.remove(_numba_cuda_redirector.finder)
        sys.meta_path.insert(0, _numba_cuda_redirector.finder)
        from numba import cuda
        print(cuda.__name__)
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.split() == ["cudasim.cuda"], done.stderr


@pytest.mark.parametrize("option, expected", [({}, "1"), ({"CUDASIM_REPORT_AS_SIMULATOR": "0"}, "0")])
@pytest.mark.parametrize("variable", ["ENABLE_CUDASIM", "NUMBA_ENABLE_CUDASIM"])
def test_config_reads_as_the_option_says(any_run, option, expected, variable):
    done = any_run.script(
        """
        import numba
        before = int(numba.config.ENABLE_CUDASIM)
        from numba import cuda
        print(before, int(numba.config.ENABLE_CUDASIM), cuda.__name__)
        """,
        **{variable: "1"},
        **option,
    )
    assert done.stdout.split() == [expected, expected, "cudasim.cuda"], done.stderr


def test_everything_else_stays_numbas(run_with_numba):
    done = run_with_numba.script(
        """
        import numba
        from numba import cuda, njit, prange
        from numba.core.errors import NumbaPerformanceWarning, TypingError
        import cudasim.errors

        @njit
        def total(n):
            result = 0
            for i in prange(n):
                result += i
            return result

        print(total(10), total.signatures != [], numba.int32.__module__.startswith("numba"))
        print(cudasim.errors.TypingError is TypingError)
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.split() == ["45", "True", "True", "True"], done.stderr


def test_real_numba_cuda_imported_first_is_one_clear_error(run_with_numba):
    # There are no options in the environment, because their warning would have imported cudasim before.
    done = run_with_numba.script(
        """
        from numba import cuda
        import os
        os.environ["ENABLE_CUDASIM"] = "1"
        import cudasim
        """,
        CUDASIM_CACHE_DIR="",
        CUDASIM_KEEP_IMAGES="",
    )
    assert done.returncode == 1
    assert done.stderr.count("SwitchError: ") == 1
    assert "after the real numba.cuda had been imported" in done.stderr


def test_submodules_are_the_same_objects_under_both_names(any_run):
    done = any_run.script(
        """
        import numba.cuda.cudadrv.driver
        import cudasim.cuda.cudadrv.driver
        print(numba.cuda.cudadrv.driver is cudasim.cuda.cudadrv.driver,
              cudasim.cuda.__spec__.name, cudasim.cuda.cudadrv.driver.__spec__.name)
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.split() == ["True", "cudasim.cuda", "cudasim.cuda.cudadrv.driver"], done.stderr


def test_missing_part_of_numba_cuda_is_named(any_run):
    done = any_run.script("import numba.cuda.nosuchpart", ENABLE_CUDASIM="1")
    assert (
        "ModuleNotFoundError: no module named 'numba.cuda.nosuchpart': cudasim has no such part"
        in done.stderr
    )


def test_missing_part_of_the_stand_in_says_what_to_do(run):
    done = run.script("import numba.typed", ENABLE_CUDASIM="1")
    assert "install numba" in done.stderr


def test_cudasim_cuda_needs_no_switch(run):
    done = run.script(
        "from cudasim import cuda; import sys; print(cuda.is_available(), 'numba' in sys.modules)"
    )
    assert done.stdout.split() == ["True", "False"], done.stderr


def test_stand_in_gives_what_scripts_take_from_numba(run):
    done = run.script(
        """
        import numba
        from numba import float32, int32, jit, njit, prange, set_num_threads, types, void
        from numba.core.errors import NumbaPerformanceWarning, TypingError
        from numba.core import config
        import cudasim.errors

        @njit(parallel=True)
        def f(n):
            return sum(i for i in prange(n))

        @njit("int32(int32)")
        def g(n):
            return n + 1

        set_num_threads(1)
        print(f(4), g(1), numba.get_num_threads(), str(void(float32[:, :], int32)).replace(" ", ""))
        print(types.float64 == numba.float64, issubclass(NumbaPerformanceWarning, Warning),
              cudasim.errors.TypingError is TypingError, numba.__version__.count("."))
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.split() == [
        "6",
        "2",
        "1",
        "(Array(float32,2,'A',False,aligned=True),int32)->none",
        "True",
        "True",
        "True",
        "2",
    ], done.stderr
    assert done.stderr.count("run as plain Python") == 1


def test_module_runner_switches_on(any_run):
    script = any_run.write("""
        import sys
        from numba import cuda
        print(cuda.__name__, __name__, sys.argv[1:], sys.argv[0].endswith("script.py"))
        """)
    done = any_run("-m", "cudasim", script, "a", "--b")
    assert done.stdout.strip() == "cudasim.cuda __main__ ['a', '--b'] True", done.stderr


def test_module_runner_runs_pytest(run):
    run.write(
        """
        from numba import cuda

        def test_it():
            assert cuda.__name__ == "cudasim.cuda"
        """,
        "test_user.py",
    )
    done = run("-m", "cudasim", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_user.py")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_module_runner_keeps_status_and_shows_the_scripts_traceback_only(run):
    script = run.write("def f():\n    raise KeyError('x')\nf()\n")
    done = run("-m", "cudasim", script)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1].startswith(f'  File "{script}", line 3')
    assert "cudasim" not in done.stderr.replace(str(script), "")
    assert run("-m", "cudasim", run.write("raise SystemExit(7)")).returncode == 7


def test_module_runner_refuses_a_contradiction(run):
    done = run("-m", "cudasim", run.write("print(1)"), ENABLE_CUDASIM="0")
    assert done.returncode == 2 and "ENABLE_CUDASIM=0 is set" in done.stderr and done.stdout == ""


def test_unset_switch_costs_less_than_a_millisecond_at_start():
    """The hook module itself, executed afresh 200 times; processor time, for other processes may run beside it."""
    code = (
        "import sys, time, importlib.util\n"
        "spec = importlib.util.find_spec('_cudasim_switch')\n"
        "times = []\n"
        "for _ in range(200):\n"
        "    t = time.process_time()\n"
        "    sys.modules.pop('_cudasim_switch', None)\n"
        "    import _cudasim_switch\n"
        "    times.append(time.process_time() - t)\n"
        "print(sorted(times)[100])\n"
    )
    # Without the compiled file it would be compiled each time.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    medians = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env).stdout)
        for _ in range(5)
    ]
    assert min(medians) < 1e-3


def test_the_hook_imports_nothing():
    code = (
        "import sys; sys.modules.pop('_cudasim_switch', None); before = set(sys.modules)\n"
        "import _cudasim_switch; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys, os; sys.path[:] = {sys.path!r}\n" + code],
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "['_cudasim_switch']", done.stderr


def test_import_of_cuda_is_quick_beyond_numpy():
    """The bar is 60 ms on an idle machine; NumPy's own import in the same process says how idle it is."""
    code = (
        "import time\nt = time.perf_counter()\nimport numpy\nu = time.perf_counter()\nfrom cudasim import cuda\n"
        "print(u - t, time.perf_counter() - u)"
    )
    # The first import compiles the package's files, and keeps what it compiled.
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times = [
        tuple(
            map(
                float,
                subprocess.run(
                    [sys.executable, "-c", code], capture_output=True, text=True, env=environment
                ).stdout.split(),
            )
        )
        for _ in range(5)
    ]
    assert any(own < max(0.060, numpys) for numpys, own in times), times


def test_finder_survives_threads_importing_at_once(run):
    done = run.script(
        """
        import threading
        seen = []

        def work():
            from numba import cuda
            seen.append(cuda.__name__)

        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(set(seen), len(seen))
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.strip() == "{'cudasim.cuda'} 8", done.stderr


def test_kernels_use_numbas_own_types_and_errors(run_with_numba):
    done = run_with_numba.script(
        """
        import numpy as np
        import numba
        from numba import cuda, float32, int64, types, njit
        from numba.core.errors import TypingError

        @njit
        def helper(a):
            return a + 1

        @cuda.jit(types.void(types.float32[:], int64))
        def kernel(x, n):
            shared = cuda.shared.array(32, float32)
            i = cuda.threadIdx.x
            shared[i] = x[i]
            cuda.syncthreads()
            x[i] = helper(shared[n - 1 - i])

        x = np.arange(32, dtype=np.float32)
        kernel[1, 32](x, 32)
        print(x[:3].tolist(), helper(1))

        @cuda.jit
        def refused(x):
            x.nothing()

        try:
            refused[1, 1](x)
        except TypingError as error:
            print("TypingError", "nothing" in str(error))
        """,
        ENABLE_CUDASIM="1",
    )
    assert done.stdout.splitlines() == ["[32.0, 31.0, 30.0] 2", "TypingError True"], done.stderr


def test_cudasim_cuda_and_the_real_one_can_live_side_by_side(run_with_numba):
    done = run_with_numba.script("""
        from numba import cuda as real
        from cudasim import cuda
        import numpy as np

        @cuda.jit
        def kernel(x):
            x[cuda.grid(1)] = 3

        x = np.zeros(4)
        kernel[1, 4](x)
        print(real.__name__, cuda.__name__, x.tolist())
        """)
    assert done.stdout.strip() == "numba.cuda cudasim.cuda [3.0, 3.0, 3.0, 3.0]", done.stderr


def test_cupy_without_a_gpu_says_what_to_do(run):
    run.write("class cuda:\n    is_available = staticmethod(lambda: False)\n", "cupy.py")
    script = run.write("""
        from numba import cuda
        import cupy  # here
        print("goes on", cupy.__name__)
    """)
    done = run(script, ENABLE_CUDASIM="1")
    assert done.stdout == "goes on cupy\n"
    assert (
        "script.py:3: CupyWithoutGpuWarning: CuPy needs a real GPU and finds none" in done.stderr
        and "# here" in done.stderr
    )
    assert "CuPy" not in run(script, ENABLE_CUDASIM="0").stderr
    run.write("class cuda:\n    is_available = staticmethod(lambda: True)\n", "cupy.py")
    done = run(script, ENABLE_CUDASIM="1")
    assert done.stdout == "goes on cupy\n" and not done.stderr
    (run.folder / "cupy.py").unlink()
    absent = run.write("import importlib.util; print(importlib.util.find_spec('cupy'))\nimport cupy")
    done = run(absent, ENABLE_CUDASIM="1")
    assert done.stdout == "None\n" and "No module named 'cupy'" in done.stderr

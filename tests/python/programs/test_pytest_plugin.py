"""pytest --cudasim, in runs of pytest of its own."""

import re
import subprocess
import sys

import pytest
from processes import clean_environment

KERNELS = """
    import numpy as np
    import pytest
    from numba import config, cuda


    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2


    @cuda.jit
    def overruns(x):
        x[cuda.grid(1)] = 1


    def test_doubles():
        x = np.arange(10.0)
        double[1, 32](x)
        assert x[9] == 18
        assert cuda.__name__ == "cudasim.cuda"


    def test_overruns():
        overruns[1, 4](np.zeros(3))
"""


@pytest.fixture
def run_pytest(tmp_path):
    import textwrap

    def run(code, *arguments, conftest=None, **variables):
        (tmp_path / "test_kernels.py").write_text(textwrap.dedent(code))
        if conftest:
            (tmp_path / "conftest.py").write_text(textwrap.dedent(conftest))
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments], cwd=tmp_path, timeout=120,
            env=clean_environment(**variables), capture_output=True, text=True,
        )  # fmt: skip

    return run


def has(module):
    return subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True).returncode == 0


without_numba = pytest.mark.skipif(has("numba"), reason="numba is installed in the testing interpreter")


@without_numba
def test_without_the_switch_there_is_no_numba_cuda(run_pytest):
    done = run_pytest(KERNELS)
    assert done.returncode == 2 and "No module named 'numba'" in done.stdout and "cudasim:" not in done.stdout


def test_kernels_run_and_a_fault_fails_its_test_with_its_report(run_pytest):
    done = run_pytest(KERNELS, "--cudasim")
    assert "1 failed, 1 passed" in done.stdout and done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^cudasim: [\d.]+, device=h100, policy=forward, seed=0, mode=auto$", done.stdout, re.M)
    assert (
        "IndexError: tid=[3, 0, 0] ctaid=[0, 0, 0]: index 3 is out of bounds for axis 0 with size 3"
        in done.stdout
    )
    section = done.stdout.split("cudasim findings", 1)[1]
    assert "error: out-of-bounds-index: tid=[3, 0, 0] ctaid=[0, 0, 0]: index 3 is out of bounds" in section
    assert re.search(r"at .*test_kernels\.py:16 in overruns", section)


def test_a_kernel_that_the_compiler_refuses_fails_its_test_with_its_line(run_pytest):
    code = KERNELS.replace("x[i] *= 2", "x[i] = np.float32(x, 2, 3)")
    done = run_pytest(code, "--cudasim")
    assert done.returncode == 1 and "2 failed" in done.stdout, done.stdout + done.stderr
    section = done.stdout.split("cudasim findings", 1)[1]
    assert "error: not-gpu-code: " in section and re.search(r"at \S+test_kernels\.py:11\n", section), section


def test_the_switch_is_on_before_conftest_files_are_loaded(run_pytest):
    conftest = """
        from numba import cuda

        assert cuda.__name__ == "cudasim.cuda"
        print("conftest has", cuda.__name__)
    """
    done = run_pytest(KERNELS, "--cudasim", "-k", "doubles", conftest=conftest)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_ini_files_can_have_it(run_pytest, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --cudasim --cudasim-policy reverse\n")
    done = run_pytest(KERNELS, "-k", "doubles")
    assert "1 passed" in done.stdout and "policy=reverse" in done.stdout, done.stdout + done.stderr


def test_options_reach_the_simulator_and_processes_that_tests_start(run_pytest):
    code = """
        import subprocess, sys
        from cudasim import options

        def test_options():
            assert (options.get("policy"), options.get("seed"), options.get("strict")) == ("random", 7, True)
            seen = "from cudasim import options; print(options.get('seed'))"
            child = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True)
            assert child.stdout == "7\\n"
            from numba import cuda
            assert cuda.get_current_device().name.startswith("NVIDIA A10")
    """
    done = run_pytest(code, "--cudasim", "--cudasim-policy=random", "--cudasim-seed", "7", "--cudasim-strict", "1",
                      "--cudasim-device", "a10")  # fmt: skip
    assert "1 passed" in done.stdout and "seed=7" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("arguments, message", [
    (["--cudasim-seed", "7"], "--cudasim-seed: the simulator is not on in this run; add --cudasim"),
    (["--cudasim", "--cudasim-policy", "sideways"], "forward, reverse, random"),
])  # fmt: skip
def test_wrong_arguments_are_said_in_a_line(run_pytest, arguments, message):
    done = run_pytest(KERNELS, *arguments)
    assert done.returncode == 4 and message in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_the_environment_switches_it_on_too(run_pytest):
    done = run_pytest(KERNELS, "-k", "doubles", "--cudasim-seed", "3", ENABLE_CUDASIM="1")
    assert "1 passed" in done.stdout and "seed=3" in done.stdout, done.stdout + done.stderr
    forbidden = run_pytest(KERNELS, "--cudasim", ENABLE_CUDASIM="0")
    assert forbidden.returncode == 4 and "ENABLE_CUDASIM=0" in forbidden.stderr


def test_the_plug_in_can_be_left_out(run_pytest):
    done = run_pytest(KERNELS, "-p", "no:cudasim", "--cudasim")
    assert done.returncode == 4 and "unrecognized arguments: --cudasim" in done.stderr


def test_runs_without_it_import_nothing_of_the_simulator(run_pytest):
    code = """
        import sys

        def test_modules():
            assert not [name for name in sys.modules if name.startswith(("cudasim.cuda", "cudasim._native", "numba"))]
    """
    done = run_pytest(code)
    assert "1 passed" in done.stdout, done.stdout


@pytest.mark.skipif(not has("xdist"), reason="pytest-xdist is not installed")
def test_workers_of_xdist_have_it(run_pytest):
    done = run_pytest(KERNELS, "--cudasim", "--cudasim-policy", "reverse", "-n", "2")
    assert "1 failed, 1 passed" in done.stdout and "cudasim findings" in done.stdout, (
        done.stdout + done.stderr
    )


def test_what_a_worker_gets_from_its_controller_is_enough(run_pytest):
    """pytest-xdist starts workers so: the options come as a dictionary, and there is no command line."""
    code = """
        import os, subprocess, sys

        WORKER = '''
        from _pytest.config import Config
        import argparse

        config = Config.fromdictargs({"cudasim": True, "cudasim_seed": "9", "plugins": []}, [])
        config._do_configure()
        from numba import cuda
        from cudasim import options
        print(cuda.__name__, options.get("seed"))
        '''

        def test_worker():
            import textwrap
            done = subprocess.run([sys.executable, "-c", textwrap.dedent(WORKER)], capture_output=True, text=True)
            assert done.stdout == "cudasim.cuda 9\\n", done.stderr
    """
    done = run_pytest(code)
    assert "1 passed" in done.stdout, done.stdout


MARKED = """
    import os, subprocess, sys
    import numpy as np
    import pytest
    from numba import cuda
    from cudasim import options

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] += 1

    array = cuda.to_device(np.zeros(4))  # on the device of the run

    @pytest.mark.cudasim(policy="random", seed=7, strict=True)
    def test_marked():
        assert (options.get("policy"), options.get("seed"), options.get("strict")) == ("random", 7, True)
        assert options.value_and_source("seed")[1] == "@pytest.mark.cudasim"
        seen = "from cudasim import options; print(options.get('seed'), options.get('strict'))"
        child = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True)
        assert child.stdout == "7 True\\n"
        options.set(seed=8)
        assert options.get("seed") == 8
        options.set(seed=None)

    def test_restored():
        assert (options.get("policy"), options.get("seed"), options.get("strict")) == ("reverse", 3, False)
        assert os.environ.get("CUDASIM_STRICT") is None

    @pytest.mark.cudasim(seed=1, policy="forward")
    class TestOfClass:
        @pytest.fixture
        def seed(self):
            return options.get("seed")

        @pytest.mark.cudasim(seed=2)
        def test_nearest_wins_and_fixtures_have_it(self, seed):
            assert (seed, options.get("policy")) == (2, "forward")

    @pytest.mark.cudasim(device="rtx4090,t4", device_memory="64M")
    @pytest.mark.parametrize("again", range(2))
    def test_other_devices(again):
        assert [gpu.compute_capability for gpu in cuda.gpus] == [(8, 9), (7, 5)]
        assert cuda.current_context().get_memory_info() == (64 << 20, 64 << 20)
        x = cuda.to_device(np.zeros(4))
        kernel[1, 4](x)
        kernel[1, 4](x)
        assert x.copy_to_host().tolist() == [2] * 4
        with pytest.raises(Exception, match="memory of device 0"):
            kernel[1, 4](array)

    def test_devices_are_those_of_the_run_again():
        assert "H100" in cuda.get_current_device().name
        kernel[1, 4](array)
        assert array.copy_to_host().tolist() == [1] * 4
"""


def test_markers_give_options_to_a_test_and_are_restored(run_pytest):
    done = run_pytest(
        MARKED, "--cudasim", "--cudasim-seed=3", "--cudasim-policy=reverse", "--strict-markers", "-W", "error"
    )
    assert "6 passed" in done.stdout, done.stdout + done.stderr
    assert "cudasim(option=value, ...)" in run_pytest(MARKED, "--markers").stdout


@pytest.mark.parametrize("marker, says", [
    ("wokers=3", "there is no option 'wokers'. Did you mean 'workers'?"),
    ("workers=-1", "@pytest.mark.cudasim: -1 is not valid; workers takes a number from 0 to 1024"),
    ("'random'", "@pytest.mark.cudasim takes options by name"),
])  # fmt: skip
@pytest.mark.parametrize("switch", [["--cudasim"], []])
def test_wrong_markers_fail_their_test_only(run_pytest, marker, says, switch):
    code = f"""
        import pytest

        @pytest.mark.cudasim({marker})
        def test_marked():
            pass

        def test_other():
            pass
    """
    done = run_pytest(code, *switch)
    assert "1 passed, 1 error" in done.stdout and says in done.stdout, done.stdout + done.stderr


def test_pyproject_of_the_root_directory_gives_options(run_pytest, tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "--cudasim"\n[tool.cudasim]\nseed = 5\npolicy = "random"\n'
    )
    code = """
        import os
        import pytest
        from cudasim import options

        def test_options():
            assert (options.get("seed"), options.get("policy")) == (5, "reverse")

        @pytest.mark.cudasim(seed=6)
        def test_marker_is_stronger():
            assert options.get("seed") == 6
    """
    done = run_pytest(code, CUDASIM_POLICY="reverse")
    assert "2 passed" in done.stdout and "policy=reverse, seed=5" in done.stdout, done.stdout + done.stderr


def test_pyproject_is_found_where_pytest_was_started_elsewhere(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\n[tool.cudasim]\nseed = 5\n"
    )
    (tmp_path / "project" / "test_seed.py").write_text(
        "from cudasim import options\n\ndef test_seed():\n    assert options.get('seed') == 5\n"
    )
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "project", "--rootdir", "project"],
                          cwd=tmp_path, env=clean_environment(), capture_output=True, text=True)  # fmt: skip
    assert "1 passed" in done.stdout, done.stdout + done.stderr

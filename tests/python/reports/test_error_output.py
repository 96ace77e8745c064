"""What users read when something is wrong: one error, each fact once, no internal names."""

import re

import numpy as np
import pytest
from cudasim import cuda, errors, options

FAILS_IN_CPYTHON_TOO = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        names = ["a", "b"]
        x[i] = names["a"]

    kernel[1, 4](np.zeros(4))
"""


def test_a_kernel_that_fails_in_cpython_too_is_told_once(run):
    done = run(run.write(FAILS_IN_CPYTHON_TOO), ENABLE_CUDASIM="1")
    assert done.returncode == 1 and done.stderr.count("Error: ") == 1, done.stderr
    assert done.stderr.count("Traceback") == 1 and "Warning" not in done.stderr, done.stderr
    assert "frontend/python/cudasim" not in done.stderr and "During handling" not in done.stderr
    assert "a list is not supported in kernels" in done.stderr and "line 8" in done.stderr


def test_what_only_cpython_can_run_still_warns_once(run):
    script = run.write("""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            x[cuda.grid(1)] = np.random.rand()

        x = np.zeros(4)
        for _ in range(3):
            kernel[1, 4](x)
        print((x > 0).all())
    """)
    done = run(script, ENABLE_CUDASIM="1")
    assert done.stdout.strip() == "True" and done.stderr.count("NotGpuCodeWarning") == 1, done.stderr
    assert "np.random.rand" in done.stderr and "Traceback" not in done.stderr


def test_thread_and_place_are_said_once():
    @cuda.jit
    def beyond(x):
        i = cuda.grid(1)
        x[i] = 1

    with pytest.raises(IndexError) as caught:
        beyond[1, 64](np.zeros(20))
    everything = "\n".join([str(caught.value), *caught.value.__notes__])
    assert everything.count("tid=[20, 0, 0]") == 1 and __file__ not in everything, everything
    assert "in kernel beyond, and in 43 other threads" in everything
    assert re.search(r"\d+ \|         x\[i\] = 1\n +\|         \^", everything), everything


def test_all_threads_that_a_limit_stops_are_counted():
    @cuda.jit
    def waits(x):
        rounds = 0  # what changes is no livelock
        while x[0] == 0:
            cuda.nanosleep(1)
            rounds += 1
        x[1] = rounds

    with options.override(mode="native", time_limit=0.2), pytest.raises(errors.KernelTimeoutError) as caught:
        waits[4, 64](np.zeros(4))
    assert "and in 255 other threads" in "\n".join(caught.value.__notes__), caught.value.__notes__


def test_values_of_kernels_are_refused_on_the_host_by_a_public_class():
    with pytest.raises(errors.KernelOnlyError, match="has a value in a kernel only") as caught:
        cuda.threadIdx.x  # noqa: B018
    assert type(caught.value).__name__ == "KernelOnlyError" and not hasattr(cuda.threadIdx, "x")


@pytest.mark.parametrize("command", [["info"], ["cache", "info"], ["--version"], ["run", "--help"]])
def test_the_module_knows_the_programs_commands(run, command):
    module, program = run("-m", "cudasim", *command), run("-m", "cudasim.command_line", *command)
    assert module.returncode == program.returncode == 0, module.stderr
    assert module.stdout.splitlines()[0].split()[-1] == program.stdout.splitlines()[0].split()[-1]


def test_a_script_of_a_commands_name_is_run(run):
    run.write("print('the script')", "info")
    assert run("-m", "cudasim", "info").stdout.strip() == "the script"


SAYS_STRICT = "from cudasim import options; import sys; print(options.get('strict'), sys.argv[1:])"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--strict", "SCRIPT"], "True []"),
        (["--strict", "SCRIPT", "--strict", "0"], "True ['--strict', '0']"),
        (["--strict", "0", "SCRIPT"], "False []"),
        (["--strict=0", "SCRIPT", "1"], "False ['1']"),
        (["--workers", "1", "--strict", "--", "SCRIPT"], "True []"),
    ],
)
def test_a_switch_needs_no_value(run, arguments, said):
    script = run.write(SAYS_STRICT)
    done = run("-m", "cudasim", "run", *[script if word == "SCRIPT" else word for word in arguments])
    assert done.stdout.strip() == said, done.stderr


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--cudasim-strict", "test_it.py"], "strict True"),
        (["--cudasim-strict=0", "test_it.py"], "strict False"),
        (["--cudasim-strict", "1", "test_it.py"], "strict True"),
        (["test_it.py", "--cudasim-strict"], "strict True"),
    ],
)
def test_a_switch_of_pytests_needs_no_value(run, tmp_path, arguments, said):
    run.write(
        "def test_it():\n    from cudasim import options\n    print('strict', options.get('strict'))",
        "test_it.py",
    )
    done = run("-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "--cudasim", *arguments)
    assert said in done.stdout and "1 passed" in done.stdout, done.stdout + done.stderr


FIRST_USES = {
    "a launch": "kernel[1, 1](np.zeros(1))",
    "to_device": "cuda.to_device(np.zeros(1))",
    "device_array": "cuda.device_array(4)",
    "the list of devices": "cuda.gpus[0]",
    "a stream": "cuda.stream()",
}


@pytest.mark.parametrize(
    "variable, value, first_use",
    [("CUDASIM_POLICY", "sideways", "a launch"), *(("CUDASIM_DEVICE", "nosuch", use) for use in FIRST_USES)],
)
def test_a_wrong_variable_is_one_line_without_internal_frames(run, variable, value, first_use):
    done = run(
        run.write(f"""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            x[0] = 1

        {FIRST_USES[first_use]}
    """),
        ENABLE_CUDASIM="1",
        **{variable: value},
    )
    assert done.returncode == 1 and done.stderr.count("Traceback") == 1, done.stderr
    assert variable in done.stderr and "frontend/python/cudasim" not in done.stderr, done.stderr
    assert FIRST_USES[first_use] in done.stderr, done.stderr


def test_other_uncaught_errors_keep_their_tracebacks_after_a_wrong_variable(run):
    done = run(
        run.write("""
        from numba import cuda
        from cudasim.options import OptionError
        try:
            cuda.device_array(4)
        except OptionError:
            print("caught")
        from cudasim.reports import tracebacks
        tracebacks.is_package_code(None)
    """),
        ENABLE_CUDASIM="1",
        CUDASIM_DEVICE="nosuch",
    )
    assert done.stdout == "caught\n" and "in is_package_code" in done.stderr, done.stderr

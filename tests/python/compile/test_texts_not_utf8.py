"""Names of files and texts that are not UTF-8: Python has surrogates in them, which UTF-8 does not encode."""

import os
import subprocess
import sys
import textwrap

import pytest
from processes import clean_environment

MODES = ["native", "python"]

PTX = b"""// caf\xe9
.version 7.0
.target sm_70
.address_size 64
.visible .func (.param .b32 status) seven(.param .b64 result, .param .b32 unused) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [result];
  mov.u32 %r1, 7;
  st.u32 [%rd1], %r1;
  mov.u32 %r1, 0;
  st.param.b32 [status], %r1;
  ret;
}
"""


@pytest.fixture
def run_there(tmp_path):
    """Runs a script that lies in a folder whose name is not UTF-8, with an output that takes strict UTF-8 only."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)

    def run(code, *arguments, **variables):
        if code is not None:
            with open(folder + b"/script.py", "w") as file:
                file.write(textwrap.dedent(code))
        with open(folder + b"/seven.ptx", "wb") as file:
            file.write(PTX)
        environment = clean_environment(ENABLE_CUDASIM="1", PYTHONIOENCODING="utf-8:strict", **variables)
        return subprocess.run([sys.executable, *(arguments or [folder + b"/script.py"])], cwd=tmp_path, timeout=120,
                              env=environment, capture_output=True, encoding="utf-8")  # fmt: skip

    run.folder = folder
    return run


@pytest.mark.parametrize("mode", MODES)
def test_errors_and_warnings_name_the_file(run_there, mode):
    done = run_there(
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def divide(x):
            x[0] /= x[1]
            x[9] = 0

        try:
            divide[1, 1](np.zeros(2))
        except IndexError as error:
            print(ascii(error.findings[0].location[0].file))
            raise
        """,
        CUDASIM_MODE=mode,
    )
    assert done.stdout.endswith("caf\\udce9/script.py'\n"), done.stderr
    assert "caf\\udce9/script.py:7: FloatDivisionWarning: " in done.stderr
    assert 'caf\\udce9/script.py", line 8, in divide\n    x[9] = 0\n' in done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_exceptions_keep_surrogates_in_their_arguments(run_there, mode):
    done = run_there(
        r"""
        import numpy as np
        from numba import cuda

        class Refused(Exception):
            pass

        @cuda.jit
        def fails(which):
            if which == 0:
                raise ValueError("bad \udc80 and \ud800")
            if which == 1:
                raise Refused("it's \udc80", 3, "\u00e9\n\ud800")
            assert which == 0, "\udfff"

        for which in range(3):
            try:
                fails[1, 1](which)
            except Exception as error:
                first, *rest = error.args
                print(type(error).__name__, ascii(first.split(": ", 1)[1]), ascii(rest))
        """,
        CUDASIM_MODE=mode,
    )
    assert done.stdout.splitlines() == [
        r"ValueError 'bad \udc80 and \ud800' []",
        r"""Refused "it's \udc80" [3, '\xe9\n\ud800']""",
        r"AssertionError '\udfff' []",
    ], done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_prints_escape_what_the_output_cannot_encode(run_there, mode):
    done = run_there(
        r"""
        import numpy as np
        from numba import cuda

        word = "\ud811 of the module"

        @cuda.jit
        def prints(x):
            print("first", "\udc80 \u00e9", cuda.threadIdx.x)
            print(word)
            x[0] = len("\ud800b")

        x = np.zeros(1)
        prints[1, 1](x)
        print(x[0])
        """,
        CUDASIM_MODE=mode,
    )
    assert done.stdout == "first \\udc80 é 0\n\\ud811 of the module\n2.0\n", done.stderr


@pytest.mark.parametrize("mode", MODES)
def test_prints_escape_for_an_output_in_ascii(run_there, mode):
    done = run_there(
        r"""
        import sys
        from numba import cuda

        @cuda.jit
        def prints():
            print("caf\u00e9")

        sys.stdout.reconfigure(encoding="ascii")
        prints[1, 1]()
        """,
        CUDASIM_MODE=mode,
    )
    assert done.stdout == "caf\\xe9\n", done.stderr


def test_linked_files_and_cached_functions_may_lie_there(run_there):
    code = """
        import os
        import numpy as np
        from numba import cuda

        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "seven.ptx")
        seven = cuda.declare_device("seven", "int32(int32)", link=beside)

        @cuda.jit(cache=True)
        def kernel(x):
            x[0] = 3

        @cuda.jit
        def linked(x):
            x[0] += seven(1)

        x = np.zeros(1)
        kernel[1, 1](x)
        linked[1, 1](x)
        print(x[0], sum(kernel.stats.cache_hits.values()))
        """
    first = run_there(code)
    assert first.stdout == "10.0 0\n", first.stderr
    assert run_there(None).stdout == "10.0 1\n"  # the same file: another would be newer than what was kept


def test_code_of_such_a_file_can_be_shown(run_there):
    done = run_there(
        """
        from numba import cuda

        @cuda.jit("void(float64[:])", lineinfo=True)
        def shown(x):
            x[0] = 1

        ptx = next(iter(shown.inspect_asm().values()))
        file, = (line for line in ptx.splitlines() if line.strip().startswith(".file"))
        print(ascii(file))
        """
    )
    assert "/caf" in done.stdout and "/script.py" in done.stdout, done.stdout + done.stderr


def test_the_cache_may_lie_there(run_there):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            x[0] = 3

        kernel[1, 1](np.zeros(1))
        """
    place = os.fsdecode(run_there.folder + b"/kept")
    for _ in range(2):
        assert run_there(code, CUDASIM_CACHE_DIR=place).stderr == ""
    assert os.listdir(os.fsencode(place))
    shown = run_there("", "-m", "cudasim.command_line", "cache", "info", CUDASIM_CACHE_DIR=place)
    assert "caf\\udce9/kept" in shown.stdout and "1 of 2 looked up" in shown.stdout, (
        shown.stdout + shown.stderr
    )
    os.chmod(os.fsencode(place), 0o777)
    warned = run_there(code, CUDASIM_CACHE_DIR=place)
    assert "caf\\udce9/kept may be written by others" in warned.stderr, warned.stderr
    cleared = run_there("", "-m", "cudasim.command_line", "info", CUDASIM_CACHE_DIR=place)
    assert cleared.returncode == 0 and "caf\\udce9/kept" in cleared.stdout, cleared.stderr


def test_images_are_kept_there(run_there):
    code = """
        from numba import cuda

        @cuda.jit
        def kernel():
            pass

        kernel[1, 1]()
        """
    place = run_there.folder + b"/images"
    done = run_there(code, CUDASIM_KEEP_IMAGES=os.fsdecode(place))
    assert done.stderr == "" and len(os.listdir(place)) == 1


def test_a_folder_that_no_file_system_has_is_refused():
    from cudasim import options

    with pytest.raises(options.OptionError, match="cache_dir takes a folder"):
        options.set(cache_dir="/tmp/\ud800")

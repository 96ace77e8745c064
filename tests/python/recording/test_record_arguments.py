"""`cudasim record`: which arguments are the program's and which are the script's."""

import json

import pytest

ARGUMENTS = """
    import sys
    import numpy as np
    from numba import cuda

    @cuda.jit
    def first(y):
        y[0] = 1

    @cuda.jit
    def second(y):
        y[0] = 2

    for _ in range(4):
        first[1, 1](np.zeros(1))
        second[1, 1](np.zeros(1))
    print(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "arguments, of_the_script, kernels",
    [
        ("SCRIPT -o run.cudasim", [], ["first", "second"] * 4),
        ("SCRIPT -o run.cudasim --kernel first --launch 3..5", [], ["first"] * 2),
        ("SCRIPT --launch=2 --after --output=run.cudasim", [], ["second"]),
        ("SCRIPT -o run.cudasim --launch 1 data.txt -o own --kernel x", ["data.txt", "-o", "own", "--kernel", "x"], ["first"]),
        ("SCRIPT -o run.cudasim --launch 1 -- -o own", ["-o", "own"], ["first"]),
        ("SCRIPT -o run.cudasim --launch 1 --seed 3", ["--seed", "3"], ["first"]),
        ("--launch 1 SCRIPT -o run.cudasim", [], ["first"]),
        ("--strict SCRIPT -o run.cudasim --launch 1 -x", ["-x"], ["first"]),
        ("--kernel first -o run.cudasim SCRIPT -o own --launch 9", ["-o", "own", "--launch", "9"], ["first"] * 4),
        ("-orun.cudasim SCRIPT --after -- 1", ["--after", "--", "1"], ["first", "second"] * 4),
        ("-m script -o run.cudasim --launch 2 -m", ["-m"], ["second"]),
        ("-o run.cudasim -m script -o own", ["-o", "own"], ["first", "second"] * 4),
    ],
)  # fmt: skip
def test_options_stand_before_the_script_or_directly_behind_it(run, arguments, of_the_script, kernels):
    script = run.write(ARGUMENTS)
    done = run(
        "-m",
        "cudasim.command_line",
        "record",
        *(script if word == "SCRIPT" else word for word in arguments.split()),
    )
    assert done.returncode == 0 and done.stdout == f"{of_the_script}\n", done.stdout + done.stderr
    shown = run("-m", "cudasim.command_line", "show", "run.cudasim", "--json")
    assert [launch["kernel"] for launch in json.loads(shown.stdout)["launches"]] == kernels
    assert not (run.folder / "own").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["record", "a.py"], "no file given; write -o FILE before the script or directly behind it"),
        (["record", "a.py", "data.txt", "-o", "x.cudasim"], "no file given"),
        (["record", "a.py", "-o", "x.cudasim", "-o", "own"], "-o is given twice"),
        (["record", "--launch", "3", "a.py", "--launch", "4", "-o", "x"], "--launch is given twice"),
        (["record", "a.py", "-o"], "-o has no value"),
    ],
)
def test_a_missing_or_repeated_option_is_told(run, arguments, message):
    run.write("print('ran')", "a.py")
    done = run("-m", "cudasim.command_line", *arguments)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr, done.stderr
    assert [path.name for path in run.folder.iterdir()] == ["a.py"]

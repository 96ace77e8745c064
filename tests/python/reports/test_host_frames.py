"""Where the host's program stands."""

from cudasim.reports.host_frames import host_frames

NUMBA = "/usr/lib/python3/site-packages/numba_cuda/numba/cuda/dispatcher.py"


def test_frames_of_numba_are_not_the_programs():
    names = {}
    exec(compile("def forall(launch):\n    return launch()\n", NUMBA, "exec"), names)
    function, file, _ = names["forall"](host_frames)[0]
    assert (function, file) == ("test_frames_of_numba_are_not_the_programs", __file__)

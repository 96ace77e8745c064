"""Programs that launch from several host threads are recorded."""

import json

SCRIPT = """
    import threading
    import numpy as np
    from numba import cuda

    @cuda.jit
    def add_one(x):
        x[cuda.grid(1)] += 1

    def launch():
        for _ in range(25):
            add_one[1, 4](np.zeros(4))

    threads = [threading.Thread(target=launch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_launches_of_several_threads_are_recorded(run):
    done = run("-m", "cudasim", "record", "-o", "run.cudasim", run.write(SCRIPT))
    assert done.returncode == 0, done.stderr
    shown = json.loads(run("-m", "cudasim", "show", "run.cudasim", "--json").stdout)
    assert sorted(each["number"] for each in shown["launches"]) == list(range(1, 101))

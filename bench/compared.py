"""What comparing a launch's results with those of a GPU costs, beside np.array_equal on the same arrays."""

import json
import statistics
import time

import numpy as np

from bench.timing import require

ELEMENTS = 1 << 22
ROUNDS = 15


def _ratio(dtype, shape):
    """Of processor time, for arrays that differ in every element."""
    from cudasim import _native

    random = np.random.default_rng(3)
    simulated = random.integers(1, 1 << 20, ELEMENTS).astype(dtype).reshape(shape)
    gpu = simulated + np.array(8, dtype)  # beyond every tolerance
    array = {"name": "x", "dtype": str(simulated.dtype), "shape": shape, "simulated": simulated, "gpu": gpu}
    ours, peers = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        found = _native.compare_launch([array])
        middle = time.process_time()
        equal = np.array_equal(simulated, gpu)
        ours.append(middle - start)
        peers.append(time.process_time() - middle)
        require(not equal and json.loads(found)["arrays"][0]["mismatched"] == ELEMENTS, "compare_launch")
    return statistics.median(ours) / statistics.median(peers)


#: Of cudasim alone.
OWN = {
    f"compare_{dtype}": lambda dtype=dtype: _ratio(dtype, (ELEMENTS,))
    for dtype in ("float32", "float64", "int32", "int64")
}
OWN["compare_matrix"] = lambda: _ratio("float32", (ELEMENTS // 1024, 1024))

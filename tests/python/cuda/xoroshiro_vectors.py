"""Numba's own states and random numbers, which test_random.py compares with. They were made on the CPU, where
numba.cuda.random's functions run as compiled Python, by a Python that has numba and numba-cuda 0.30:

    python tests/python/cuda/xoroshiro_vectors.py
"""

import json
import pathlib

FILE = pathlib.Path(__file__).with_suffix(".json")
#: (number of states, seed, subsequence_start)
CASES = [(5, 1, 0), (4, 0, 2), (3, 2**63 + 11, 1), (2, 2**64 - 1, 0)]
DRAWS = 8
#: name → dtype; the bits are written as hexadecimal digits
GENERATORS = {
    "xoroshiro128p_next": "u8",
    "xoroshiro128p_uniform_float32": "f4",
    "xoroshiro128p_uniform_float64": "f8",
    "xoroshiro128p_normal_float32": "f4",
    "xoroshiro128p_normal_float64": "f8",
}


def state_words(states):
    return [[f"{int(state[field]):016x}" for field in ("s0", "s1")] for state in states]


def main():
    import numpy as np
    from numba.cuda import random

    rows = []
    for count, seed, start in CASES:
        row = {"count": count, "seed": seed, "start": start, "draws": {}}
        states = np.zeros(count, random.xoroshiro128p_dtype)
        random.init_xoroshiro128p_states_cpu(states, np.uint64(seed), start)
        row["states"] = state_words(states)
        for name, dtype in GENERATORS.items():
            own = states.copy()
            generator = getattr(random, name)
            values = [[generator(own, index) for index in range(count)] for _ in range(DRAWS)]
            row["draws"][name] = [
                [np.array(value, ">" + dtype).tobytes().hex() for value in line] for line in values
            ]
        row["after"] = state_words(own)
        random.xoroshiro128p_jump(own, 0)
        row["jumped"] = state_words(own)
        rows.append(row)
    FILE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


if __name__ == "__main__":
    main()

"""Vectors made as long as 1, and angles between them: generalised ufuncs of the CUDA target.

ENABLE_CUDASIM=1 python examples/normalise_vectors.py
"""

import math

import numpy as np
from numba import cuda, guvectorize


@guvectorize(["void(float32[:], float32[:])", "void(float64[:], float64[:])"], "(n)->(n)", target="cuda")
def normalise(vector, result):
    squares = vector[0] * vector[0]
    for i in range(1, vector.shape[0]):
        squares += vector[i] * vector[i]
    for i in range(vector.shape[0]):
        result[i] = vector[i] / math.sqrt(squares)


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()", target="cuda")
def angle(a, b, result):
    cosine = 0.0
    for i in range(a.shape[0]):
        cosine += a[i] * b[i]
    result[0] = math.acos(min(1.0, max(-1.0, cosine)))


def angles_with(vectors, direction):
    """The angle of each vector with one direction."""
    units = normalise(cuda.to_device(vectors))
    return angle(units, normalise(direction)).copy_to_host()


def main():
    vectors = np.random.default_rng(4).normal(size=(10_000, 3))
    lengths = np.linalg.norm(normalise(vectors), axis=1)
    assert np.allclose(lengths, 1.0)
    angles = angles_with(vectors, np.array([0.0, 0.0, 2.0]))
    assert abs(np.degrees(angles.mean()) - 90) < 2
    print("normalise_vectors: 10000 vectors of length 1, about 90 degrees from an axis on average")


if __name__ == "__main__":
    main()

"""Gravitation among bodies: all pairs, each block stages the bodies through shared memory tile by tile.

ENABLE_CUDASIM=1 python examples/n_body.py
"""

import math

import numpy as np
from numba import cuda, float32

TILE = 128
SOFTENING = float32(1e-3)


@cuda.jit(fastmath=True)
def accelerate(positions, masses, accelerations):
    tile = cuda.shared.array((TILE, 4), float32)
    i = cuda.grid(1)
    bodies = masses.size
    x = y = z = float32(0)
    if i < bodies:
        x, y, z = positions[i, 0], positions[i, 1], positions[i, 2]
    ax = ay = az = float32(0)
    for first in range(0, bodies, TILE):
        other = first + cuda.threadIdx.x
        for axis in range(3):
            tile[cuda.threadIdx.x, axis] = positions[other, axis] if other < bodies else float32(0)
        tile[cuda.threadIdx.x, 3] = masses[other] if other < bodies else float32(0)
        cuda.syncthreads()
        for j in range(TILE):
            dx = tile[j, 0] - x
            dy = tile[j, 1] - y
            dz = tile[j, 2] - z
            inverse = float32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            pull = tile[j, 3] * inverse * inverse * inverse
            ax += pull * dx
            ay += pull * dy
            az += pull * dz
        cuda.syncthreads()
    if i < bodies:
        accelerations[i, 0], accelerations[i, 1], accelerations[i, 2] = ax, ay, az


@cuda.jit
def move(positions, velocities, accelerations, step):
    i, axis = cuda.grid(2)
    if i < positions.shape[0] and axis < 3:
        velocities[i, axis] += accelerations[i, axis] * step
        positions[i, axis] += velocities[i, axis] * step


def simulate(positions, velocities, masses, steps, step):
    """Positions and velocities (bodies, 3) after some steps of the leapfrog method, in float32."""
    bodies = masses.size
    positions, velocities = cuda.to_device(positions), cuda.to_device(velocities)
    masses = cuda.to_device(masses)
    accelerations = cuda.device_array((bodies, 3), dtype=np.float32)
    for _ in range(steps):
        accelerate[(bodies + TILE - 1) // TILE, TILE](positions, masses, accelerations)
        move[((bodies + 31) // 32, 1), (32, 3)](positions, velocities, accelerations, float32(step))
    return positions.copy_to_host(), velocities.copy_to_host()


def main():
    random = np.random.default_rng(2)
    positions = random.normal(size=(500, 3)).astype(np.float32)
    velocities = np.zeros_like(positions)
    masses = random.random(500, dtype=np.float32) + np.float32(0.5)
    _, velocities = simulate(positions, velocities, masses, 10, 1e-4)
    momentum = np.abs((masses[:, None] * velocities).sum(axis=0)).max()
    assert momentum < 1e-3 * np.abs(masses[:, None] * velocities).sum()
    print("n_body: 500 bodies, 10 steps, the sum of all momenta stayed zero")


if __name__ == "__main__":
    main()

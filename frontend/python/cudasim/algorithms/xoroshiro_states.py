"""States of many xoroshiro128+ generators, each 2**64 numbers after the one before it.

A jump is linear over the bits of a state, so it is a 128 x 128 matrix of bits, and as many states as there are already
are made at once by the jump as wide as they are: J, J², J⁴, … A matrix is the images of the 128 bits, as (128, 2) uint64.
"""

from __future__ import annotations

import functools

import numpy as np

_POLYNOMIAL = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)  # of 2**64 steps
_MASK = (1 << 64) - 1


def fill_states(states: np.ndarray, seed: int, subsequence_start: int) -> None:
    """Sets an array of records with the fields s0 and s1, in one dimension."""
    count = states.shape[0]
    if not count:
        return
    words = np.empty((count, 2), np.uint64)
    words[:1] = _split_mix(int(seed))
    jump, skipped = _jump(), int(subsequence_start) & _MASK
    while skipped:
        if skipped & 1:
            words[:1] = _image(jump, words[:1])
        jump, skipped = _image(jump, jump), skipped >> 1
    jump, done = _jump(), 1
    while done < count:
        more = min(done, count - done)
        words[done : done + more] = _image(jump, words[:more])
        done += more
        if done < count:
            jump = _image(jump, jump)
    states["s0"], states["s1"] = words[:, 0], words[:, 1]


def _split_mix(seed):
    """The first number of SplitMix64, which both words of the first state are."""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def _rotated(words, bits):
    return words << np.uint64(bits) | words >> np.uint64(64 - bits)


@functools.cache
def _jump():
    """The matrix of a jump: 128 states of one bit each, jumped as the generator's authors do."""
    basis = np.zeros((128, 2), np.uint64)
    for bit in range(128):
        basis[bit, bit // 64] = 1 << bit % 64
    s0, s1 = basis[:, 0].copy(), basis[:, 1].copy()
    result = np.zeros_like(basis)
    for word in _POLYNOMIAL:
        for bit in range(64):
            if word >> bit & 1:
                result[:, 0] ^= s0
                result[:, 1] ^= s1
            s1 ^= s0
            s0, s1 = _rotated(s0, 55) ^ s1 ^ s1 << np.uint64(14), _rotated(s1, 36)
    return result


def _image(matrix, states):
    """The matrix times each of the states, a byte at a time."""
    octets = np.ascontiguousarray(states, "<u8").view(np.uint8)
    result = np.zeros(states.shape, np.uint64)
    for octet in range(16):
        table = np.zeros((256, 2), np.uint64)
        for bit in range(8):
            table[1 << bit : 2 << bit] = table[: 1 << bit] ^ matrix[8 * octet + bit]
        result ^= table[octets[:, octet]]
    return result

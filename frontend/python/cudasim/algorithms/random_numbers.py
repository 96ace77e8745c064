"""Random numbers in kernels: numba.cuda.random's generators, xoroshiro128+ with one state per thread.

The generator and its jump are Blackman and Vigna's (https://prng.di.unimi.it/xoroshiro128plus.c, version of 2016), states
begin with a step of SplitMix64 (https://prng.di.unimi.it/splitmix64.c). States and uniform numbers have Numba's bits for
the same seed; normal numbers are Box and Muller's transform with the host's logarithm and cosine.

The functions below are device functions; called on the host they run there, on NumPy arrays of states.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from cudasim.algorithms.xoroshiro_states import fill_states
from cudasim.launch.dispatcher import CUDADispatcher
from cudasim.memory.array_functions import device_array
from cudasim.type_system.numpy_support import from_dtype
from cudasim.types import float32, float64, int64, uint32, uint64

if TYPE_CHECKING:
    from typing import Any

    from cudasim.memory.device_array import DeviceNDArray

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)

TWO_PI_FLOAT32 = np.float32(2 * math.pi)
TWO_PI_FLOAT64 = np.float64(2 * math.pi)


def __getattr__(name: str) -> Any:
    if name == "xoroshiro128p_type":  # Numba's own type once numba is imported, which may come later
        return from_dtype(xoroshiro128p_dtype)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _OnBothSides(CUDADispatcher):
    """A device function that host code may call, too."""

    def host_call(self, *args, **kwargs):
        with np.errstate(over="ignore"):
            return self.py_func(*args, **kwargs)


def _on_both_sides(function):
    return _OnBothSides(function, {}, device=True)


@_on_both_sides
def init_xoroshiro128p_state(states: Any, index: Any, seed: Any) -> None:
    """Sets states[index] from a seed of 64 bits."""
    index = int64(index)
    z = uint64(seed) + uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint32(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint32(27))) * uint64(0x94D049BB133111EB)
    z = z ^ (z >> uint32(31))
    states[index]["s0"] = z
    states[index]["s1"] = z


@_on_both_sides
def rotl(x: np.integer, k: int) -> np.integer:
    """x with its 64 bits rotated to the left by k."""
    return (uint64(x) << uint32(k)) | (uint64(x) >> uint32(64 - k))


@_on_both_sides
def xoroshiro128p_next(states: np.ndarray, index: int | np.integer) -> np.integer:
    """The next 64 random bits of states[index]."""
    index = int64(index)
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    result = s0 + s1
    s1 = s1 ^ s0
    states[index]["s0"] = rotl(s0, 55) ^ s1 ^ (s1 << uint32(14))
    states[index]["s1"] = rotl(s1, 36)
    return result


@_on_both_sides
def xoroshiro128p_jump(states: np.ndarray, index: int) -> None:
    """Advances states[index] by 2**64 numbers."""
    index = int64(index)
    polynomial = (uint64(0xBEAC0467EBA5FACB), uint64(0xD86B048B86AA9922))
    s0 = uint64(0)
    s1 = uint64(0)
    for word in range(2):
        for bit in range(64):
            if (polynomial[word] >> uint32(bit)) & uint64(1):
                s0 = s0 ^ states[index]["s0"]
                s1 = s1 ^ states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


@_on_both_sides
def uint64_to_unit_float64(x: np.integer) -> np.floating:
    """64 random bits as a float64 in [0, 1)."""
    return float64(uint64(x) >> uint32(11)) * float64(2.0**-53)


@_on_both_sides
def uint64_to_unit_float32(x: np.integer) -> np.floating:
    """64 random bits as a float32: the float64 rounded, so 1.0 comes up, once in 2**25."""
    return float32(uint64_to_unit_float64(x))


@_on_both_sides
def xoroshiro128p_uniform_float32(states: np.ndarray, index: int) -> np.floating:
    """The next uniformly distributed float32 of states[index]."""
    return uint64_to_unit_float32(xoroshiro128p_next(states, index))


@_on_both_sides
def xoroshiro128p_uniform_float64(states: np.ndarray, index: int) -> np.floating:
    """The next uniformly distributed float64 in [0, 1) of states[index]."""
    return uint64_to_unit_float64(xoroshiro128p_next(states, index))


@_on_both_sides
def xoroshiro128p_normal_float32(states: np.ndarray, index: int) -> np.floating:
    """The next normally distributed float32 of states[index], of mean 0 and deviation 1. Takes two numbers."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    radius = float32(math.sqrt(float32(-2.0) * float32(math.log(u1))))
    return radius * float32(math.cos(TWO_PI_FLOAT32 * u2))


@_on_both_sides
def xoroshiro128p_normal_float64(states: np.ndarray, index: int) -> float:
    """The next normally distributed float64 of states[index], of mean 0 and deviation 1. Takes two numbers; as in Numba
    they are uniform float32."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(float64(-2.0) * float32(math.log(u1))) * math.cos(TWO_PI_FLOAT64 * u2)


def init_xoroshiro128p_states_cpu(states: np.ndarray, seed: int, subsequence_start: int) -> None:
    """Sets a host array of states: each is 2**64 numbers after the one before it."""
    fill_states(states, seed, subsequence_start)


def init_xoroshiro128p_states(
    states: DeviceNDArray, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> None:
    """Sets a device array of states from a seed; they give sequences that do not overlap for 2**64 numbers each.

    :param subsequence_start: how many sequences to leave out at the beginning
    """
    host = np.empty(states.shape, xoroshiro128p_dtype)
    fill_states(host, seed, subsequence_start)
    states.copy_to_device(host, stream=stream)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> DeviceNDArray:
    """A device array of n states from a seed: see init_xoroshiro128p_states."""
    states = device_array(n, dtype=xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states

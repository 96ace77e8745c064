"""numba.cuda.random's names."""
# ruff: noqa: F401

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.algorithms import random_numbers as _random_numbers
from cudasim.algorithms.random_numbers import (
    TWO_PI_FLOAT32,
    TWO_PI_FLOAT64,
    create_xoroshiro128p_states,
    init_xoroshiro128p_state,
    init_xoroshiro128p_states,
    init_xoroshiro128p_states_cpu,
    rotl,
    uint64_to_unit_float32,
    uint64_to_unit_float64,
    xoroshiro128p_dtype,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    if name == "xoroshiro128p_type":
        return _random_numbers.xoroshiro128p_type
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Orders of threads under which `cudasim check` and `cudasim replay` repeat launches, and the tokens that name them.

A schedule's name is its policy and its seed: "reverse", "pct-3". A token names one launch of a program under one
schedule: "2:pct-3:5f8e21aa" is launch 2; the number at the end says which kernel and configuration that was.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

_SEEDED = ("preempt", "pct", "starve", "random")
_UNSEEDED = ("forward", "reverse", "lockstep")


class Schedule(NamedTuple):
    """Options of a launch, and what they are called."""

    name: str
    options: dict[str, Any]


#: The names of more schedules are not made.
MOST = 100_000
_HIGHEST_SEED = 2**64 - 1


class TokenError(ValueError):
    """Not a token, or one of another program."""


class CountError(ValueError):
    """More schedules than there may be."""


class Token(NamedTuple):
    """What a token says."""

    launch: int  #: its number in the program, from 1
    schedule: Schedule
    fingerprint: str


def named(name: str) -> Schedule:
    """The schedule of that name.

    :raises TokenError: when there is none
    """
    policy, dash, seed = name.partition("-")
    if (policy in _SEEDED and _is_number(seed)) if dash else policy in _UNSEEDED:
        if dash and (len(seed) > 20 or int(seed) > _HIGHEST_SEED):
            raise TokenError(f"the seed of {name!r} is too large; the largest is {_HIGHEST_SEED}")
        chosen: dict[str, Any] = {"policy": policy, "workers": 1}
        if dash:
            chosen["seed"] = int(seed)
        if policy == "pct":
            chosen["pct_depth"] = (1, 3, 2)[int(seed) % 3]
        if policy == "preempt":
            chosen["preemption"] = (0.125, 0.5, 0.25)[int(seed) % 3]
        return Schedule(name, chosen)
    raise TokenError(
        f"{name!r} is no schedule; it is forward, reverse, lockstep, or random, preempt, pct or starve with a seed: pct-3"
    )


def first(count: int, own: str = "forward") -> list[Schedule]:
    """So many schedules: the reverse of the program's own, lockstep, then the other policies in turn with the seeds 1, 2, ...

    :param own: the policy that the program has
    :raises CountError: for more than MOST
    """
    if count > MOST:
        raise CountError(f"{count} schedules are too many; there may be {MOST}")
    names = [name for name in ("reverse", "forward") if name != own][:1] + ["lockstep"]
    seed = 1
    while len(names) < count:
        names += [f"{policy}-{seed}" for policy in ("preempt", "pct", "starve")]
        if seed % 3 == 1:
            names.append(f"random-{seed}")
        seed += 1
    return [named(name) for name in names[:count]]


def fingerprint(identity: str) -> str:
    """:param identity: of a plan: kernel, grid, block"""
    return f"{zlib.crc32(identity.encode()):08x}"


def token(launch: int, schedule: str, identity: str) -> str:
    """The token of a launch of a program under a schedule."""
    return f"{launch}:{schedule}:{fingerprint(identity)}"


def parsed(text: str) -> Token:
    """A token's parts.

    :raises TokenError: when it is none
    """
    parts = text.split(":")
    number = parts[0]
    if (
        len(parts) != 3
        or not _is_number(number)
        or len(number) > 18
        or int(number) == 0
        or len(parts[2]) != 8
    ):
        raise TokenError(
            f"{text!r} is no schedule's token; the report of a finding has one, like 2:pct-3:5f8e21aa"
        )
    return Token(int(number), named(parts[1]), parts[2])


def _is_number(text):
    return text.isascii() and text.isdecimal()

"""Random kernels against an oracle that compares every pair of their accesses.

A kernel is a list of statements without loops, so what each thread accesses, in which phase between barriers, is known without
running it. CUDASIM_FUZZ_RACES says how many kernels there are for each seed of pytest's parameters (`make fuzz-races`).
"""

import importlib.util
import itertools
import os
import random

import cudasim
import numpy as np
import pytest
from cudasim import options

KERNELS = int(os.environ.get("CUDASIM_FUZZ_RACES", "300"))
WORDS = 32

HEAD = """
from cudasim import cuda
from cudasim.types import int32, uint8

@cuda.jit
def kernel(g, bytes_, out):
    s = cuda.shared.array(%d, int32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    total = 0
"""

INDICES = (
    "t % 32",
    "(t + 1) % 32",
    "(t ^ 1) % 32",
    "(t + 32) % 32",
    "t // 2 % 32",
    "b",
    "5",
    "(t * 7 + 3) % 32",
    "31 - t % 32",
)
CONDITIONS = (
    "True",
    "True",
    "True",
    "t == 0",
    "t == 3",
    "t < 16",
    "t >= 32",
    "b == 0",
    "b == 1 and t == 1",
    "t % 2 == 0",
)
POLICIES = (
    {},
    {"policy": "reverse"},
    {"policy": "random", "seed": 5},
    {"carrier": "fiber"},
    {"mode": "python"},
)


class Statement:
    """A line of the kernel."""

    def __init__(self, draw):
        self.kind = draw.choices(("access", "block", "warp"), (12, 3, 1))[0]
        self.condition, self.index = draw.choice(CONDITIONS), draw.choice(INDICES)
        self.array = draw.choice(("s", "s", "g", "g", "bytes_"))
        self.access = draw.choices(("read", "write", "atomic"), (4, 3, 2))[0]
        if self.array == "bytes_" and self.access == "atomic":
            self.access = "read"

    def text(self, number):
        if self.kind != "access":
            return "cuda.syncthreads()" if self.kind == "block" else "cuda.syncwarp()"
        place = f"{self.array}[{self.index}]"
        value = f"t + 1000 * b + {number}"
        if self.array == "bytes_":
            value = f"uint8({value})"
        action = {
            "read": f"total += {place}",
            "write": f"{place} = {value}",
            "atomic": f"cuda.atomic.add({self.array}, {self.index}, 1)",
        }[self.access]
        return action if self.condition == "True" else f"if {self.condition}: {action}"


def races_of(statements, first_line, blocks, threads):
    """The pairs of lines that race: every pair of accesses of different threads is compared."""
    seen = {}  # (array, block of a shared array, element) → accesses
    for block, thread in itertools.product(range(blocks), range(threads)):
        phase = warp_phase = 0
        for line, statement in enumerate(statements, first_line):
            if statement.kind == "block":
                phase += 1
            elif statement.kind == "warp":
                warp_phase += 1
            elif eval(statement.condition, {"t": thread, "b": block}):
                element = eval(statement.index, {"t": thread, "b": block})
                key = (statement.array, block if statement.array == "s" else None, element)
                access = (block, thread, phase, warp_phase, statement.access, line)
                seen.setdefault(key, []).append(access)
    pairs = set()
    for accesses in seen.values():
        for one, other in itertools.combinations(accesses, 2):
            if one[:2] == other[:2] or one[4] == other[4] != "write":
                continue
            if one[0] == other[0]:
                same_warp = one[1] // 32 == other[1] // 32
                if one[2] != other[2] or (same_warp and one[3] != other[3]):
                    continue
            pairs.add(tuple(sorted((one[5], other[5]))))
    return pairs


def module_of(path, text):
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("part", range(4))
def test_random_kernels_have_the_races_of_the_oracle(part, tmp_path):
    racy = clean = 0
    for number in range(part, KERNELS, 4):
        draw = random.Random(number)
        statements = [Statement(draw) for _ in range(draw.randint(3, 9))]
        blocks, threads = draw.choice(((1, 64), (2, 32), (3, 40)))
        head = HEAD % WORDS
        text = head + "".join(f"    {each.text(line)}\n" for line, each in enumerate(statements))
        text += f"    out[b * {threads} + t] = total\n"
        expected = races_of(statements, head.count("\n") + 1, blocks, threads)
        module = module_of(tmp_path / f"kernel_{number}.py", text)
        arrays = [np.zeros(WORDS, np.int32), np.zeros(WORDS, np.uint8), np.zeros(blocks * threads, np.int64)]
        chosen = POLICIES[number // 4 % len(POLICIES)]
        with options.override(**chosen), cudasim.check("races") as found:
            module.kernel[blocks, threads](*arrays)
        pairs = {tuple(sorted(access.place.line for access in each.accesses)) for each in found}
        shown = f"kernel {number}, {blocks} blocks of {threads}, {chosen}: {pairs} for {expected}\n{text}"
        assert bool(pairs) == bool(expected), shown
        assert pairs <= expected, shown
        racy, clean = racy + bool(expected), clean + (not expected)
    assert racy > KERNELS / 20 and clean > KERNELS / 40

"""Reports of launches whose results on a GPU are made up."""

import importlib.util
import json

import numpy as np
from cudasim import _native
from cudasim.comparing import report as parts

WHERE = {"file": "saxpy.py", "line": 12, "function": "main"}
GPU = {"name": "NVIDIA H100", "compute_capability": "9.0", "driver": "570.86"}


def array(name, simulated, gpu, before=None, address=0x1000, **tolerance):
    """An array as _native.compare_launch takes it; the views lie in the memory of their own."""
    return {
        "name": name,
        "dtype": str(simulated.dtype),
        "shape": simulated.shape,
        "address": address,
        "simulated": memory_of(simulated),
        "gpu": memory_of(gpu),
        "before": None if before is None else memory_of(before),
        **tolerance,
    }


def memory_of(values):
    """NumPy does not give the memory of dates and records of every kind as a buffer."""
    return np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)


def launch(*arrays, memory=(), printed=None, number=3, **members):
    found = json.loads(_native.compare_launch(list(arrays), list(memory), printed))
    known = {
        "number": number,
        "kernel": "saxpy",
        "grid": [4, 1, 1],
        "block": [256, 1, 1],
        "where": dict(WHERE),
        "gpu": dict(GPU),
        "milliseconds": 0.02,
        "status": "ran",
    }
    return {**known, **found, **members}


def report(*launches):
    """The report, which is valid."""
    made = parts.report_of(launches)
    validate(made)
    return made


def validate(made):
    """Where jsonschema is installed."""
    if importlib.util.find_spec("jsonschema"):
        import jsonschema

        jsonschema.validate(json.loads(json.dumps(made)), parts.schema(), jsonschema.Draft202012Validator)


def differing_launch(**members):
    """A launch with everything in it that a report can have."""
    simulated = np.arange(1024, dtype=np.float32)
    gpu = simulated.copy()
    gpu[[7, 8]] = [7.5, 0]
    same = np.zeros((2, 3), np.int32)
    close = np.ones(5)
    made = launch(
        array("x", same, same, address=0x9000),
        array("y", close, close + [0, 0, 0, 0, 1e-12], address=0x8000),
        array("out", simulated, gpu, np.zeros_like(gpu)),
        memory=[{"label": "array 'out'", "address": 0x2000, "simulated": bytes(8), "gpu": bytes(7) + b"\x2a"}],
        printed=("one\ntwo\n", "one\nthree\n"),
        faults=[{"kind": "out-of-bounds", "message": "index 9 of 8", "thread": [1, 0, 0], "block": [2, 0, 0],
                 "where": WHERE}],
        explanations=[
            {"cause": "fma", "removes": 2, "moves": 0, "of": 2, "text": "The GPU fuses a * x + y.",
             "locations": [{"file": "saxpy.py", "line": 5}]},
            {"cause": "race", "removes": 0, "moves": 2, "of": 2, "text": "Two threads write out[7].", "locations": []},
        ],
        **members,
    )  # fmt: skip
    write = {
        "thread": [7, 0, 0],
        "block": [0, 0, 0],
        "file": "saxpy.py",
        "line": 5,
        "value": "7.0",
        "atomic": False,
    }
    read = {"name": "x", "index": [7], "value": "3.5", "file": "saxpy.py", "line": 5}
    many = {"total_writes": 58, "more_reads": True}
    parts.add_accesses(
        made, {0x1000 + 7 * 4: {"writes": [write], "reads": [read], **many}, 0x1000 + 8 * 4: {"writes": []}}
    )
    return made

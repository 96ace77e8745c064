"""Compares the launches of this process with the stand-in GPU, or records them for a real one, and writes what came out, a line of
JSON for each launch.

The variable LAUNCH_COMPARISON has what to do as JSON (class Wanted). `install()` does it in this process; in processes that it
starts, start/sitecustomize.py does.
"""

from __future__ import annotations

import atexit
import collections
import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading

VARIABLE = "LAUNCH_COMPARISON"
START = pathlib.Path(__file__).with_name("start")


@dataclasses.dataclass
class Wanted:
    """What is compared."""

    folder: str  #: gets a file of lines for each process, and a record of each launch that differs
    stand_in: str = ""  #: the driver's library
    architecture: str = (
        ""  #: launches are recorded for GPUs from this one on ("sm_80") instead, a file for each process
    )
    fma: bool = True
    libdevice: str = "auto"
    most_of_a_test: int = 0  #: kernels of a test function, those of all its parameters together; 0: all
    repeated: bool = False  #: also further launches of a kernel; else only the first one
    most_threads: int = 20_000
    most_bytes: int = 64 << 20

    def in_environment(self) -> None:
        os.environ[VARIABLE] = json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_environment() -> Wanted | None:
        text = os.environ.get(VARIABLE)
        return Wanted(**json.loads(text)) if text else None


def test_name() -> str:
    """The test that runs, or that has started this program."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0] or sys.argv[0]


class Collector:
    """Takes the records of all launches of this process."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._folder = pathlib.Path(wanted.folder)
        for name in ("known", "records", "rows"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        self._busy = threading.local()
        self._taken = collections.Counter()
        self._writer = None
        self._pid = os.getpid()

    def take(self, record) -> None:
        if getattr(self._busy, "now", False) or record.runs_in_front_end:
            return
        if not self._is_chosen(record):
            return
        self._busy.now = True
        try:
            row = self._kept(record) if self._wanted.architecture else self._compared(record)
        finally:
            self._busy.now = False
        self._write({"test": test_name(), **row})

    def refuse(self, sentence: str) -> None:
        if "in Python mode" not in sentence:
            self._write({"test": test_name(), "kernel": "", "outcome": "not recorded", "reason": sentence})

    def _write(self, row) -> None:
        with open(self._folder / "rows" / f"{os.getpid()}.jsonl", "a") as file:
            file.write(json.dumps(row) + "\n")

    def _is_chosen(self, record) -> bool:
        threads = 1
        for extent in (*record.grid, *record.block):
            threads *= extent
        if threads > self._wanted.most_threads:
            return False
        if (
            sum(entry["bytes"] for entry in record.memory if entry["kind"] != "freed")
            > self._wanted.most_bytes
        ):
            return False
        key = hashlib.sha256(record.image.serialise() + record.kernel.encode()).hexdigest()[:24]
        if self._wanted.repeated:
            return True
        function = test_name().partition("[")[0]
        if 0 < self._wanted.most_of_a_test <= self._taken[function]:
            return False
        try:
            os.close(os.open(self._folder / "known" / key, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        self._taken[function] += 1
        return True

    def _kept(self, record):
        from cudasim import _native, errors

        row = {"kernel": record.display_name, "fma": record.options["fma"]}
        if os.getpid() != self._pid:
            return row | {"outcome": "not recorded", "reason": "a process that was forked"}
        path = self._folder / "records" / f"{self._pid}.cudasim"
        try:
            _native.add_gpu_code(record, self._wanted.architecture)
            if refusal := _native.gpu_code(record)["refusal"]:
                return row | {"outcome": "refused", "reason": refusal}
            if self._writer is None:
                self._writer = _native.RecordWriter(str(path))
                atexit.register(self._close)
            self._writer.add(record)
        except (errors.RecordError, ValueError) as error:
            return row | {"outcome": "not recorded", "reason": str(error)}
        return row | {"outcome": "recorded", "reason": "", "record": path.name, "number": record.number}

    def _close(self):
        if os.getpid() == self._pid:  # not in processes that were forked
            self._writer.close()

    def _compared(self, record):
        from cudasim import errors
        from cudasim.comparing.arrays import tolerances_of
        from cudasim.comparing.session import compare_record
        from cudasim.recording.recorder import file_of

        row = {"kernel": record.display_name, "fma": record.options["fma"]}
        try:
            launch = compare_record(record, tolerances_of(exact=True))
        except errors.NoGpuError:
            raise
        except Exception as error:  # noqa: BLE001 - one launch of thousands
            row |= {"outcome": "error", "reason": f"{type(error).__name__}: {error}"}
        else:
            row |= judged(launch)
        if row["outcome"] in ("different", "error"):
            name = f"{os.getpid()}-{len(list((self._folder / 'records').iterdir()))}.cudasim"
            try:
                (self._folder / "records" / name).write_bytes(file_of(record))
                row["record"] = name
            except errors.RecordError as error:
                row["record"] = str(error)
        return row


def judged(launch) -> dict:
    """The outcome of a compared launch: "equal", "different", "refused" or "not compared", and the reason."""
    status = launch["status"]
    if status == "refused":
        return {"outcome": "refused", "reason": launch["message"]}
    if status == "not-compared":
        return {"outcome": "not compared", "reason": launch["message"]}
    if status == "failed":
        return {"outcome": "different", "reason": "failed: " + launch["message"]}
    reasons = []
    for array in launch["arrays"]:
        nan_bits = (array.get("nan") or {}).get("other_bits", 0)
        if array["verdict"] == "different":
            first = array["elements"][0] if array["elements"] else {}
            values = f"{(first.get('simulated') or {}).get('value')} on the simulator, {(first.get('gpu') or {}).get('value')} on the GPU"
            reasons.append(
                f"{array['mismatched']} elements of {array['name']} ({array['dtype']}), first {values}"
            )
        elif nan_bits:
            reasons.append(f"bits of {nan_bits} NaN in {array['name']}")
    for outside in launch["outside"]:
        if outside.get("differing"):
            reasons.append(f"{outside['differing']} bytes of {outside['near']}")
    printed = launch.get("printed")
    if printed and printed.get("verdict", "same") != "same":
        reasons.append(f"printed lines: {json.dumps(printed)[:400]}")
    reasons += [f"fault: {fault['kind']}: {fault['message']}" for fault in launch.get("faults", ())]
    if launch.get("stray"):
        reasons.append(f"{launch['stray']['bytes']} bytes outside of every allocation")
    if not reasons and launch.get("verdict") != "same":
        reasons.append(f"verdict {launch.get('verdict')}")
    if reasons:
        return {"outcome": "different", "reason": "; ".join(reasons)}
    return {"outcome": "equal", "reason": ""}


def install(wanted: Wanted) -> None:
    """Compares the launches of this process from now on. A recorder of a test comes first: while it is in force nothing is compared."""
    import cudasim
    from cudasim import _native, options
    from cudasim.launch import recording
    from cudasim.recording.recorder import Recorder

    if wanted.stand_in:
        os.environ["CUDASIM_LIBCUDA"] = wanted.stand_in
        planted = os.environ.get("LAUNCH_COMPARISON_PLANTED", "")
        os.environ["CUDASIM_TEST_LIBCUDA"] = "shared=poison;explain=1" + planted
    _defaults.append(
        options.defaults("the comparison of launches", fma=wanted.fma, libdevice=wanted.libdevice)
    )
    _defaults[-1].__enter__()
    collector = Collector(wanted)
    ours = Recorder(collector.take, None, collector.refuse, keep_after=True)
    record_launches = _native.record_launches
    others = False  # whether a test's recorder is in force

    def shared(wants, *arguments):
        nonlocal others
        others = wants is not None
        if others:
            recording.recorder = None
            record_launches(wants, *arguments)
        else:
            record_launches(ours._wants, ours._taken, cudasim.__version__, True)
            recording.recorder = ours

    _native.record_launches = shared
    _native.recording = lambda: others
    shared(None)


_defaults = []  # in force until the process ends


def compare_in_programs() -> None:
    """Lets Python programs that this process starts compare their launches, too, unless they have a PYTHONPATH of their own."""
    start = subprocess.Popen.__init__

    def started(self, args, *rest, **keywords):
        environment = keywords.get("env") or os.environ
        program = args[0] if isinstance(args, (list, tuple)) and args else args
        if program == sys.executable and environment.get("PYTHONPATH") in (None, str(START.parent)):
            keywords["env"] = {**environment, "PYTHONPATH": str(START), VARIABLE: os.environ[VARIABLE]}
        start(self, args, *rest, **keywords)

    subprocess.Popen.__init__ = started

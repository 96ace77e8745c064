"""Records launches that a real GPU runs, with what it made of them.

The program runs on the GPU as always. Each launch also runs on the simulator, on the memory that it found on the GPU, in memory of the
simulator's own: that makes a record (recorder.py) of the launch as cudasim compiles it. What the GPU left in memory goes to a file of
results, in the format of cudasim-gpu-run, so that `cudasim diff` compares the two.
"""

from __future__ import annotations

import contextlib
import io
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from cudasim import _native, cuda, options
from cudasim.recording.real_launch import CannotRecord, MovedArguments, printed_by_gpu
from cudasim.recording.recorder import Recorder, Selection, for_gpu

if TYPE_CHECKING:
    from cudasim.recording.real_launch import RealLaunch

#: Kernels that are kept compiled for the simulator.
_MOST_KERNELS = 256


class RealRecordFile:
    """The two files of a run on a GPU: the launches, and what the GPU made of them.

    file = RealRecordFile("run.cudasim", Selection())
    file.open()
    with file.in_force(), numba_cuda.launches_go_to(file.take):
        script()
    file.close()

    :param path: of the launches
    :param architecture: the oldest GPU that the kernels in the records are for, as PTX ("sm_75")
    """

    def __init__(self, path: str, selection: Selection, architecture: str = "sm_75") -> None:
        self.path = os.path.abspath(path)
        stem, ending = os.path.splitext(self.path)
        self.result_path = f"{stem}.gpu{ending}"
        self.refused: list[str] = []
        self.seen = 0  #: launches of the kernels that are asked for
        self.recorded = 0
        self._selection, self._architecture = selection, architecture
        self._writer: Any = None
        self._results: Any = None
        self._recorder = _OneByOne(self._keep, self._refuse)
        self._kernels: dict[Any, Any] = {}
        self._record: Any = None  # of the launch that was simulated last
        self._pid = os.getpid()
        self._lock = threading.RLock()  # several host threads may launch

    def open(self) -> None:
        """Makes the files now. :raises errors.RecordError: where they cannot be written"""
        self._writer = _native.RecordWriter(self.path)
        self._results = _native.GpuResultWriter(self.result_path)

    def close(self) -> None:
        """Ends the files. :raises errors.RecordError: where they cannot be written"""
        self._writer.close()
        self._results.close()

    @contextlib.contextmanager
    def in_force(self) -> Iterator[RealRecordFile]:
        """Launches can be taken inside."""
        # What numba compiles is compiled here, too, or refused: Python mode has no code for a GPU.
        native = options.defaults("recording a GPU's launches", mode="native")
        with for_gpu(True), native, self._recorder.in_force():
            yield self

    def take(self, launch: RealLaunch) -> Any:
        """Runs a launch on its GPU, and records it. Returns and raises what the launch itself does."""
        with self._lock:
            number = self._number_of(launch)
            if number == 0:
                return launch.run()
            moved = self._before(launch, number)
            if moved is None:
                return launch.run()
            return self._run_and_record(launch, number, moved)

    def _number_of(self, launch):
        if os.getpid() != self._pid:  # a fork has no GPU, and the files are the parent's
            return 0
        wanted = self._selection
        if wanted.kernel not in (None, launch.function.__name__):
            return 0
        self.seen += 1
        return self.seen if wanted.first <= self.seen <= wanted.last else 0

    def _before(self, launch, number):
        """The arguments on the simulator; None where the launch cannot be recorded."""
        name = launch.function.__name__
        if launch.refusal:
            self._refuse(f"launch {number}: {name}: {launch.refusal}")
            return None
        try:
            launch.gpu.synchronize()
            return MovedArguments(launch, _parameter_names(launch))
        except Exception as error:  # noqa: BLE001 - the program's launch is not to suffer
            self._refuse(f"launch {number}: {name}: {_in_a_line(error)}")
            return None

    def _run_and_record(self, launch, number, moved):
        failure: BaseException | None = None
        result = None
        with printed_by_gpu() as printed:
            try:
                result = launch.run()
                launch.gpu.synchronize()
            except Exception as error:  # noqa: BLE001 - raised again below
                failure = error
        try:
            if failure is None:
                moved.read_results()
            self._record_launch(launch, number, moved, printed(), failure)
        except Exception as error:  # noqa: BLE001 - the program goes on
            self._refuse(f"launch {number}: {launch.function.__name__}: {_in_a_line(error)}")
        if failure is not None:
            raise failure
        return result

    def _record_launch(self, launch, number, moved, printed, failure):
        self._record, self._recorder.number = None, number
        try:
            self._simulate(launch, moved.arguments)
        finally:
            self._recorder.number = 0
        record, self._record = self._record, None
        if record is None:
            return
        if not record.runs_in_front_end:
            _native.add_gpu_code(record, self._architecture)
        self._writer.add(record)
        self.recorded += 1
        after = _after(record, moved.results())
        text = f"{type(failure).__name__}: {failure}" if failure is not None else ""
        self._results.add(record, launch.gpu.description, after, printed, text)

    def _simulate(self, launch, arguments):
        """Runs it here. What the simulator finds is in the record."""
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            kernel = self._kernel_of(launch)
            configured = kernel[launch.grid, launch.block, 0, launch.dynamic_shared_bytes]
            try:
                configured(*arguments)
            except Exception:
                if self._record is None and not self._recorder.has_refused:
                    raise

    def _kernel_of(self, launch):
        signatures = tuple(launch.signatures)
        key = launch.function, str(sorted(launch.options.items())), signatures
        kernel = self._kernels.get(key)
        if kernel is None:
            if len(self._kernels) == _MOST_KERNELS:
                self._kernels.clear()
            declared = list(signatures) or None
            kernel = self._kernels[key] = cuda.jit(declared, **launch.options)(launch.function)
        return kernel

    def _keep(self, record):
        self._record = record

    def _refuse(self, sentence):
        self.refused.append(sentence)


class _OneByOne(Recorder):
    """Records the one launch that has been given a number."""

    def __init__(self, take: Callable[[Any], None], refused: Callable[[str], None]) -> None:
        super().__init__(take, None, refused, keep_after=True)
        self.number = 0
        self.has_refused = False

    def _wants(self, name: str) -> int:
        self.has_refused = False
        return self.number

    def _taken(self, record: Any, number: int, why_not: str) -> None:
        self.has_refused = record is None
        super()._taken(record, number, why_not)


def _parameter_names(launch):
    code = launch.function.__code__
    names = code.co_varnames[: code.co_argcount]
    missing = len(launch.arguments) - len(names)
    return (*names, *(f"argument {len(names) + k}" for k in range(missing)))


def _in_a_line(error):
    if isinstance(error, CannotRecord):
        return str(error)
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" + ("..." if len(text) > 300 else "")


def _after(record, results):
    """For each allocation of the record what the GPU left there; None where nothing is known of it."""
    contents: list[bytes | None] = []
    for index, memory in enumerate(record.memory):
        first, size = memory["address"], memory["bytes"]
        inside = [(address, left) for address, left in results if first <= address < first + size]
        simulated = record.content(index, after=True) if inside and memory["recorded_after"] else None
        if simulated is None:
            contents.append(None)
            continue
        content = bytearray(simulated)
        for address, left in inside:
            content[address - first : address - first + len(left)] = left
        contents.append(bytes(content))
    return contents

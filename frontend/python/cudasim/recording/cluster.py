"""A Dask cluster that runs shares (shares.py) of recorded launches.

    with Cluster("tcp://host:8786") as cluster:
        done = cluster.run(record, ["reverse", "pct-1", ...], wanted)

Dask runs the share of a worker that was lost on another one. Where workers die again and again, each of their
schedules runs alone; those that still end their worker are told. Shares that no worker can take, because the
cluster is gone, run on this machine.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

import cudasim
from cudasim.recording import shares

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudasim.recording.shares import Checked, Done, Replayed

#: How long a cluster may take to answer, and to get a worker, in seconds.
_ANSWER_SECONDS = 10
#: How long a cluster may be without any worker before shares run here, in seconds.
PATIENCE = 60.0
#: Shares for each thread of a worker: more even out how long they take, fewer cost less.
_SHARES_PER_THREAD = 2


class ClusterError(Exception):
    """The cluster cannot be used; one sentence says what to do."""


class Cluster:
    """A connection to the scheduler of a Dask cluster.

    :param address: as dask.distributed.Client takes it ("tcp://host:8786"), or the path of a scheduler file
    :raises ClusterError: when dask is missing, nobody answers, there is no worker, or one has another cudasim
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._is_lost = False
        _require_dask()
        with _quiet():
            self._client = _connected(address)
            try:
                self._check_workers()
            except BaseException:
                self._client.close()
                raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection; the cluster stays."""
        with _quiet():
            self._client.close()

    def _check_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=_ANSWER_SECONDS)
        except TimeoutError:
            raise ClusterError(
                f"the Dask cluster at {self.address} has no workers; start some: dask worker {self.address}"
            ) from None
        # eval is known by name everywhere, functions of this package are not where it is missing.
        found = self._client.run(eval, "__import__('cudasim').__version__", on_error="return")
        for worker, version in sorted(found.items()):
            if isinstance(version, BaseException):
                raise ClusterError(
                    f"the Dask worker {worker} has no cudasim ({_one_line(version)}); "
                    f"install cudasim {cudasim.__version__} there"
                )
            if version != cudasim.__version__:
                raise ClusterError(
                    f"the Dask worker {worker} has cudasim {version}, but this is {cudasim.__version__}; "
                    "install the same version on both sides"
                )

    def run(self, record: bytes, schedules: list[str], wanted: Checked | Replayed) -> list[Done]:
        """Runs a launch under schedules; returns what each came to, in their order.

        :param record: a file of one launch
        :param schedules: their names
        """
        launch = _LaunchOnCluster(self._client, self.address, record, wanted)
        done = launch.done
        try:
            if not self._is_lost:
                with _quiet():
                    launch.run(schedules)
        except _Lost as lost:
            self._is_lost = True
            print(f"cudasim: {lost}; its shares run on this machine", file=sys.stderr)
        rest = [name for name in schedules if name not in done]
        if rest:
            try:
                done.update(
                    (each.schedule, each) for each in shares.run(cudasim.__version__, record, rest, wanted)
                )
            except shares.ShareError as error:
                done.update((name, shares.Done(name, None, f"{shares.NOT_RUN}: {error}")) for name in rest)
        return [done[name] for name in schedules]


class _LaunchOnCluster:
    """One launch under several schedules, in shares, each a task of Dask's."""

    def __init__(self, client: Any, address: str, record: bytes, wanted: Checked | Replayed) -> None:
        self._client, self._address, self._wanted = client, address, wanted
        self._record = record
        self._futures: dict[Any, list[str]] = {}  #: of each share, the schedules
        self._suspects: list[str] = []  #: schedules that a worker had when it died
        self._suspect: Any = None  #: the future of the one that runs alone
        self.done: dict[str, Done] = {}

    def run(self, schedules: list[str]) -> None:
        """Fills `done`, which has what was finished in any case. :raises _Lost: when the cluster is gone"""
        try:
            with self._lost_if_it_fails():
                threads = [worker for worker, count in self._client.nthreads().items() for _ in range(count)]
                # What a task returns is computed again where its worker is lost; what is scattered is not.
                self._data = self._task(bytes, self._record)
            count = min(len(schedules), _SHARES_PER_THREAD * max(1, len(threads)))
            for first in range(count):
                self._submit(schedules[first::count], threads[first % len(threads)] if threads else None)
            while self._futures or self._suspects:
                if not self._futures:
                    self._suspect = self._submit([self._suspects.pop(0)])
                for future in self._finished():
                    if self._take(future, self._futures[future]):
                        del self._futures[future]
        finally:
            if self._futures:
                with contextlib.suppress(Exception):  # of a connection that may be gone
                    self._client.cancel(list(self._futures))

    def _submit(self, names: list[str], worker: str | None = None) -> Any:
        """:param worker: where it should run: by itself Dask would put every share where the record is"""
        where = {"workers": worker, "allow_other_workers": True} if worker is not None else {}
        with self._lost_if_it_fails():
            future = self._task(shares.run, cudasim.__version__, self._data, names, self._wanted, **where)
        self._futures[future] = names
        return future

    def _task(self, function: Any, *arguments: Any, **where: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of arguments that are large: the record has to go there
            return self._client.submit(function, *arguments, pure=False, **where)

    def _finished(self) -> list[Any]:
        """The futures that are over, at least one. :raises _Lost: without a worker for too long"""
        from distributed import wait  # slow, and an extra

        last_seen = time.monotonic()
        while True:
            with contextlib.suppress(TimeoutError), self._lost_if_it_fails(), self._client.as_current():
                wait(list(self._futures), timeout=2, return_when="FIRST_COMPLETED")
            over = [future for future in self._futures if future.status in ("finished", "error", "cancelled")]
            if over:
                return over
            with self._lost_if_it_fails():
                if self._client.nthreads():
                    last_seen = time.monotonic()
            if time.monotonic() - last_seen > PATIENCE:
                raise _Lost(
                    f"the Dask cluster at {self._address} has had no worker for {PATIENCE:.0f} seconds"
                )

    def _take(self, future: Any, names: list[str]) -> bool:
        """False where the share is not over after all: the worker that had its result was lost, too."""
        from distributed import KilledWorker  # slow, and an extra

        status = future.status
        if status == "finished":
            try:
                with self._lost_if_it_fails():
                    results = future.result(timeout=_ANSWER_SECONDS)
            except TimeoutError:
                return False
            self.done.update((each.schedule, each) for each in results)
            return True
        if status == "cancelled":
            raise _Lost(f"the Dask cluster at {self._address} is gone")
        if status != "error":
            return False
        error = future.exception()
        if isinstance(error, KilledWorker) and future is not self._suspect:
            # Dask blames all that the worker had to do. What did it shows when each runs alone.
            self._suspects += names
            return True
        if isinstance(error, KilledWorker):
            how = "the Dask workers that ran it died, one after another"
        else:
            how = f"{type(error).__name__}: {_one_line(error)}"
        self.done.update((name, shares.Done(name, None, f"{shares.NOT_RUN}: {how}")) for name in names)
        return True

    @contextlib.contextmanager
    def _lost_if_it_fails(self) -> Iterator[None]:
        """For calls of the client, which fail in many ways when there is no connection."""
        try:
            yield
        except (TimeoutError, _Lost):
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {_one_line(error)}"
            raise _Lost(f"the Dask cluster at {self._address} is gone ({why})") from None


class _Lost(Exception):
    """There is no cluster any more."""


def _require_dask():
    try:
        import distributed  # noqa: F401 - slow, and an extra
    except ImportError:
        raise ClusterError(
            "--dask needs the Python package dask.distributed; install it with: pip install 'cudasim[dask]'"
        ) from None


def _connected(address: str) -> Any:
    from distributed import Client  # slow, and an extra
    from distributed.comm.addressing import get_address_host_port

    try:
        if os.path.isfile(address):
            return Client(scheduler_file=address, timeout=_ANSWER_SECONDS, set_as_default=False)
        get_address_host_port(address)  # Client fails as well, but leaves something behind
        return Client(address, timeout=_ANSWER_SECONDS, set_as_default=False)
    except (
        Exception
    ) as error:  # OSError, TimeoutError, ValueError and others, by what is wrong with the address
        reason = _one_line(error) or type(error).__name__
        raise ClusterError(
            f"no Dask scheduler answers at {address!r} ({reason}); "
            "give the address that `dask scheduler` prints, like tcp://host:8786"
        ) from None


def _one_line(error):
    return " ".join(str(error).split())


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what Dask writes into its log: errors say what is wrong in one sentence."""
    names = [
        name
        for name in logging.root.manager.loggerDict
        if name == "distributed" or name.startswith("distributed.")
    ]
    before = [(logging.getLogger(name), logging.getLogger(name).level) for name in names]
    for log, _ in before:
        log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for log, level in before:
            log.setLevel(level)

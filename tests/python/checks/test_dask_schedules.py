"""Schedules on the workers of a Dask cluster: the same reports as without one; workers that are lost."""

import os
import re
import sys

import pytest
from cudasim.recording import cluster as clusters
from cudasim.recording import shares
from cudasim.reports import schedules

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed is not installed (pip install 'cudasim[dask]')"
)
dask = pytest.importorskip("dask")

HEAD = """
import numpy as np
from numba import cuda, float32

def zeros(count=8):
    return np.zeros(count, np.int32)
"""

#: name → (program, what its report has, exit status)
PROGRAMS = {
    "race": (
        """
@cuda.jit
def last_block(count, sums, out):
    b = cuda.blockIdx.x
    if cuda.threadIdx.x == 0:
        n = cuda.atomic.add(count, 0, 1)
        sums[b] = b + 1
        if n == cuda.gridDim.x - 1:
            total = 0
            for i in range(cuda.gridDim.x):
                total += sums[i]
            out[0] = total

out = zeros(1)
last_block[6, 2](zeros(1), zeros(), out)
print(out[0])
""",
        r"error: data-race: .*results differ: out\[0\] is 21 under forward, \d+ under \S+-\d+\n",
        1,
    ),
    "fault under some schedules": (
        """
@cuda.jit
def second_needs_first(x, y):
    if cuda.blockIdx.x == 0:
        x[0] = 1
    elif x[0] != 1:
        y[100] = 1

for _ in range(2):
    second_needs_first[2, 1](zeros(), zeros())
""",
        r"error: out-of-bounds-index: index 100 .*order of threads: reverse, (?!lockstep).*pct",
        1,
    ),
    "clean": (
        """
@cuda.jit
def add(x, y):
    y[cuda.grid(1)] += x[cuda.grid(1)]

y = zeros(64)
add[2, 32](np.arange(64, dtype=np.int32), y)
print(y.sum())
""",
        r"1 launch of 1 kernel under 13 schedules: 0 findings",
        0,
    ),
    "order without a race": (
        """
@cuda.jit
def last_value(tickets, out):
    out[cuda.atomic.add(tickets, 0, 1)] = cuda.threadIdx.x

@cuda.jit
def exchange(x):
    cuda.atomic.exch(x, 1, cuda.grid(1))

last_value[1, 32](zeros(1), zeros(32))
exchange[2, 32](zeros(2))
""",
        r"note: order-dependent-results: results of last_value .*: out\[0\] is 0 under forward, 31 under reverse\n"
        r".*note: order-dependent-results: results of exchange .*: x\[1\] is 63 under forward, 0 under reverse",
        0,
    ),
    "memory that nobody wrote": (
        """
@cuda.jit
def plus_one(x, y):
    y[cuda.threadIdx.x] = x[cuda.threadIdx.x] + 1

@cuda.jit
def plus_two(x, y):
    y[cuda.threadIdx.x] = x[cuda.threadIdx.x] + 2

x, y = cuda.device_array(64, np.float32), cuda.device_array(64, np.float32)
plus_one[1, 64](x, y)
x[:20] = x[30:50] = 1
plus_two[1, 64](x, y)
""",
        r"error: uninitialised-value: x\[0\] in global memory .*in kernel plus_one, 64 times.*"
        r"error: uninitialised-value: x\[20\] in global memory .*in kernel plus_two, 24 times.*"
        r"in launch 2 of the program, order of threads: reverse, lockstep, .*, forward\n.* 2 findings ",
        1,
    ),
    "many kinds of memory": (
        """
TABLE = np.arange(8, dtype=np.int32)

@cuda.jit
def looks_up(flag, out):
    table = cuda.const.array_like(TABLE)
    if cuda.blockIdx.x == 0:
        flag[0] = TABLE[3] + table[2]
    elif flag[0] == 0:
        out[1] += 1

@cuda.jit
def records(flag, r):
    if cuda.blockIdx.x == 0:
        cuda.atomic.exch(flag, 0, 1)
    elif cuda.atomic.add(flag, 0, 0) == 0:
        r[cuda.threadIdx.x % 2].b[1] += 2

@cuda.jit
def dynamic(flag, x):
    tile = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    if cuda.atomic.exch(flag, 0, 1) == t:
        tile[t] = t
    x[t % 2, t % 3] = tile[t]

looks_up[2, 4](zeros(1), zeros())
records[2, 4](zeros(1), np.zeros(2, np.dtype([("a", np.int32), ("b", np.float64, (2,))], align=True)))
stream = cuda.stream()
dynamic[1, 32, stream, 128](zeros(1), np.asfortranarray(np.zeros((2, 3), np.float32)))
stream.synchronize()
for shared in (cuda.mapped_array(8, np.int32), cuda.managed_array(8, np.int32)):
    shared[:] = 0
    looks_up[2, 4](zeros(1), shared)
""",
        r"data-race: \w+ of out\[1\] .* in kernel looks_up.* in kernel records",
        1,
    ),
    "fault of the program": (
        """
@cuda.jit
def beyond(x):
    x[cuda.grid(1)] = 1

beyond[1, 16](zeros())
""",
        r"IndexError: .*error: out-of-bounds-index: .* order of threads: reverse, lockstep",
        1,
    ),
    "time limit": (
        """
@cuda.jit
def for_ever_in_another_order(x):
    if cuda.blockIdx.x == 0:
        x[0] = 1
    elif x[0] == 0:
        rounds = 0
        while x[2] == 0:
            rounds += 1
            x[1] = rounds

for_ever_in_another_order[2, 1](zeros(3))
""",
        r"error: time-limit.*order of threads: reverse",
        1,
    ),
}


def local_cluster(**arguments):
    return distributed.LocalCluster(
        processes=True, threads_per_worker=1, dashboard_address=":0", **{"n_workers": 2, **arguments}
    )


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes on this machine."""
    with local_cluster() as made:
        yield made


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as made:
        made.wait_for_workers(2, timeout=60)
        yield made


def check(run, *arguments, code=None):
    path = run.write(code).name if code is not None else "script.py"
    return run("-m", "cudasim", "check", *arguments, path)


def program(name):
    return HEAD + PROGRAMS[name][0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_reports_are_the_same_as_without_a_cluster(name, run, cluster):
    _, report, status = PROGRAMS[name]
    options = ["--schedules=12", "--time-limit=1"]
    here = check(run, *options, "--json=here.json", code=program(name))
    there = check(run, *options, "--json=there.json", f"--dask={cluster.scheduler_address}")
    assert here.returncode == status and re.search(report, here.stderr, re.DOTALL), here.stderr
    assert there.stderr == here.stderr
    assert (there.returncode, there.stdout) == (here.returncode, here.stdout)
    assert (run.folder / "there.json").read_text() == (run.folder / "here.json").read_text()


def calls_counted():
    """On a worker: from now on calls_so_far() knows how many shares it has run."""

    def count():
        from cudasim.recording import shares

        is_counted, shares.calls = hasattr(shares, "calls"), 0
        if is_counted:
            return
        run = shares.run

        def counted(*arguments):
            shares.calls += 1
            return run(*arguments)

        shares.run = counted

    return count


def calls_so_far():
    def calls():
        from cudasim.recording import shares

        return shares.calls

    return calls


def dies_with(schedule):
    """On a worker: it dies when it is to run that schedule."""

    def patch():
        import os

        from cudasim.recording import shares

        run = shares.run

        def deadly(version, record, names, wanted):
            if schedule in names:
                os.kill(os.getpid(), 9)
            return run(version, record, names, wanted)

        shares.run = deadly

    return patch


def test_each_worker_runs_its_share(run, client, cluster):
    """The reports above would be the same if the program ran all schedules itself."""
    client.run(calls_counted())
    check(run, "--schedules=12", f"--dask={cluster.scheduler_address}", code=program("clean"))
    calls = client.run(calls_so_far())
    assert len(calls) == 2 and all(calls.values())


def test_a_killed_workers_share_is_run_again(run, client, cluster):
    here = check(run, "--schedules=12", code=program("race"))
    before = client.run(os.getpid)
    client.run(dies_with("pct-1"))
    there = check(run, "--schedules=12", f"--dask={cluster.scheduler_address}")
    client.wait_for_workers(2, timeout=60)
    assert set(client.run(os.getpid).values()) != set(before.values())
    assert (there.returncode, there.stderr) == (here.returncode, here.stderr)


def test_a_schedule_that_kills_every_worker_is_told(run):
    class Deadly(distributed.WorkerPlugin):
        def __init__(self):
            self.patch = dies_with("lockstep")

        def setup(self, worker):
            self.patch()

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), local_cluster() as deadly:
        with distributed.Client(deadly.scheduler_address, set_as_default=False) as client:
            client.register_plugin(Deadly())
            dask_option = f"--dask={deadly.scheduler_address}"
            done = check(run, "--schedules=5", dask_option, code=program("clean"))
            assert done.returncode == 1
            assert (
                "a repeated launch (lockstep) was not run: the Dask workers that ran it died, one after another; "
                "the program goes on\n" in done.stderr
            )
            assert done.stderr.count("a repeated launch") == 1
            assert done.stderr.endswith(" 0 findings\ncudasim check: not every schedule was run, see above\n")

            run("-m", "cudasim", "record", "-o", "run.cudasim", "script.py")
            replayed = run("-m", "cudasim", "replay", "run.cudasim", "--schedules=5", dask_option)
            assert replayed.returncode == 2
            assert (
                "#1 add<<<(2, 1, 1), (32, 1, 1)>>>: the launch under lockstep was not run" in replayed.stderr
            )


def test_python_mode_is_repeated_here(run, cluster):
    twice = program("order without a race") + "exchange[2, 32](zeros(2))\n"
    here = check(run, "--schedules=3", "--mode=python", code=twice)
    there = check(run, "--schedules=3", "--mode=python", f"--dask={cluster.scheduler_address}")
    notes = [line for line in there.stderr.splitlines() if "on this machine" in line]
    assert notes == [
        f"cudasim check: launches of {name} are repeated on this machine: Python mode is not recorded for other machines"
        for name in ("last_value", "exchange")
    ]
    rest = [line for line in there.stderr.splitlines() if line not in notes]
    assert rest == here.stderr.splitlines() and "order-dependent-results" in here.stderr


def refused(run, address):
    """What `cudasim check` says where it cannot use a cluster; the program has not run."""
    done = check(run, f"--dask={address}", code="print('the program ran')")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:1", "nonsense", "carrier-pigeon://host:1", "missing.json"]
)
def test_an_address_where_nobody_answers_is_refused(run, address):
    said = refused(run, address)
    assert f"no Dask scheduler answers at '{address}' (" in said
    assert "give the address that `dask scheduler` prints, like tcp://host:8786" in said


def test_a_scheduler_file_is_an_address(run, client, cluster):
    client.write_scheduler_file(str(run.folder / "cluster.json"))
    client.run(calls_counted())
    assert check(run, "--dask=cluster.json", code=program("clean")).returncode == 0
    assert sum(client.run(calls_so_far()).values()) == 1


def test_a_cluster_without_workers_is_refused(run):
    with local_cluster(n_workers=0) as empty:
        address = empty.scheduler_address
        assert f"the Dask cluster at {address} has no workers; start some: dask worker {address}" in refused(
            run, address
        )


def test_workers_with_another_cudasim_are_refused(run, client, cluster):
    def pretend(version):

        import cudasim

        before = cudasim.__version__
        if version is None:
            sys.modules["cudasim"] = None
            sys.kept = cudasim
        else:
            sys.modules["cudasim"] = getattr(sys, "kept", cudasim)
            sys.modules["cudasim"].__version__ = version
        return before

    own = client.run(pretend, "0.0.1").popitem()[1]
    try:
        assert f"has cudasim 0.0.1, but this is {own}; install the same version on both sides" in refused(
            run, cluster.scheduler_address
        )
        client.run(pretend, None)
        assert re.search(r"the Dask worker tcp://\S+ has no cudasim \(.*\); install cudasim", refused(run, cluster.scheduler_address))  # fmt: skip
    finally:
        client.run(lambda: __import__("sys").modules.update(cudasim=__import__("sys").kept))
        client.run(pretend, own)


def test_without_dask_the_extra_is_named(run):
    run.write("raise ImportError('not installed')", "distributed.py")
    for command in (["check", "--dask=tcp://127.0.0.1:1", "script.py"],):
        run.write("print('the program ran')")
        done = run("-m", "cudasim", *command)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            "cudasim check: --dask needs the Python package dask.distributed; install it with: pip install 'cudasim[dask]'\n"
        )


def test_a_replay_without_schedules_needs_no_cluster(run):
    run.write(program("clean"))
    run("-m", "cudasim", "record", "-o", "run.cudasim", "script.py")
    done = run("-m", "cudasim", "replay", "run.cudasim", "--dask=tcp://127.0.0.1:1")
    assert done.returncode == 2 and "--dask needs --schedules N" in done.stderr


@pytest.fixture
def record(run):
    """The file of a recorded launch, as bytes."""
    run.write(program("race"))
    assert run("-m", "cudasim", "record", "--after", "-o", "run.cudasim", "script.py").returncode == 0
    return (run.folder / "run.cudasim").read_bytes()


WANTED = shares.Checked(60.0, True, [])


@pytest.mark.parametrize("ends", ["the workers", "the scheduler"])
def test_shares_of_a_cluster_that_ends_run_here(ends, record, monkeypatch, capsys):
    monkeypatch.setattr(clusters, "PATIENCE", 1.0)
    names = [schedule.name for schedule in schedules.first(8)]
    with local_cluster() as ending, clusters.Cluster(ending.scheduler_address) as connected:
        expected = connected.run(record, names, WANTED)
        assert not capsys.readouterr().err
        if ends == "the workers":
            ending.scale(0)
        else:
            ending.close()
        assert connected.run(record, names, WANTED) == expected
        assert re.fullmatch(
            r"cudasim: the Dask cluster at \S+ (has had no worker for 1 seconds|is gone.*); its shares run on this machine\n",
            capsys.readouterr().err,
        )
        assert [each.schedule for each in expected] == names
        assert any(each.result.differing for each in expected)


def test_a_token_repeats_a_launch_there(run, cluster):
    address = f"--dask={cluster.scheduler_address}"
    found = check(run, "--schedules=12", address, code=program("race"))
    value, name = re.search(r"is 21 under forward, (\d+) under (\S+)", found.stderr).groups()
    fingerprint = re.search(r"--schedule 1:reverse:(\S+)", found.stderr)[1]
    token = f"--schedule=1:{name}:{fingerprint}"
    there = check(run, token, address)
    assert f"results differ: out[0] is 21 under forward, {value} under {name}\n" in there.stderr
    assert there.stderr == check(run, token).stderr


@pytest.mark.parametrize("name", ["race", "fault under some schedules", "clean"])
def test_records_are_replayed_there(name, run, cluster):
    path = run.write(program(name))
    assert run("-m", "cudasim", "record", "-o", "run.cudasim", path.name).returncode == 0
    replayed = ("-m", "cudasim", "replay", "run.cudasim", "--schedules=12")
    here, there = run(*replayed), run(*replayed, f"--dask={cluster.scheduler_address}")
    shown = "[1-9]\\d*" if name != "clean" else "0"
    assert re.search(rf"#1 .*: {shown} of 12 schedules differ from the record\n", here.stdout)
    assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr)
    assert here.returncode == (name != "clean")

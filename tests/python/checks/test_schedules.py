"""Policies that switch between accesses, tokens that repeat them, and results that depend on the order."""

import gc
import inspect
import json
import re
import signal
import subprocess
import sys
import textwrap
import time

import cudasim
import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.reports import check_session, schedules
from cudasim.reports.check_session import CheckSession

LAST_BLOCK = """
    import numpy as np
    from numba import cuda

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

    @cuda.jit
    def last_value(out):
        cuda.atomic.exch(out, 0, cuda.threadIdx.x)

    out = np.zeros(1, np.int32)
    last_block[6, 2](np.zeros(1, np.int32), np.zeros(8, np.int32), out)
    last_value[1, 32](out)
    print(out[0])
"""


@cuda.jit
def lost_update(x):
    x[0] += 1


@cuda.jit
def publishes_too_early(flag, data, out):
    if cuda.blockIdx.x == 0:
        flag[0] = 1
        data[0] = 42
    elif flag[0] == 1:
        out[0] = data[0]
    else:
        out[0] = 42


@cuda.jit
def ticket_before_the_work(count, sums, out):
    b = cuda.blockIdx.x
    n = cuda.atomic.add(count, 0, 1)
    sums[b] = b + 1
    if n == cuda.gridDim.x - 1:
        total = 0
        for i in range(cuda.gridDim.x):
            total += sums[i]
        out[0] = total


@cuda.jit
def checks_then_acts(count, out):
    if count[0] < 3:
        cuda.atomic.add(count, 0, 1)
    out[0] = 1


@cuda.jit
def takes_a_lock(lock, x):
    for _ in range(3):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        x[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def zeros(count=8):
    return np.zeros(count, np.int32)


def result_of(kernel, grid, block, arrays, of):
    made = [zeros() for _ in range(arrays)]
    kernel[grid, block](*made)
    return int(made[of][0])


#: kernel, grid, block, arrays, which has the result, the result in any order without the bug
BUGS = {
    "lost_update": (lost_update, 2, 32, 1, 0, 64),
    "publishes_too_early": (publishes_too_early, 2, 1, 3, 2, 42),
    "ticket_before_the_work": (ticket_before_the_work, 6, 1, 3, 2, 21),
    "checks_then_acts": (checks_then_acts, 4, 32, 2, 0, 3),
}


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("name", BUGS)
def test_bugs_of_the_order_show_within_20_schedules(name, mode):
    *launch, right = BUGS[name]
    shown = set()
    with options.override(mode=mode):
        assert result_of(*launch) == right
        for schedule in schedules.first(20):
            with options.override(**schedule.options):
                if result_of(*launch) != right:
                    shown.add(schedule.name)
    assert shown


@pytest.mark.parametrize("mode", ["native", "python"])
def test_lanes_in_lockstep_lose_updates(mode):
    """Each lane of a warp reads before one of them writes."""
    with options.override(mode=mode, policy="lockstep"):
        assert result_of(lost_update, 1, 32, 1, 0) == 1
        assert result_of(lost_update, 1, 64, 1, 0) <= 2


def test_diverged_lanes_meet_again():
    @cuda.jit
    def diverge(x, y):
        t = cuda.threadIdx.x
        if t % 2 == 0:
            y[t] = x[t] + x[t + 1]
            y[t] += 1
        x[32] += 1

    with options.override(policy="lockstep"):
        x, y = zeros(64), zeros(64)
        diverge[1, 32](x, y)
    assert x[32] == 1


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("name", [each.name for each in schedules.first(18)])
def test_locks_work_under_every_schedule(name, mode):
    with options.override(mode=mode, **schedules.named(name).options):
        assert result_of(takes_a_lock, 2, 32, 2, 1) == 192


@pytest.mark.parametrize("name", ["preempt-3", "pct-4", "starve-5", "random-6", "lockstep"])
def test_a_schedule_repeats_itself(name):
    def run():
        order, count = zeros(256), zeros(1)
        record_order[4, 64](order, count)
        return order.tolist()

    @cuda.jit
    def record_order(order, count):
        for _ in range(1):
            order[cuda.atomic.add(count, 0, 1)] = cuda.grid(1)

    with options.override(**schedules.named(name).options):
        first = run()
        assert sorted(first) == list(range(256))
        assert all(run() == first for _ in range(3))
    if name != "lockstep":
        other = schedules.named(re.sub(r"\d+", "11", name))
        with options.override(**other.options):
            assert run() != first


@pytest.mark.parametrize("policy", ["lockstep", "preempt", "pct", "starve"])
def test_faults_livelocks_and_checks_work_under_every_policy(policy):
    @cuda.jit
    def beyond(x):
        x[cuda.threadIdx.x] = 1

    @cuda.jit
    def endless(x):
        while x[0] == 0:
            pass

    # Where there is memory that the host can change, no livelock is proven: arrays of earlier tests go.
    gc.collect()
    cuda.current_context().memory_manager.deallocations.clear()
    with options.override(policy=policy, check="all"):
        with pytest.raises(IndexError, match=r"tid=\[8, 0, 0\]"):
            beyond[1, 16](zeros(8))
        with pytest.raises(cudasim.errors.KernelError, match="no thread can ever go on"):
            endless[1, 4](zeros(8))
    with options.override(policy=policy), cudasim.check("races,init") as found:
        lost_update[1, 32](zeros(8))
    assert "data-race" in {each.kind for each in found}


def check(run, *arguments, code=LAST_BLOCK):
    return run("-m", "cudasim", "check", *arguments, run.write(code).name)


def test_results_are_compared_and_a_token_repeats_the_launch(run):
    done = check(run, "--schedules=10")
    assert (done.returncode, done.stdout) == (1, "31\n")
    match = re.search(r"results differ: out\[0\] is 21 under forward, (\d+) under (\S+)", done.stderr)
    assert match, done.stderr
    assert "order-dependent-results: results of last_value depend on the order of threads" in done.stderr
    number, name, fingerprint = re.search(r"--schedule (\d+):([^:]+):(\S+)", done.stderr).groups()
    assert (number, name) == ("1", "reverse")
    token = f"1:{match[2]}:{fingerprint}"
    first = check(run, "--schedule", token)
    assert first.returncode == 1
    assert f"results differ: out[0] is 21 under forward, {match[1]} under {match[2]}" in first.stderr
    assert "last_value" not in first.stderr and f"order of threads: {match[2]}\n" in first.stderr
    assert check(run, "--schedule", token).stderr == first.stderr


def test_results_that_do_not_depend_on_the_order(run):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def same(x):
            x[0] = 1
            x[cuda.threadIdx.x] += 1
        same[1, 32](np.zeros(32, np.int32))
        """
    done = check(run, "--schedules=2", code=code)
    assert "results are the same under reverse, lockstep, forward" not in done.stderr
    clean = check(run, "--schedules=2", code=code.replace("            x[0] = 1\n", ""))
    assert clean.returncode == 0 and "0 findings" in clean.stderr


def test_elements_are_named_whose_first_byte_is_the_same(run):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def last_one_wins(x):
            cuda.atomic.exch(x, 1, 256 * cuda.threadIdx.x)

        last_one_wins[1, 3](np.zeros(2, np.int32))
        """
    assert ": x[1] is 512 under forward, 0 under reverse\n" in check(run, code=code).stderr


@cuda.jit
def writes_one(x, index):
    x[index] = cuda.threadIdx.x + 1


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("dtype", ["int64", "float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("mode", ["native", "python"])
def test_values_are_those_of_whole_elements(monkeypatch, mode, dtype, size):
    """The first byte that differs lies within the element, which may be the last."""
    session = CheckSession(schedules.first(1))
    monkeypatch.setattr(check_session, "session", session)
    with options.override(check="all", mode=mode):
        writes_one[1, 32](np.zeros(size, dtype), 2)
        writes_one[1, 32](cuda.to_device(np.zeros((2, 2 * size), dtype))[1, ::2], 2)
    found = [outcome.differences[0][1] for outcome in session.record.outcomes.values()]
    element, value, own = found[0]
    assert (element, np.dtype(dtype).type(value), np.dtype(dtype).type(own)) == ("x[2]", 1, 32)
    assert found == [found[0]] * 2


def test_reports_for_people_do_not_name_thousands_of_schedules(run):
    done = check(run, "--schedules=40", "--check=races", "--json=found.json")
    names = ", ".join(each.name for each in schedules.first(16))
    assert f"order of threads: {names} and 25 more\n" in done.stderr
    assert len(json.loads((run.folder / "found.json").read_text())["findings"][0]["schedules"]) == 41


TWICE = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def racy(x):
        x[0] = cuda.threadIdx.x{comment}

    x = cuda.to_device(np.zeros(4, np.int32))
    racy[1, 4](x)
    racy[1, 4](x)
    """


@pytest.mark.parametrize("comment", ["", "  # cudasim: allow data-race: any of them will do"])
def test_results_of_a_kernel_with_a_known_race_are_no_finding_of_their_own(run, comment):
    done = check(run, code=TWICE.format(comment=comment))
    assert ("results differ" in done.stderr) == (not comment)
    assert "order-dependent-results" not in done.stderr
    assert f"2 launches of 1 kernel under 2 schedules: {0 if comment else 1} finding" in done.stderr


def test_a_race_that_a_file_allows_says_why_results_differ(run):
    (run.folder / "allowed.txt").write_text("data-race  script.py:racy  # any of them will do\n")
    done = check(run, "--suppressions=allowed.txt", code=TWICE.format(comment=""))
    assert done.returncode == 0 and "0 findings" in done.stderr, done.stderr


@pytest.mark.parametrize("tool", ["memcheck", "synccheck", "initcheck"])
def test_where_races_are_not_checked_nothing_is_said_of_results(run, tool):
    done = check(run, f"--tool={tool}", code=TWICE.format(comment=""))
    assert done.returncode == 0 and "0 findings" in done.stderr, done.stderr


@pytest.mark.parametrize(
    "token, reason",
    [
        ("nonsense", "is no schedule's token"),
        ("0:reverse:00000000", "is no schedule's token"),
        ("1:backwards:00000000", "is no schedule; it is forward"),
        ("1:pct:00000000", "is no schedule; it is forward"),
        (
            "1:reverse:00000000",
            "is a token of another program: launch 1 of this program is another one, of last_block",
        ),
        ("9:reverse:00000000", "is a token of another program: this program has 2 launches"),
    ],
)
def test_tokens_of_other_programs_are_refused(run, token, reason):
    done = check(run, "--schedule", token)
    assert done.returncode == 2
    assert reason in done.stderr and len(done.stderr.splitlines()) == 1


def test_recorded_launches_run_under_schedules(run):
    path = run.write(LAST_BLOCK)
    assert run("-m", "cudasim", "record", "-o", "run.cudasim", path.name).returncode == 0
    done = run("-m", "cudasim", "replay", "run.cudasim", "--launch=1", "--schedules=12")
    assert done.returncode == 1
    assert "differs from the record with policy=" in done.stdout
    assert re.search(r"#1 last_block.*: [1-9]\d* of 12 schedules differ from the record", done.stdout)


def test_a_test_has_schedules(run):
    run.write(
        """
        import numpy as np
        import pytest
        from numba import cuda

        @cuda.jit
        def second_needs_first(x):
            if cuda.blockIdx.x == 0:
                x[0] = 1
            elif x[0] != 1:
                x[5] = 1

        @pytest.mark.cudasim(check="memory", schedules=2)
        def test_in_other_orders():
            second_needs_first[2, 1](np.zeros(4, np.int32))

        @pytest.mark.cudasim_expect("out-of-bounds-index", line=11)
        @pytest.mark.cudasim(check="memory", schedules=2)
        def test_expected():
            second_needs_first[2, 1](np.zeros(4, np.int32))

        @pytest.mark.cudasim(check="memory", schedules=2)
        def test_clean():
            second_needs_first[1, 1](np.zeros(4, np.int32))

        @pytest.mark.cudasim(schedules=-1)
        def test_wrong():
            pass

        @pytest.mark.cudasim(schedules=10**12)
        def test_too_many():
            pass

        def test_without():
            second_needs_first[2, 1](np.zeros(4, np.int32))
        """,
        "test_it.py",
    )
    done = run("-m", "pytest", "--cudasim", "-q", "-p", "no:cacheprovider", "test_it.py")
    assert "1 failed, 3 passed, 2 errors" in done.stdout, done.stdout
    assert "schedules is a number up to 100000, not 1000000000000" in done.stdout
    assert "under reverse" in done.stdout and "schedules is a number from 0 on, not -1" in done.stdout


def test_a_stopped_process_is_no_livelock(run):
    """Threads that wait for their turn in lockstep do not spin, however long the others do."""
    script = run.write(
        "import numpy as np\nfrom cudasim import cuda, options\n\n"
        + inspect.getsource(takes_a_lock.py_func)
        + textwrap.dedent("""
            options.set(policy="lockstep")
            for _ in range(6):
                x = np.zeros(1, np.int32)
                takes_a_lock[2, 32](np.zeros(1, np.int32), x)
                print(x[0], flush=True)
        """)
    )
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    lines = [process.stdout.readline()]
    for _ in range(30):
        time.sleep(0.02)
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.12)
        process.send_signal(signal.SIGCONT)
    lines += process.stdout.readlines()
    assert process.wait() == 0 and lines == ["192\n"] * 6

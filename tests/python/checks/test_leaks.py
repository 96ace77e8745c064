"""Memory that programs take from the driver and never give back, and calls of the driver that fail."""

import json
import os
import pickle
import sysconfig

import cudasim
import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.cuda.cudadrv.driver import driver

PROGRAM = """
    import numpy as np
    from numba import cuda
    from numba.cuda.cudadrv.driver import CudaAPIError, driver

    @cuda.jit
    def fill(x):
        x[cuda.threadIdx.x] = 1

    lost = driver.cuMemAlloc(64)
    kept = driver.cuMemAlloc(128)
    x = cuda.to_device(np.zeros(4))
    memory = cuda.current_context().memalloc(100)
    fill[1, 4](x)
    driver.cuMemFree(kept)
    try:
        driver.cuMemFree(12345)
    except CudaAPIError:
        pass
"""


def test_what_is_never_freed_is_told_where_it_was_taken():
    with cudasim.check("leaks") as found:
        kept = [driver.cuMemAlloc(64), driver.cuMemAllocManaged(32), driver.cuMemHostAlloc(16)]
        freed = driver.cuMemAlloc(8)
        driver.cuMemFree(freed)
        array = cuda.device_array(4)
        assert found == []
    texts = [each.message for each in found]
    assert texts == [
        "64 bytes of cuMemAlloc() are never given back; cuMemFree() does",
        "32 bytes of cuMemAllocManaged() are never given back; cuMemFree() does",
        "16 bytes of cuMemHostAlloc() are never given back; cuMemFreeHost() does",
    ]
    assert {each.place.function for each in found} == {"test_what_is_never_freed_is_told_where_it_was_taken"}
    del array
    driver.cuMemFree(kept[0])
    driver.cuMemFree(kept[1])
    driver.cuMemFreeHost(kept[2])


def test_installed_packages_are_not_the_place():
    """The line is the program's that called the package."""
    code = "def take(call):\n    return call(64)\n"
    names = {"__name__": "some_package"}
    exec(compile(code, os.path.join(sysconfig.get_path("purelib"), "some_package.py"), "exec"), names)
    with cudasim.check("leaks") as found:
        pointer = names["take"](driver.cuMemAlloc)
    place = found[0].place
    assert (place.file, place.function) == (__file__, "test_installed_packages_are_not_the_place")
    driver.cuMemFree(pointer)


def test_nothing_is_told_without_the_check():
    with cudasim.check("memory") as found:
        pointer = driver.cuMemAlloc(64)
        with pytest.raises(errors.CudaAPIError):
            driver.cuMemFree(12345)
    assert found == []
    driver.cuMemFree(pointer)


def test_failed_calls_are_told_also_when_they_are_caught():
    with cudasim.check("leaks") as found, pytest.raises(errors.CudaAPIError):
        driver.cuMemFree(12345)
    (finding,) = found
    assert finding.kind == "failed-call" and "cuMemFree" in finding.message
    with (
        options.override(check="leaks"),
        pytest.warns(errors.FailedCallWarning),
        pytest.raises(errors.CudaAPIError),
    ):
        driver.cuMemFree(12345)


@pytest.mark.parametrize("close", [True, False])
def test_ipc_handles(run, close):
    """The handle is opened by another process."""
    array = cuda.to_device(np.arange(4.0))
    done = run(
        run.write(
            f"""
            import pickle
            import cudasim
            handle = pickle.loads({pickle.dumps(array.get_ipc_handle())!r})
            with cudasim.check("leaks") as found:
                print(handle.open()[1])
                {"handle.close()" if close else ""}
            print([each.message for each in found])
            """
        ).name
    )
    lost = [] if close else ["32 bytes of IpcHandle.open() are never given back; close() does"]
    assert done.stdout == f"1.0\n{lost}\n", done.stderr


def test_a_program_is_told_at_its_end(run):
    path = run.write(PROGRAM)
    lost, failed = 10, 17
    done = run("-m", "cudasim", "check", path.name)
    assert done.returncode == 1
    assert f"script.py:{lost}" in done.stderr and f"script.py:{failed}" in done.stderr
    assert done.stderr.splitlines()[-1].endswith("2 findings (0 errors, 2 warnings, 0 notes)")
    done = run(path.name, ENABLE_CUDASIM="1", CUDASIM_CHECK="leaks")
    assert done.returncode == 0
    assert done.stderr.count("MemoryLeakWarning") == done.stderr.count("FailedCallWarning") == 1


def test_memory_that_nobody_writes_is_told_on_request(run):
    path = run.write(
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def fill(x):
            x[cuda.threadIdx.x] = 1

        used, unused = cuda.device_array(4), cuda.device_array(100)
        gone = cuda.device_array(50)
        del gone
        fill[1, 4](used)
        """
    )
    done = run("-m", "cudasim", "check", path.name)
    assert done.returncode == 0, done.stderr
    done = run("-m", "cudasim", "check", "--track-unused-memory", path.name)
    assert done.returncode == 1
    assert "800 bytes are allocated and never written: device array made at script.py:9" in done.stderr


def test_causes_at_one_line_are_counted_and_others_have_findings_of_their_own(run):
    path = run.write(
        """
        import numpy as np
        from numba import cuda
        from numba.cuda.cudadrv.driver import CudaAPIError, driver

        @cuda.jit(device=True)
        def put(x):
            x[0] = cuda.threadIdx.x

        @cuda.jit
        def first(x):
            put(x)

        @cuda.jit
        def second(x):
            put(x)

        first[1, 4](np.zeros(4))
        second[1, 4](np.zeros(4))
        one, other = cuda.device_array(4), cuda.managed_array(5)
        lost = [driver.cuMemAlloc(10 * (i + 1)) for i in range(3)] + [driver.cuMemAllocManaged(8)]
        for i in range(2):
            try:
                driver.cuMemFree(12345)
            except CudaAPIError:
                pass
        """
    )
    done = run("-m", "cudasim", "check", "--track-unused-memory", "--json=found.json", path.name)
    assert done.returncode == 1
    found = json.loads((run.folder / "found.json").read_text())["findings"]
    kinds = {(each["kind"], each["kernel"], each["location"][0]["line"], each["count"]) for each in found}
    assert kinds >= {
        ("data-race", "first", 8, 6),
        ("data-race", "second", 8, 6),
        ("unused-allocation", "", 20, 1),
        ("memory-leak", "", 21, 3),
        ("memory-leak", "", 21, 1),
        ("failed-call", "", 24, 2),
    }
    assert "60 bytes of 3 calls of cuMemAlloc() are never given back; cuMemFree() does\n" in done.stderr
    assert "8 bytes of cuMemAllocManaged() are never given back" in done.stderr
    assert (
        "32 bytes are allocated and never written: device array made at script.py:20\n  at script.py:20\n"
        in (done.stderr)
    )
    assert "  at script.py:24\n  2 times\n" in done.stderr
    places = [place for each in found for place in each["location"]]
    assert {place["file"] for place in places} == {"script.py"}

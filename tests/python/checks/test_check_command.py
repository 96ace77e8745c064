"""`cudasim check`: what it prints, writes and returns."""

import json
import re
from xml.etree import ElementTree

import cudasim
import pytest

RACY = """
    import numpy as np
    from numba import cuda, int32

    @cuda.jit
    def total(x, out):
        tile = cuda.shared.array(128, int32)
        t = cuda.threadIdx.x
        tile[t] = x[t]
        if t == 0:
            sum = 0
            for i in range(128):
                sum += tile[i]
            out[0] = sum

    @cuda.jit
    def double(x):
        x[cuda.threadIdx.x] *= 2

    x, out = np.arange(128, dtype=np.int32), np.zeros(1, np.int32)
    double[1, 128](x)
    total[1, 128](x, out)
    print("the program goes on", x[1])
"""


def check(run, code, *arguments, **variables):
    path = run.write(code)
    return run("-m", "cudasim", "check", *arguments, path.name, **variables)


def test_a_race_is_reported_and_the_program_goes_on(run):
    done = check(run, RACY)
    assert done.returncode == 1
    assert done.stdout == "the program goes on 2\n"
    assert "data-race" in done.stderr and "script.py:9" in done.stderr and "script.py:13" in done.stderr
    assert "order of threads: reverse, forward" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "cudasim check: 2 launches of 2 kernels under 2 schedules: 1 finding (1 error, 0 warnings, 0 notes)"
    )


def test_clean_programs_and_their_status(run):
    clean = RACY.replace("        if t == 0:", "        cuda.syncthreads()\n        if t == 0:")
    done = check(run, clean)
    assert (done.returncode, done.stdout) == (0, "the program goes on 2\n")
    assert done.stderr == "cudasim check: 2 launches of 2 kernels under 2 schedules: 0 findings\n"
    assert check(run, clean + "\n    raise SystemExit(3)").returncode == 3


def test_a_program_without_a_launch_fails(run):
    done = check(run, "print(1)")
    assert done.returncode == 1
    assert "launched no kernel" in done.stderr


ARGUMENTS = """
    import numpy as np
    from numba import cuda

    class Foreign:
        def __init__(self, address):
            self.__cuda_array_interface__ = dict(
                shape=(64,), typestr="<i4", data=(address, False), version=2
            )

    @cuda.jit
    def fill(x):
        x[cuda.grid(1)] = 1

    host, device = np.zeros(64, np.int32), cuda.to_device(np.zeros(65, np.int32))
    device_address = device.__cuda_array_interface__["data"][0]
    fill[1, 64](Foreign(ADDRESS))
    """


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize(
    "address, kind, message",
    [
        ("host.ctypes.data", "host-pointer", "the array passed for 'x' is not in device memory"),
        ("8", "null-pointer", "the array passed for 'x' is not in device memory"),
        ("device_address + (1 << 20)", "out-of-bounds-global", "the array passed for 'x' is not in device"),
        (
            "device_address + 1",
            "misaligned-access",
            "the elements of the array passed for 'x' are not aligned",
        ),
    ],
)
def test_a_launch_with_a_bad_array_is_a_launch_with_a_finding(run, address, kind, message, mode):
    done = check(
        run, ARGUMENTS.replace("ADDRESS", address), f"--mode={mode}", "--json=f.json", "--junit=f.xml"
    )
    assert done.returncode == 1 and "KernelMemoryError" in done.stderr
    assert f"error: {kind}: {message}" in done.stderr
    assert "  at script.py:17\n  in launch 1 of the program\n\n" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "cudasim check: 1 launch of 1 kernel under 2 schedules: 1 finding (1 error, 0 warnings, 0 notes)"
    )
    data = json.loads((run.folder / "f.json").read_text())
    (finding,) = data["findings"]
    assert (finding["kind"], finding["kernel"], finding["schedules"]) == (kind, "fill", [])
    assert (finding["launch"], finding["location"][0]["line"], data["counts"]["runs"]) == (1, 17, 0)
    assert len(list(ElementTree.parse(run.folder / "f.xml").getroot().iter("failure"))) == 1


def test_launches_with_bad_arrays_are_selected_and_counted_as_others_are(run):
    bad = ARGUMENTS.replace("ADDRESS", "8").replace("fill[1, 64](F", "fill[1, 64](device)\n    fill[1, 64](F")
    done = check(run, bad)
    assert "2 launches of 1 kernel" in done.stderr and "in launch 2 of the program\n" in done.stderr
    done = check(run, bad, "--launch-count=1")
    assert "check: 1 of 2 launches of 1 kernel under 2 schedules: 0 findings" in done.stderr


def test_reports_for_programs(run):
    done = check(
        run,
        RACY,
        "--json=f.json",
        "--sarif=f.sarif",
        "--junit=f.xml",
        "--log-file=log.txt",
        "--error-exitcode=7",
    )
    assert done.returncode == 7 and done.stderr == ""
    log = (run.folder / "log.txt").read_text()
    assert "data-race" in log
    data = json.loads((run.folder / "f.json").read_text())
    assert data["counts"] == {
        "launches": 2,
        "selected": 2,
        "kernels": 2,
        "schedules": 2,
        "runs": 4,
        "errors": 1,
        "warnings": 0,
        "notes": 0,
    }
    (finding,) = data["findings"]
    assert (
        finding["kind"] == "data-race"
        and finding["count"] == 127
        and finding["schedules"] == ["reverse", "forward"]
    )
    assert {access["location"][0]["line"] for access in finding["accesses"]} == {9, 13}
    sarif = json.loads((run.folder / "f.sarif").read_text())
    assert sarif["version"] == "2.1.0"
    (result,) = sarif["runs"][0]["results"]
    assert result["ruleId"] == "data-race" and result["level"] == "error"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "script.py" and location["region"]["startLine"] in (9, 13)
    assert len(result["relatedLocations"]) == 2
    suite = ElementTree.parse(run.folder / "f.xml").getroot()[0]
    assert [case.get("name") for case in suite] == ["double", "total"]
    assert [failure.get("type") for failure in suite.iter("failure")] == ["data-race"]


def test_suppressions_in_a_file_and_in_the_source(run):
    (run.folder / "allowed.txt").write_text("# ours\n\ndata-race  script.py:total  # the sum is a preview\n")
    done = check(run, RACY, "--suppressions=allowed.txt")
    assert done.returncode == 0 and "0 findings" in done.stderr
    (run.folder / "allowed.txt").write_text("data-race  other.py  # not there\n")
    done = check(run, RACY, "--suppressions", "allowed.txt")
    assert done.returncode == 1 and "allowed.txt:1: nothing was found that it allows" in done.stderr
    commented = RACY.replace("tile[t] = x[t]", "tile[t] = x[t]  # cudasim: allow data-race: a preview")
    assert check(run, commented).returncode == 0
    other = RACY.replace("tile[t] = x[t]", "tile[t] = x[t]  # cudasim: allow equal-writes: a preview")
    assert check(run, other).returncode == 1


OUTSIDE_OF_KERNELS = """
    import numpy as np
    from numba import cuda
    from numba.cuda.cudadrv.driver import driver

    @cuda.jit
    def odd(x):
        if x[0] == 0:
            raise ValueError("bad \\x1b[31m \\x01 <&> \\ufffe")

    lost = driver.cuMemAlloc(64)
    try:
        odd[1, 1](np.zeros(1))
    except ValueError:
        pass
"""


def test_junit_has_findings_of_no_kernel_and_is_always_xml(run):
    assert check(run, OUTSIDE_OF_KERNELS, "--junit=f.xml").returncode == 1
    suite = ElementTree.parse(run.folder / "f.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    failures = {case.get("name"): case[0] for case in suite}
    assert failures["outside of kernels"].get("type") == "memory-leak"
    assert failures["odd"].get("message").endswith("bad \\x1b[31m \\x01 <&> \\ufffe")


def test_sarif_has_references_that_are_valid(run):
    (run.folder / "in").mkdir()
    path = run.write(OUTSIDE_OF_KERNELS, "in/50%#é sp.py")
    arguments = ("-m", "cudasim", "check", "--sarif=f.sarif")

    def results():
        return json.loads((run.folder / "f.sarif").read_text())["runs"][0]["results"]

    def uris():
        return {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results()}

    run(*arguments, path)
    assert uris() == {"in/50%25%23%C3%A9%20sp.py"}
    texts = {each["ruleId"]: each["message"]["text"] for each in results()}
    assert texts["memory-leak"] == "64 bytes of cuMemAlloc() are never given back; cuMemFree() does"
    assert texts["kernel-exception"].endswith(" (kernel odd, reverse, forward)")
    outside = run.write(OUTSIDE_OF_KERNELS, f"../{run.folder.name} #.py").resolve()
    run(*arguments, outside)
    assert uris() == {outside.as_uri()}


@pytest.mark.parametrize("name", ["script.py", "sp ace.py", "d[1]/a*?.py", "50%#é # b.py", " tab\t.py"])
def test_generated_suppressions_allow_what_was_found(run, name):
    (run.folder / name).parent.mkdir(exist_ok=True)
    path = run.write(RACY, name)
    command = ("-m", "cudasim", "check")
    assert run(*command, "--gen-suppressions=new.txt", path).returncode == 1
    assert run(*command, "--suppressions=new.txt", path).returncode == 0


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--suppressions=none.txt"], "cannot read the suppressions none.txt"),
        (["--json=no/such/folder.json"], "cannot write no/such/folder.json"),
        (["--kernel-name=regex:("], "is no regular expression"),
        (["--check=rases"], "There is no check 'rases'. Did you mean 'races'?"),
        (["--check=races,none"], "'none' is no part of a list"),
        (["--check=none"], "--check none leaves nothing to check"),
        (["--tool=memcheck", "--check=races"], "--tool and --check both say what is checked"),
        (["--track-unused-memory", "--tool=memcheck"], "needs the check init, and --tool memcheck leaves it"),
        (["--json=a", "--sarif=a"], "the file of --sarif a is that of --json; give it another name"),
        (["--json=f", "--log-file=./f"], "the file of --log-file ./f is that of --json"),
        (["--gen-suppressions=script.py"], "the file of --gen-suppressions script.py is the script itself"),
        (["missing.py"], "cannot read the script missing.py: No such file or directory"),
        (["."], "cannot read the script .: Is a directory"),
    ],
)
def test_bad_input_is_told_before_the_program_runs(run, arguments, text):
    done = check(run, RACY, *arguments)
    assert done.returncode == 2 and text in done.stderr and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_wrong_options_are_told_before_the_program_runs(run):
    done = check(run, RACY, CUDASIM_CHECK="races,bogus")
    assert done.returncode == 2 and done.stdout == "" and "There is no check 'bogus'" in done.stderr
    done = check(run, RACY, "--error-exitcode=256")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.endswith("'256' is not valid; it takes a number from 0 to 255\n")
    assert len(done.stderr.splitlines()) == 2


def test_the_script_is_not_overwritten(run):
    done = check(run, RACY, "--json=script.py")
    assert done.returncode == 2 and "total" in (run.folder / "script.py").read_text()


@pytest.mark.parametrize("option", ["--json", "--log-file", "--gen-suppressions"])
def test_a_report_that_cannot_be_written_is_told(run, option):
    done = check(run, RACY, f"{option}=/dev/full")
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.endswith("cudasim check: cannot write /dev/full: No space left on device\n")


def test_a_program_may_remove_its_folder(run):
    gone = "import os, tempfile\n    os.chdir(tempfile.mkdtemp())\n    os.rmdir(os.getcwd())\n"
    done = check(run, RACY + "    " + gone, "--sarif=f.sarif")
    assert done.returncode == 1 and "1 finding" in done.stderr, done.stderr
    (result,) = json.loads((run.folder / "f.sarif").read_text())["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location["uri"] == "script.py"


@pytest.mark.parametrize("arguments", [["--kernel-name=nosuch"], ["--launch-skip=100"], ["--launch-count=0"]])
def test_a_selection_of_nothing_fails(run, arguments):
    done = check(run, RACY, *arguments)
    assert done.returncode == 1 and "check: 0 of 2 launches of 2 kernels" in done.stderr
    assert "none of the program's 2 launches was selected" in done.stderr


def test_schedules_that_are_not_run_are_not_counted(run):
    done = check(run, RACY, "--repeats=0", "--kernel-name=double")
    assert done.returncode == 0 and "under 1 schedule: 0 findings" in done.stderr


@pytest.mark.parametrize("command", [["check"], ["replay", "run.cudasim"]], ids=["check", "replay"])
@pytest.mark.parametrize("number", ["-1", "two", "1.5", "", "100001", "99999999999999999999"])
def test_numbers_that_are_none_are_told(run, command, number):
    done = run("-m", "cudasim", *command, f"--schedules={number}")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        f"cudasim {command[0]}: error: argument --schedules: {number!r} is not valid; it takes a number from 0 to 100000"
    )
    assert len(done.stderr.splitlines()) <= (2 if command[0] == "check" else 30)


@pytest.mark.parametrize(
    "line, reason",
    [
        (b"data-race", "'data-race' is no suppression. Write: kind file[:line or :function]  # reason"),
        (b"data-rase a.py # why", "there is no kind of finding 'data-rase'. Did you mean 'data-race'?"),
        (b"bogus* a.py # why", "there is no kind of finding 'bogus*'."),
        (b"data-race a\xff\xfe.py # why", "this is no text in UTF-8"),
    ],
)
def test_a_malformed_suppression_is_named_by_its_line(run, line, reason):
    (run.folder / "allowed.txt").write_bytes(b"data-* a.py # why\n" + line + b"\n")
    done = check(run, RACY, "--suppressions=allowed.txt")
    assert (done.returncode, done.stderr) == (2, f"cudasim check: allowed.txt:2: {reason}\n")


@pytest.mark.parametrize(
    "comment", ["allow data-race", "allow data-race:", "allow: why", "allow data-race - why"]
)
def test_a_malformed_comment_is_named_by_its_line(run, comment):
    commented = RACY.replace("tile[t] = x[t]", f"tile[t] = x[t]  # cudasim: {comment}")
    done = check(run, commented, "--json=f.json")
    assert done.returncode == 2 and "1 finding (1 error" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        f"cudasim check: script.py:9: '# cudasim: {comment}' is no suppression. Write: # cudasim: allow kind: reason"
    )
    assert len(json.loads((run.folder / "f.json").read_text())["findings"]) == 1
    elsewhere = RACY.replace("out[0] = sum", f"out[0] = sum  # cudasim: {comment}")
    done = check(run, elsewhere)
    assert done.returncode == 1 and f"script.py:14: '# cudasim: {comment}' is no suppression" in done.stderr


def test_a_comment_that_names_no_kind_is_malformed(run):
    done = check(
        run, RACY.replace("tile[t] = x[t]", "tile[t] = x[t]  # cudasim: allow data-race, data-rase: why")
    )
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if "script.py:9: " in line]
    assert line == (
        "cudasim check: script.py:9: there is no kind of finding 'data-rase'. Did you mean 'data-race'?"
    )


@pytest.mark.parametrize("mode", ["native", "python"])
def test_comments_that_allow_nothing_are_told(run, mode):
    code = (
        RACY.replace("tile[t] = x[t]", "tile[t] = x[t]  # cudasim: allow uninitialised-value: why")
        .replace("x[cuda.threadIdx.x] *= 2", "x[cuda.threadIdx.x] *= 2  # cudasim: allow data-race: why")
        .replace("sum += tile[i]", "sum += tile[i]  # cudasim: allow data-race: the sum is a preview")
        .replace("out[0] = sum", "out[0] = sum  # cudasim: allow not-finite: a check that is off")
        .replace("    print(", '    print("# cudasim: allow data-race: no comment" * 0, ')
    )
    done = check(run, code, f"--mode={mode}")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "cudasim check: script.py:9: nothing was found that this comment allows",
        "cudasim check: script.py:18: nothing was found that this comment allows",
        "cudasim check: 2 launches of 2 kernels under 2 schedules: 0 findings",
    ]
    for part in ("--check=memory", "--kernel-name=total", "--launch-count=1"):
        assert "nothing was found" not in check(run, code, f"--mode={mode}", part).stderr


def test_kernels_and_launches_are_selected(run):
    assert check(run, RACY, "--kernel-name=double").returncode == 0
    assert check(run, RACY, "--kernel-name=tot").returncode == 1
    assert check(run, RACY, "--launch-count=1").returncode == 1
    assert check(run, RACY, "--tool=memcheck").returncode == 0
    assert check(run, RACY, "--tool=racecheck").returncode == 1


def test_a_bug_of_the_order_shows_in_reverse_only(run):
    """Block 0 starts what the others add to: forward it is right by accident."""
    done = check(
        run,
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def f(x):
            if cuda.blockIdx.x == 0:
                x[0] = 1
            elif x[0] != 1:
                x[5] = 1
        x = np.zeros(4, np.int32)
        f[2, 1](x)
        """,
        "--check=memory",
    )
    assert done.returncode == 1
    assert "order of threads: reverse\n" in done.stderr and "out-of-bounds-index" in done.stderr


def test_python_mode_is_checked_too(run):
    done = check(run, RACY, "--mode=python")
    assert done.returncode == 1
    assert re.search(r"2 launches of 2 kernels under 2 schedules: 1 finding", done.stderr)


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize(
    "statement, shown",
    [
        ("assert x[0] == 1", "AssertionError"),
        ("raise ValueError", "ValueError"),
        ("raise ValueError('too small')", "too small"),
    ],
)
def test_exceptions_without_text_go_by_their_class(run, statement, shown, mode):
    done = check(
        run,
        f"""
        import numpy as np
        from numba import cuda

        @cuda.jit(debug=True, opt=False)
        def f(x):
            {statement}
        f[1, 1](np.zeros(4))
        """,
        f"--mode={mode}",
        "--json=f.json",
    )
    assert done.returncode == 1
    assert f"error: kernel-exception: {shown}\n  at tid=[0, 0, 0]" in done.stderr, done.stderr
    (finding,) = json.loads((run.folder / "f.json").read_text())["findings"]
    assert finding["message"] == shown


def test_a_repeated_launch_that_hangs_is_a_finding(run):
    done = check(
        run,
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def f(x, n):
            if cuda.blockIdx.x == 0:
                cuda.atomic.add(x, 0, 1)
            elif x[0] != 1:
                i = 0
                while i >= 0:
                    i = (i + 1) % 1000
                x[1] = i
        f[2, 1](np.zeros(4, np.int32), 1)
        """,
        "--check=memory",
        "--time-limit=1",
    )
    assert (
        done.returncode == 1 and "time-limit" in done.stderr and "order of threads: reverse\n" in done.stderr
    )


def test_printing_comes_from_the_program_only(run):
    done = check(
        run,
        """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def f(x):
            x[0] = 1
            print("from the kernel")
        f[1, 1](np.zeros(4, np.int32))
        """,
        "--schedules=3",
    )
    assert (done.returncode, done.stdout) == (0, "from the kernel\n")
    assert "under 4 schedules" in done.stderr


def test_memory_that_is_touched_too_early_is_a_finding(run):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def add(x):
            x[cuda.grid(1)] += 1

        stream, mapped = cuda.stream(), cuda.mapped_array(64, np.float32)
        mapped[:] = 1
        add[1, 64, stream](mapped)
        mapped[0]
        stream.synchronize()
        """
    done = check(run, code, "--deferred=1")
    assert done.returncode == 1, done.stderr
    assert (
        "warning: not-guaranteed-complete: mapped memory is read or written before kernel add" in done.stderr
    )
    assert (
        re.search(r"  at script\.py:1[23]\n", done.stderr) and "1 finding (0 errors, 1 warning" in done.stderr
    )


@pytest.mark.parametrize("checks", [b"races", ["races", 3], 5, "none,races"])
def test_checks_that_are_no_names_are_refused(checks):
    with pytest.raises(cudasim.options.OptionError, match="check takes none, default"), cudasim.check(checks):
        pass


def test_an_object_of_check_is_for_one_block_or_for_a_function():
    once = cudasim.check("races")
    with once as found:
        assert found == []
    with pytest.raises(RuntimeError, match=r"call cudasim\.check\(\) again for another one"), once:
        pass

    @cudasim.check("init")
    def checks():
        return cudasim.options.get("check")

    assert [checks(), checks()] == ["init,sync"] * 2


def test_a_wrong_option_in_the_environment_ends_pytest_once(run):
    run.write("def test_one(): pass", "test_it.py")
    done = run("-m", "pytest", "--cudasim", "-p", "no:cacheprovider", "test_it.py", CUDASIM_CHECK="bogus")
    assert done.returncode == 4 and done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if "CUDASIM_CHECK" in line]
    assert line.startswith(
        "ERROR: environment variable CUDASIM_CHECK: 'bogus' is not valid. There is no check"
    )


@pytest.mark.parametrize(("checks", "status"), [("all", 2), ("memory,races,sync,leaks", 1)])
def test_a_check_that_has_no_address_space_is_told(run, checks, status):
    run.write(RACY)
    done = run(
        "-c",
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (64 << 30,) * 2); "
        f"os.execv(sys.executable, [sys.executable, '-m', 'cudasim', 'check', '--check', '{checks}', 'script.py'])",
        OPENBLAS_NUM_THREADS="1",
    )
    assert done.returncode == status, done.stderr
    assert "data-race" in done.stderr
    told = [line for line in done.stderr.splitlines() if "ulimit" in line]
    if status == 1:
        assert not told
    else:
        (line,) = told
        assert (
            line.startswith("cudasim check: uninitialised values were not looked for") and "--check" in line
        )

"""Data breakpoints (docs/debug_protocol.md) through the server's socket: what can be watched, who is named, and when it is over."""

import pytest
from debug_session import debugging

CODE = """
    import numpy as np
    from numba import cuda

    point = np.dtype([("x", np.float32), ("mass", np.float64)], align=True)

    @cuda.jit(device=True)
    def put(target, place, value):
        target[place] = value  # put

    @cuda.jit
    def kernel(x, y, counter, records, matrix):
        i = cuda.grid(1)  # first
        t = cuda.threadIdx.x
        s = cuda.shared.array(256, np.int32)
        own = cuda.local.array(4, np.int32)
        total = 0  # total
        for k in range(3):
            own[k] = k * t  # own
            total += own[k]  # add
        s[t] = t * 2  # store
        cuda.syncthreads()  # wait
        y[i] = s[255 - t] + total  # read
        if t == 200:
            put(s, 7, -5)  # call
        cuda.atomic.add(counter, 0, 1)  # atomic
        if t == 9:
            records[1].mass = 2.5  # record
        matrix[t % 4, t // 4 % 4] = t  # matrix

    x = np.arange(512, dtype=np.int32)
    y = np.zeros(512, np.int32)
    counter = np.zeros(1, np.int32)
    records = np.zeros(3, point)
    matrix = np.zeros((4, 4), np.int32)
    device = [cuda.to_device(each) for each in (x, y, counter, records, matrix)]
    for repeat in range(2):
        kernel[2, 256](*device)
    print(int(device[1].copy_to_host().sum()), int(device[2].copy_to_host()[0]), device[3].copy_to_host()["mass"][1])
"""


@pytest.fixture
def program(tmp_path):
    """Stopped at the first statement of thread 0 in block 0, with nothing but the tests' own stops from there on."""
    with debugging(tmp_path, CODE) as client:
        client.break_at("store", cudasim={"threads": "0", "blocks": "0", "temporary": True})
        client.run()
        client.wait("store")
        client.break_at()
        yield client


def info(client, name, **more):
    return client.ask("dataBreakpointInfo", name=name, frameId=client.frames()[0]["id"], **more)


def watch(client, name, **more):
    """Sets one data breakpoint, and no others; its number."""
    data_id = info(client, name)["dataId"]
    assert data_id
    (answer,) = client.ask("setDataBreakpoints", breakpoints=[{"dataId": data_id, **more}])["breakpoints"]
    assert answer["verified"], answer
    return answer["id"]


def hit(client, mark, thread, block=0):
    """The one report of the next stop."""
    stop = client.go(mark=mark, reason="data breakpoint")
    about = stop["cudasim"]
    assert (about["thread"][0], about["block"][0]) == (thread, block)
    (report,) = about["watches"]
    assert stop["hitBreakpointIds"] == [report["id"]]
    return report


def test_the_capability_is_announced(tmp_path):
    with debugging(tmp_path, "print(1)") as client:
        (initialized,) = [each for each in client.seen if each.get("command") == "initialize"]
        assert initialized["body"]["supportsDataBreakpoints"] is True
        assert "no kernel is stopped" in client.refused("dataBreakpointInfo", name="x")
        client.run()
        client.end()


def test_the_writer_of_a_shared_element_is_named(program):
    number = watch(program, "s[7]")
    report = hit(program, "store", 7)
    assert (report["id"], report["expression"], report["access"]) == (number, "s[7]", "write")
    assert (report["new"], report["line"]) == ("14", program.line("store"))
    assert int(report["old"]) < 0  # fresh memory holds poison
    report = hit(program, "put", 200)
    assert (report["old"], report["new"], report["function"]) == ("14", "-5", "put")


def test_results_are_those_without_a_watch(tmp_path, program):
    info_of = info(program, "y[17]")
    assert info_of["accessTypes"] == ["write", "read", "readWrite"] and info_of["canPersist"] is False
    watch(program, "records[2].mass", accessType="readWrite")  # nobody touches it
    output = program.go_to_end()
    with debugging(tmp_path, CODE) as plain:
        plain.run()
        assert plain.end() == output


def test_reads_writes_and_atomics_are_accesses(program):
    watch(program, "counter[0]", cudasim={"threads": "0..1"})
    assert (hit(program, "atomic", 0)["old"], hit(program, "atomic", 1)["new"]) == ("0", "2")
    # The same number keeps its count; so does the condition's thread.
    watch(program, "counter[0]", condition="t == 5", cudasim={"id": 40})
    report = hit(program, "atomic", 5)
    assert (report["id"], report["old"], report["new"]) == (40, "5", "6")
    watch(program, "counter[0]", hitCondition="== 3")
    assert hit(program, "atomic", 8)["new"] == "9"
    watch(program, "s[3]", accessType="read")
    report = hit(program, "read", 252)
    assert (report["access"], report["new"], "old" in report) == ("read", "6", False)
    watch(program, "s[255]", accessType="readWrite", cudasim={"threads": "255", "blocks": "1"})
    report = hit(program, "store", 255, block=1)
    assert report["accessType"] == "readWrite"


def test_slices_arrays_and_members_name_the_element(program):
    watch(program, "y[4:10:3]")
    assert hit(program, "read", 4)["element"] == "y[4]"
    assert hit(program, "read", 7)["element"] == "y[7]"
    watch(program, "records[1].mass")
    report = hit(program, "record", 9)
    assert (report["old"], report["new"]) == ("0.0", "2.5")
    watch(program, "matrix[:, 1]")
    assert [hit(program, "matrix", t)["element"] for t in (20, 21)] == ["matrix[0, 1]", "matrix[1, 1]"]
    watch(program, "matrix")
    assert hit(program, "matrix", 22)["element"] == "matrix[2, 1]"
    watch(program, "y[i + 1]")
    assert "element" not in hit(program, "read", 23)


def test_addresses_are_watched_with_a_size_or_a_type(program):
    address = program.ask("evaluate", expression="counter", frameId=program.frames()[0]["id"])[
        "memoryReference"
    ]
    watch(program, f"*{address} : 4")
    assert hit(program, "atomic", 0)["new"] == "1"
    watch(program, f"*(int32 *) {address}")
    assert hit(program, "atomic", 1)["new"] == "2"
    found = program.ask("dataBreakpointInfo", name=address, asAddress=True, bytes=2)
    program.ask("setDataBreakpoints", breakpoints=[{"dataId": found["dataId"]}])
    assert hit(program, "atomic", 2)["new"] == "3"


def test_a_variable_is_watched_until_its_function_ends(program):
    program.ask("setDataBreakpoints", breakpoints=[])
    program.break_at("total", cudasim={"threads": "5", "temporary": True})
    program.go(mark="total")
    found = info(program, "total")
    assert found["accessTypes"] == ["write"] and found["cudasim"]["space"] == "variable"
    watch(program, "total")
    seen = []
    for _ in range(3):
        (report,) = program.go(reason="data breakpoint")["cudasim"]["watches"]
        seen.append((report["old"], report["new"], report["line"]))
    total, add = program.line("total"), program.line("add")
    assert seen == [("<not assigned>", "0", total), ("0", "5", add), ("5", "15", add)]
    stop = program.go(reason="data breakpoint")
    assert stop["cudasim"]["watches"][0]["access"] == "end"
    removed = [each for each in program.seen if each.get("event") == "breakpoint"][-1]["body"]
    assert removed["reason"] == "removed"
    assert program.focus()["thread"][0] == 5
    program.go_to_end()


def test_local_arrays_are_the_threads_own(program):
    program.break_at("own", cudasim={"threads": "5..6", "temporary": True})
    program.go(mark="own")
    assert program.focus()["thread"][0] == 5
    program.break_at()
    watch(program, "own[2]")
    report = hit(program, "own", 5)
    assert (report["new"], report["element"] if "element" in report else "") == ("10", "")
    stop = program.go(reason="data breakpoint")  # the thread ends; thread 6 has not been told of
    assert stop["cudasim"]["watches"][0]["access"] == "end"


def test_data_ids_survive_being_set_again_and_later_launches(program):
    first, second = info(program, "counter[0]")["dataId"], info(program, "s[0]")["dataId"]
    assert info(program, "counter[0]")["dataId"] == first
    both = [{"dataId": first, "condition": "t == 255 and blockIdx.x == 1"}, {"dataId": second}]
    numbers_of = [each["id"] for each in program.ask("setDataBreakpoints", breakpoints=both)["breakpoints"]]
    program.ask("setDataBreakpoints", breakpoints=[])
    again = program.ask("setDataBreakpoints", breakpoints=both)["breakpoints"]
    assert [each["verified"] for each in again] == [True, True] and len(set(numbers_of)) == 2
    hit(program, "store", 0)
    report = hit(program, "atomic", 255, block=1)
    assert report["new"] == "512"
    # Shared memory is gone in the second launch; global memory is not.
    report = hit(program, "atomic", 255, block=1)
    assert report["new"] == "1024"
    assert program.go_to_end()
    removed = [each["body"] for each in program.seen if each.get("event") == "breakpoint"]
    assert [each["breakpoint"]["id"] for each in removed if each["reason"] == "removed"] == [again[1]["id"]]


@pytest.mark.parametrize(
    "name, why",
    [
        ("nothing", "there is no variable 'nothing' here"),
        ("s[256]", "there is no 's[256]' here"),
        ("s[5:5]", "there are no elements"),
        ("s[::0]", "the step of '::0' is 0"),
        ("s[1:2].x", "nothing may follow a slice"),
        ("t[1:2]", "only arrays have slices"),
        ("threadIdx", "special registers do not change"),
        ("s + 1", "is no place that can be watched"),
        ("s[nothing]", "nothing"),
        ("s[1.5]", "is no index"),
        ("*0x10", "may not read"),
        ("*12x : 4", "is no address"),
        ("*(quux *) 0x10", "is no type"),
        ("*0x10 : 0", "is no number of bytes"),
        ("*((", "write *(TYPE *) ADDRESS"),
        ("*()", "is no address"),
        ("*&nothing", "there is no variable 'nothing' here"),
        ("", "is no place"),
        ("s[", "is no place"),
    ],
)
def test_what_cannot_be_watched_is_said(program, name, why):
    answer = info(program, name)
    assert answer["dataId"] is None and why in answer["description"]


@pytest.mark.parametrize(
    "name",
    [
        "*&y[2]",
        "*(&y[2])",
        "*{} : 4",
        "*(int32 *) {}",
        "*((int32 *) {})",
        "*(int32 *) (float32 *) {}",
        "*((float32 *) {}) : 4",
    ],
)
def test_addresses_are_written_as_in_c(program, name):
    frame = program.frames()[0]["id"]
    address = program.ask("evaluate", expression="&y[2]", frameId=frame)["result"].split()[-1]
    watch(program, name.format(address))
    report = hit(program, "read", 2)
    assert (report["old"], report["new"]) == ("0", str(2 * 253 + 3 * 2))


def test_an_array_that_is_not_assigned_yet_cannot_be_watched(program):
    program.ask("setDataBreakpoints", breakpoints=[])
    program.break_at("first", cudasim={"threads": "3", "temporary": True})
    program.go(mark="first")
    assert "'s' is not assigned yet" in info(program, "s[3]")["description"]


def test_wrong_requests_are_refused_one_by_one(program):
    good = info(program, "counter[0]")["dataId"]
    local = info(program, "total")["dataId"]
    answers = program.ask(
        "setDataBreakpoints",
        breakpoints=[
            {"dataId": "7:nothing"},
            {"dataId": good, "accessType": "sideways"},
            {"dataId": local, "accessType": "read"},
            {"dataId": good, "hitCondition": "often"},
            {"dataId": good},
        ],
    )["breakpoints"]
    assert [each["verified"] for each in answers] == [False, False, False, False, True]
    assert "names nothing" in answers[0]["message"] and "no reads" in answers[2]["message"]
    watch(program, "counter[0]", condition="1 // 0")
    stop = program.go(reason="data breakpoint")
    assert "cannot be evaluated" in stop["cudasim"]["notes"][0]


def test_a_child_of_an_array_is_watched_by_its_name(program):
    frame = program.frames()[0]["id"]
    scopes = program.ask("scopes", frameId=frame)["scopes"]
    (shared,) = [each for each in scopes if each["name"] == "Shared"]
    array = program.children(shared["variablesReference"])["s"]
    found = program.ask("dataBreakpointInfo", name="[12]", variablesReference=array["variablesReference"])
    assert (found["description"], found["cudasim"]["space"]) == ("s[12]", "shared")
    program.ask("setDataBreakpoints", breakpoints=[{"dataId": found["dataId"]}])
    assert hit(program, "store", 12)["new"] == "24"


def test_what_an_inlined_function_returns_is_assigned_by_its_caller(tmp_path):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit(device=True)
        def inverse(value):
            shifted = value + 1
            return 1 / shifted

        @cuda.jit
        def kernel(x):
            i = cuda.grid(1)  # begin
            result = inverse(x[i])  # assigns
            x[i] = result

        kernel[1, 32](np.zeros(32))
    """
    with debugging(tmp_path, code) as client:
        client.break_at("begin", cudasim={"threads": "4"})
        client.run()
        client.wait("begin")
        frame = client.frames()[0]["id"]
        found = client.ask("dataBreakpointInfo", name="result", frameId=frame)
        client.ask("setDataBreakpoints", breakpoints=[{"dataId": found["dataId"], "accessType": "write"}])
        body = client.go("continue", reason="data breakpoint")
        assert body["cudasim"]["watches"][0]["line"] == client.line("assigns")
        client.ask("setDataBreakpoints", breakpoints=[])
        client.go_to_end()

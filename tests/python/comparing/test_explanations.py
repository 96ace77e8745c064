"""Why launches differ on a GPU: kernels with a known cause get it first, with its line, and their clean twins do not differ."""

import ast
import json
import pathlib
import re

import pytest
from cudasim import _native
from cudasim.comparing import report

FILE = pathlib.Path(__file__).with_name("explained_kernels.py")
LINES = FILE.read_text().splitlines()
MARK = re.compile(r"# (race|atomic|uninitialised|fma|libdevice|approximate|fast-math)$")
SCHEMA = json.loads(pathlib.Path(report.__file__).with_name("report_schema.json").read_text())
_results = {}


def _read_cases():
    """name: (cause, what the driver is told, options), as the file has them; and the lines of its functions.

    It is not imported: this interpreter has no numba.
    """
    cases, functions, constants = {}, {}, {}

    def value(node):
        return constants[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)

    for node in ast.parse(FILE.read_text()).body:
        if isinstance(node, ast.Assign):
            try:
                constants[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = range(node.lineno, node.end_lineno + 1)
            for call in node.decorator_list:
                cause, *planted = map(value, call.args)
                variables = {
                    key: item for keyword in call.keywords for key, item in value(keyword.value).items()
                }
                cases[node.name] = (cause, planted[0] if planted else "", variables)
    return cases, functions


CASES, FUNCTIONS = _read_cases()


@pytest.fixture
def result_of(run, gpu):
    """What a case and its twin came to. Cases that need the same driver run in one process."""

    if _native.find_libdevice() is None:  # some of the kernels need it
        pytest.skip('no libdevice.10.bc on this machine: pip install "cudasim[gpu]" brings one')

    def result(name):
        if name not in _results:
            _, planted, variables = CASES[name]
            alike = [each for each, case in CASES.items() if case[1:] == (planted, variables)]
            done = run(FILE, *alike, timeout=600, **gpu(planted, **variables))
            assert done.returncode == 0, done.stderr
            _results.update(json.loads(done.stdout.splitlines()[-1]))
        return _results[name]

    return result


def marked_lines(name):
    """The lines of a case that its explanation is to name."""
    function = "_sum" if name in ("sum_of_float32", "sum_of_float64") else name
    return {line for line in FUNCTIONS[function] if MARK.search(LINES[line - 1])}


@pytest.mark.parametrize("name", CASES)
def test_the_cause_is_found_first_and_clean_twins_do_not_differ(result_of, name):
    case, *twins = result_of(name)
    assert case["verdict"] == "different", case
    first = case["explanations"][0]
    assert first["cause"] == CASES[name][0], case["explanations"]
    for twin in twins:
        assert twin["verdict"] in ("same", "close"), twin
        assert twin["explanations"] is None
    named = {place["line"] for place in first["locations"] if pathlib.Path(place["file"]).name == FILE.name}
    expected = marked_lines(name)
    assert expected <= named if expected else not first["locations"], (expected, named, first)


@pytest.mark.parametrize("name", ["tile_without_barrier", "product_and_sum", "flipped_bit"])
def test_explanations_are_as_the_schema_says(result_of, name):
    jsonschema = pytest.importorskip("jsonschema")
    schema = {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/explanation"}
    for explanation in result_of(name)[0]["explanations"]:
        jsonschema.validate(explanation, schema)


def test_there_are_enough_of_them():
    assert sum(cause != "unexplained" for cause, *_ in CASES.values()) >= 20


def test_the_text_of_a_race_names_both_lines(result_of):
    text = result_of("tile_without_barrier")[0]["explanations"][0]["text"]
    write, read = (f"in line {line}" for line in sorted(_lines_of_a_race()))
    assert "shared memory 'tile'" in text and write in text and read in text and "barrier" in text


def _lines_of_a_race():
    store = next(line for line in FUNCTIONS["tile_without_barrier"] if "tile[i] = x[i]" in LINES[line - 1])
    return {store, *marked_lines("tile_without_barrier")}


def test_a_report_tells_them(run, gpu):
    program = """
    import numpy as np, cudasim
    from numba import cuda

    @cuda.jit
    def last(x, y):
        y[0] = x[cuda.grid(1)]

    cudasim.compare(last[4, 64], np.arange(256, dtype=np.float32), np.zeros(1, np.float32))
    """
    done = run.script(program, **gpu("order=reverse"))
    assert done.returncode == 1
    assert "Data race on 'y'" in done.stderr and "barrier" in done.stderr, done.stderr


def test_launches_in_which_memory_holds_pointers_are_explained_in_a_process_of_their_own(run, gpu):
    program = """
    import json
    import numpy as np, cudasim
    from numba import cuda

    @cuda.jit
    def k(addresses, x, y):
        i = cuda.grid(1)
        y[0] = x[i]

    y, x = cuda.to_device(np.zeros(1, np.float32)), np.arange(64, dtype=np.float32)
    addresses = cuda.to_device(np.array([y.__cuda_array_interface__["data"][0]], np.uint64))
    for _ in range(2):
        found = cudasim.compare(k[1, 64], addresses, x, y, raises=False)
        print(json.dumps(found.report["launches"][0]))
    """
    done = run.script(program, **gpu("order=reverse"))
    assert done.returncode == 0, done.stderr
    for launch in map(json.loads, done.stdout.splitlines()):
        assert launch["explanations"][0]["cause"] == "race", launch["explanations"]
        (array,) = [each for each in launch["arrays"] if each["verdict"] == "different"]
        element = array["elements"][0]
        assert [write["thread"] for write in element["writes"]][-1] == [63, 0, 0]
        assert [(read["name"], read["index"]) for read in element["reads"]] == [("x", [63])]


def test_where_no_process_can_be_started_the_difference_is_not_explained(run, gpu):
    program = """
    import json, sys
    import numpy as np, cudasim
    from numba import cuda

    @cuda.jit
    def k(addresses, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = i

    sys.executable = "/nowhere/python"
    y = cuda.to_device(np.zeros(64, np.float32))
    addresses = cuda.to_device(np.array([y.__cuda_array_interface__["data"][0]], np.uint64))
    found = cudasim.compare(k[1, 64], addresses, y, raises=False)
    print(json.dumps(found.report["launches"][0]["explanations"]))
    """
    done = run.script(program, **gpu("flip=p3+40.6"))
    assert done.returncode == 0, done.stderr
    (only,) = json.loads(done.stdout)
    assert only["cause"] == "unexplained" and "holds an address" in only["text"], only

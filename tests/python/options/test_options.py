"""The option table: where values come from, what is refused, and the page made from it."""

import pathlib

import pytest
from cudasim import _native, options
from cudasim._option_table import ROWS
from hypothesis import given, strategies

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    for option in options.TABLE:
        monkeypatch.delenv(option.variable, raising=False)
    options.set(**dict.fromkeys(options.BY_NAME))
    yield
    options.set(**dict.fromkeys(options.BY_NAME))


def read_again():
    options.set()  # any change drops the values that were worked out


def test_defaults_say_where_they_come_from():
    for option in options.TABLE:
        value, source = options.value_and_source(option.name)
        assert value == option.default
        assert option.default_from in source


def test_environment_beats_default_and_set_beats_environment(monkeypatch):
    monkeypatch.setenv("CUDASIM_WORKERS", "3")
    read_again()
    assert options.get("workers") == 3
    assert options.value_and_source("workers")[1] == "environment variable CUDASIM_WORKERS"
    options.set(workers=1)
    assert options.get("workers") == 1
    options.set(workers=None)
    assert options.get("workers") == 3


def test_override_ends_with_its_block():
    options.set(strict=True)
    with options.override(strict=False, workers=2):
        assert (options.get("strict"), options.get("workers")) == (False, 2)
    assert (options.get("strict"), options.get("workers")) == (True, 0)


@pytest.mark.parametrize(
    "text, value", [("64M", 64 << 20), ("2GiB", 2 << 30), ("1000", 1000), ("1.5k", 1536)]
)
def test_sizes_have_units(text, value):
    assert options.BY_NAME["device_memory"].parse(text) == value


def test_options_of_the_device_cannot_change_once_it_is_there():
    from cudasim import cuda

    cuda.device_array(1)
    with pytest.raises(options.OptionError, match="CUDASIM_DEVICE_MEMORY"):
        options.set(device_memory="3M")
    assert options.get("device_memory") == 0


def test_device_memory_is_what_the_option_says(run):
    done = run.script(
        """
        from cudasim import cuda
        print(cuda.current_context().get_memory_info().total)
        try:
            cuda.device_array(1 << 27, "u1")
        except Exception as error:
            print(error.code)
        """,
        CUDASIM_DEVICE_MEMORY="64M",
    )
    assert done.stdout.split() == [str(64 << 20), "2"], done.stderr


@pytest.mark.parametrize(
    "name, text",
    [
        ("workers", "many"),
        ("workers", "-1"),
        ("policy", "sideways"),
        ("time_limit", "-1"),
        ("time_limit", "inf"),
        ("strict", "perhaps"),
        ("device_memory", "1Q"),
        ("device", "z100"),
        ("workers", "100000"),
        ("workers", "9" * 5000),
        ("seed", str(2**64)),
        ("max_faults", "0"),
        ("time_limit", "nan"),
        ("time_limit", "1e300"),
        ("device_memory", "1e30"),
        ("device_memory", "-1"),
        ("cache_size", "100000T"),
        ("mode", "Native"),
    ],
)
def test_wrong_values_are_refused_with_what_is_accepted(monkeypatch, name, text):
    option = options.BY_NAME[name]
    monkeypatch.setenv(option.variable, text)
    read_again()
    with pytest.raises(options.OptionError) as caught:
        options.get(name)
    assert option.variable in str(caught.value)
    assert (repr(text) if len(text) < 100 else "(5002 characters)") in str(caught.value)
    assert option.accepts in str(caught.value)


@pytest.mark.parametrize(
    "name, value",
    [
        ("strict", 2),
        ("strict", None.__class__),
        ("strict", []),
        ("workers", 1.5),
        ("workers", 4.0),
        ("workers", True),
        ("workers", -1),
        ("workers", 2**70),
        ("seed", -1),
        ("time_limit", True),
        ("time_limit", [1]),
        ("device", 3),
        ("device_memory", 2**63),
        ("cache_dir", 3),
        ("cache_dir", "a\0b"),
        ("mode", []),
    ],
)
def test_absurd_values_from_programs_are_refused_and_change_nothing(name, value):
    before = options.generation
    with pytest.raises(options.OptionError, match=f"cudasim.options.set: .* is not valid; {name} takes "):
        options.set(**{"progress": False, name: value})
    assert options.get("progress") is True and options.generation == before


def test_values_of_numpy_are_taken():
    import numpy as np

    options.set(
        strict=np.bool_(True), workers=np.int8(3), time_limit=np.float32(0.5), device_memory=np.int64(0)
    )
    assert (options.get("strict"), options.get("workers"), options.get("time_limit")) == (True, 3, 0.5)


@pytest.mark.parametrize(
    "name, text, meant",
    [("policy", "foward", "forward"), ("mode", "pyhton", "python"), ("device", "h10", "h100")],
)
def test_misspelt_values_get_a_suggestion(name, text, meant):
    with pytest.raises(options.OptionError, match=f"Did you mean '{meant}'"):
        options.set(**{name: text})


def test_ranges_reach_the_engine_in_both_modes(run):
    """What is refused is refused in the option's own words, before any launch."""
    done = run.script(
        """
        from cudasim import cuda, options

        @cuda.jit
        def kernel():
            pass

        for mode in "native", "python":
            with options.override(mode=mode, seed=2**64 - 1, max_faults=10**9, time_limit=1e9, workers=2):
                kernel[2, 2]()
        print("ran")
        """
    )
    assert done.stdout == "ran\n", done.stderr


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(options.OptionError, match="no option 'wokers'. Did you mean 'workers'"):
        options.set(wokers=1)


def test_documentation_page_is_what_the_table_says():
    page = (ROOT / "docs" / "options.md").read_text()
    assert page == options.documentation(), "run: python -m cudasim.options > docs/options.md"


def test_every_option_is_an_argument_of_run(run):
    done = run("-m", "cudasim.command_line", "run", "--help")
    for option in options.TABLE:
        assert option.argument + " VALUE" in done.stdout


def test_the_copy_of_the_table_is_the_engines():
    assert list(ROWS) == _native.option_table(), (
        "run: python -m cudasim.options --table > /tmp/t && mv /tmp/t frontend/python/cudasim/_option_table.py"
    )
    assert (
        ROOT / "frontend" / "python" / "cudasim" / "_option_table.py"
    ).read_text() == options.table_module()


def test_replay_takes_the_options_that_say_how_a_launch_runs(run):
    names = {option.name for option in options.TABLE if option.of_a_launch}
    assert {"policy", "seed", "workers", "fma"} <= names and not names & {"mode", "device", "deferred"}
    shown = run("-m", "cudasim.command_line", "replay", "--help").stdout
    document = (ROOT / "docs" / "recording.md").read_text()
    for option in options.TABLE:
        assert (f" {option.argument} " in shown) == (option.name in names), option.name
        assert option.name not in names or f"`{option.argument}`" in document, option.name


def taken(parse, *arguments):
    """The value and its type, or None where it is refused."""
    try:
        value = parse(*arguments)
    except (ValueError, TypeError, OverflowError):
        return None
    return type(value), value


_PIECES = strategies.sampled_from(
    [*"0123456789", "0", "1", "10", "1000", "18446744073709551615", ".", "e", "E", "+", "-", "_", " ", "\t", "k", "M", "g", "T", "iB", "B",
     "true", "YES", "on", "Off", "no", "false", "nan", "inf", "infinity", "forward", "fiber", "warn", "auto", "x", "1_0", "0x1f"]
)  # fmt: skip


@given(text=strategies.lists(_PIECES, max_size=4).map("".join))
def test_programs_without_python_read_texts_as_python_does(text):
    for option in options.TABLE:
        if option.from_folder is None:
            in_engine = taken(_native.parse_option, option.name, text, "here")
            assert in_engine == taken(option.parse, text), (option.name, text)


def test_blocks_of_defaults_may_end_in_any_order():
    first, second = options.defaults("the first", fma=True, seed=3), options.defaults("the second", fma=False)
    before = options.get("fma"), options.get("seed")
    first.__enter__()
    second.__enter__()
    assert (options.get("fma"), options.get("seed")) == (False, 3)
    first.__exit__(None, None, None)
    assert (options.get("fma"), options.get("seed")) == (False, before[1])
    second.__exit__(None, None, None)
    assert (options.get("fma"), options.get("seed")) == before

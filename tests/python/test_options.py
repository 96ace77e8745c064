"""The option table: where values come from, what is refused, and the page made from it."""

import pathlib

import pytest
from cudasim import options

ROOT = pathlib.Path(__file__).resolve().parents[2]


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
        ("device", "a100"),
    ],
)
def test_wrong_values_are_refused_with_what_is_accepted(monkeypatch, name, text):
    option = options.BY_NAME[name]
    monkeypatch.setenv(option.variable, text)
    read_again()
    with pytest.raises(options.OptionError) as caught:
        options.get(name)
    assert option.variable in str(caught.value)
    assert repr(text) in str(caught.value)
    assert option.accepts in str(caught.value)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(options.OptionError, match="no option 'wokers'.*workers"):
        options.set(wokers=1)


def test_documentation_page_is_what_the_table_says():
    page = (ROOT / "docs" / "options.md").read_text()
    assert page == options.documentation(), "run: python -m cudasim.options > docs/options.md"


def test_every_option_is_an_argument_of_run(run):
    done = run("-m", "cudasim.command_line", "run", "--help")
    for option in options.TABLE:
        assert option.argument + " VALUE" in done.stdout

"""The table of commands: names, short forms, unique beginnings, what is said of the rest, help."""

import re

import pytest
from cudasim.debugger_client.commands import GROUPS, TABLE, split_word
from cudasim.debugger_client.errors import CommandError

#: gdb's single letters and usual short forms, and pdb's where they are free.
SHORT = {
    "b": "break", "br": "break", "c": "continue", "cont": "continue", "d": "delete", "f": "frame", "h": "help", "i": "info", "k": "kill",
    "l": "list", "ll": "longlist", "n": "next", "p": "print", "pp": "print", "q": "quit", "r": "run", "s": "step", "u": "until", "w": "backtrace",
    "bt": "backtrace", "where": "backtrace", "fin": "finish", "cl": "clear", "tb": "tbreak", "dis": "disable", "en": "enable",
    "unt": "until", "adv": "advance", "cond": "condition", "ig": "ignore", "disp": "display", "undisp": "undisplay", "star": "start",
    "ru": "run", "ste": "step", "ne": "next", "cu": "cuda", "t": "thread", "wha": "whatis", "pt": "ptype", "so": "source", "al": "alias",
    "return": "finish", "!": "shell", "exit": "quit", "dp": "dprintf", "bar": "barrier", "a": "args", "pri": "print", "printf": "printf", "ca": "call", "sa": "save",
}  # fmt: skip


@pytest.mark.parametrize("word", SHORT)
def test_short_forms(word):
    assert TABLE.find(word).name == SHORT[word]


def test_every_command_is_found_by_its_name():
    for name, found in TABLE.commands.items():
        assert TABLE.find(name) is found


def test_several_commands_that_begin_so_are_named():
    with pytest.raises(CommandError, match=r'^Ambiguous command "di": disable, disassemble, display\.$'):
        TABLE.find("di")
    with pytest.raises(CommandError, match="start, step"):
        TABLE.find("st")


def test_an_alias_and_its_command_are_one():
    assert TABLE.find("backt").name == "backtrace" and TABLE.find("wher").name == "backtrace"


@pytest.mark.parametrize(
    "word, message",
    [
        ("frobnicate", 'Undefined command: "frobnicate".  Try "help".'),
        ("brek", 'Undefined command: "brek".  Try "help".  Did you mean "break"?'),
        ("contineu", 'Undefined command: "contineu".  Try "help".  Did you mean "continue"?'),
    ],
)
def test_an_unknown_command(word, message):
    with pytest.raises(CommandError, match="^" + re.escape(message) + "$"):
        TABLE.find(word)


def test_an_unknown_subject():
    info = TABLE.find("info").sub_table
    with pytest.raises(
        CommandError,
        match=re.escape('Undefined info command: "loclas".  Try "help info".  Did you mean "info locals"?'),
    ):
        info.find("loclas")
    assert info.find("b").name == "breakpoints" and info.find("loc").name == "locals"
    cuda = info.find("cuda").sub_table
    assert [cuda.find(word).name for word in ("thr", "bl", "w", "l", "k", "d", "ba")] == [
        "threads", "blocks", "warps", "lanes", "kernels", "devices", "barriers"]  # fmt: skip


@pytest.mark.parametrize(
    "line, parts",
    [("print x", ("print", "x")), ("p/x i + 1", ("p", "/x i + 1")), ("x/4xw a", ("x", "/4xw a")), ("!ls -l", ("!", "ls -l")),
     ("  bt  ", ("bt", "")), ("", ("", "")), ("# words", ("#", "words")), ("show-x y", ("show-x", "y"))],
)  # fmt: skip
def test_a_line_begins_with_a_word(line, parts):
    assert split_word(line) == parts


def every_command(table):
    for one in table.commands.values():
        yield table, one
        if one.sub_table is not None:
            yield from every_command(one.sub_table)


@pytest.mark.parametrize(
    "table, one", list(every_command(TABLE)), ids=lambda value: getattr(value, "name", "")
)
def test_every_command_has_help_that_begins_with_a_sentence(table, one):
    assert re.match(r"[A-Z].*[.:)]$", one.help) or re.match(r"[A-Z].*[.]", one.summary)
    assert one.summary and len(one.summary) <= 130
    if table is TABLE:
        assert one.group in GROUPS

"""The sessions that docs/debugging.md shows are typed on a pseudo-terminal, and what is shown is compared.

A ```debugger block begins with `$ ` and a command of the debugger; other commands may stand before it, as in a ```console block. A line with the debugger's prompt is what is typed there, all other lines are what
is shown, where `...` stands for anything. The files of the ```python blocks before it are there, as in test_commands.py.
"""

import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from terminal import Terminal  # noqa: E402
from test_commands import ROOT, blocks, check, same, session  # noqa: E402

DOCUMENT = ROOT / "docs" / "debugging.md"
PROMPT = re.compile(r"\(cudasim\) (?:\w+ block\S+ thread\S+ > )?|\(y or n\) |^>", re.MULTILINE)

TYPED_BEHIND = re.compile(r"\(cudasim\) (?:\w+ block\S+ thread\S+ > )?|.*\(y or n\) |>")


def transcripts():
    """(files, what is typed and shown before, command, lines of the session) of each block."""
    files, found = {}, []
    for language, text in blocks(DOCUMENT):
        if language == "python" and (name := re.match(r"# (\w+\.py)\n", text)):
            files[name[1]] = text
        elif language == "debugger":
            before, start, session = text.partition("$ cudasim debug")
            assert start, text
            rest_of_command, _, lines = session.partition("\n")
            found.append((dict(files), before, f"cudasim debug{rest_of_command}", lines))
    return found


def typed(lines_of_session):
    """What is typed, and the session without it: what a terminal shows that does not echo."""
    lines, shown = [], []
    for line in lines_of_session.splitlines():
        prompt = TYPED_BEHIND.match(line)
        lines += [line[prompt.end() :]] if prompt else []
        shown.append(prompt[0] if prompt else line + "\n")
    return lines, "".join(shown)


def play(command, lines, folder):
    """What is shown when these lines are typed, one at each prompt, until the program ends."""
    words = [sys.executable, "-m", "cudasim", *command.split()[1:]]
    terminal = Terminal(words, folder, 40, PYTHONPATH=os.environ.get("PYTHONPATH"))
    try:
        for line in lines:
            terminal.expect(PROMPT)
            terminal.type(line)
        terminal.finish()
        return terminal.shown
    finally:
        terminal.close()


@pytest.mark.parametrize("number", range(len(transcripts())))
def test_a_transcript_is_what_a_terminal_shows(number, tmp_path):
    files, before, command, lines_of_session = transcripts()[number]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for earlier, output in session(before):
        check(earlier, output, tmp_path)
    lines, expected = typed(lines_of_session)
    shown = play(command, lines, tmp_path).replace(str(tmp_path), "/home/you")
    assert same(expected, shown), f"$ {command}\n{shown}\n--- documented ---\n{expected}"


def test_there_are_transcripts():
    assert len(transcripts()) >= 3


def test_lines_with_a_prompt_are_typed():
    given = "(cudasim) run\nhere\n(cudasim) k block(0,0,0) thread(1,0,0) > print i\n$1 = 3\n(cudasim) quit\n"
    assert typed(given) == (
        ["run", "print i", "quit"], "(cudasim) here\n(cudasim) k block(0,0,0) thread(1,0,0) > $1 = 3\n(cudasim) ")  # fmt: skip

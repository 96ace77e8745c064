"""The sessions that docs/debugging.md shows are typed on a pseudo-terminal, and what is shown is compared.

A ```debugger block begins with `$ ` and a command of the debugger, or a script with CUDASIM_DEBUGGER; other commands may stand before it, as in a
```console block, and those that end in `&` run until the session is over, as process 4711. A line with the debugger's prompt is what is typed there, all other lines are what
is shown, where `...` stands for anything. The files of the ```python blocks before it are there, as in test_commands.py.
"""

import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

from processes import clean_environment  # noqa: E402
from terminal import Terminal  # noqa: E402
from test_commands import ROOT, blocks, check, same, session  # noqa: E402

pytestmark = pytest.mark.alone

#: The number that the document gives to processes.
PROCESS = "4711"
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
            start = re.search(
                r"^\$ (cudasim debug.*|[^\n]*CUDASIM_DEBUGGER=cudasim .*)\n", text, re.MULTILINE
            )
            assert start, text
            found.append((dict(files), text[: start.start()], start[1], text[start.end() :]))
    return found


def typed(lines_of_session):
    """What is typed, and the session without it: what a terminal shows that does not echo."""
    lines, shown = [], []
    for line in lines_of_session.splitlines():
        prompt = TYPED_BEHIND.match(line)
        lines += [line[prompt.end() :]] if prompt else []
        shown.append(prompt[0] if prompt else line + "\n")
    return lines, "".join(shown)


def words_of(command):
    """(words, variables) of `NAME=VALUE … cudasim …` or `… python …`."""
    words, variables = command.split(), {}
    while "=" in words[0]:
        name, _, variables[name] = words.pop(0).partition("=")
    return [sys.executable, *(["-m", "cudasim"] if words[0] == "cudasim" else []), *words[1:]], variables


@contextlib.contextmanager
def running(before, folder):
    """(what is left, process) while the command that ends in `&` runs."""
    found = re.search(r"^\$ (.*) &\n", before, re.MULTILINE)
    if not found:
        yield before, None
        return
    words, variables = words_of(found[1])
    process = subprocess.Popen(
        words, cwd=folder, env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH"), **variables)
    )
    try:
        time.sleep(2)
        yield before.replace(found[0], ""), process
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()


def play(command, lines, folder):
    """What is shown when these lines are typed, one at each prompt, until the program ends."""
    words, variables = words_of(command)
    terminal = Terminal(words, folder, 40, PYTHONPATH=os.environ.get("PYTHONPATH"), **variables)
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
    with running(before, tmp_path) as (before, process):
        for earlier, output in session(before):
            check(earlier, output, tmp_path)
        if process is not None:
            command = command.replace(PROCESS, str(process.pid))
            lines_of_session = lines_of_session.replace(PROCESS, str(process.pid))
        lines, expected = typed(lines_of_session)
        shown = play(command, lines, tmp_path).replace(str(tmp_path), "/home/you")
    assert same(expected, shown), f"$ {command}\n{shown}\n--- documented ---\n{expected}"


def test_there_are_transcripts():
    assert len(transcripts()) >= 3


def test_lines_with_a_prompt_are_typed():
    given = "(cudasim) run\nhere\n(cudasim) k block(0,0,0) thread(1,0,0) > print i\n$1 = 3\n(cudasim) quit\n"
    assert typed(given) == (
        ["run", "print i", "quit"], "(cudasim) here\n(cudasim) k block(0,0,0) thread(1,0,0) > $1 = 3\n(cudasim) ")  # fmt: skip

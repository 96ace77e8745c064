"""set and show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cudasim
from cudasim.debugger_client import completion, settings
from cudasim.debugger_client.commands.data_commands import set_variable
from cudasim.debugger_client.commands.table import command, split_word
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger
    from cudasim.debugger_client.settings import Setting


def _find(debugger: Debugger, argument: str) -> tuple[Setting, str]:
    """The setting that an argument begins with, and the rest. Each of its words may be shortened.

    :raises CommandError: where there is none, or several
    """
    matching = []
    for setting in debugger.settings.values():
        rest = argument
        exact = True
        for part in setting.name.split():
            word, rest = split_word(rest)
            if not word or not part.startswith(word):
                break
            exact = exact and word == part
        else:
            matching.append((not exact, setting, rest))
    matching.sort(key=lambda one: one[0])
    best = [one for one in matching if one[0] == matching[0][0]]
    if len(best) == 1:
        return best[0][1], best[0][2]
    word = argument.partition(" ")[0]
    if best:
        raise CommandError(f'Ambiguous setting "{argument}": {", ".join(one[1].name for one in best)}.')
    raise CommandError(f'Undefined setting: "{word}".  Try "help set".')


@command(
    "set",
    usage="var NAME = EXPRESSION | $NAME = EXPRESSION | SETTING VALUE",
    group="data",
    completer=completion.settings,
)
def _set(debugger: Debugger, argument: str) -> None:
    """Assign to a variable of the kernel, or change a setting of the debugger.

    `set var NAME = EXPRESSION` assigns; NAME may be an element such as s[3], the operator one such as +=, and a = b = 0
    assigns to both. `set $NAME = EXPRESSION` keeps a value for later expressions: $NAME. `show` lists the settings,
    `show convenience` the values with names.
    """
    word, rest = split_word(argument)
    if not word:
        raise CommandError("Write set var NAME = EXPRESSION, or set SETTING VALUE.")
    if word.startswith("$"):
        set_variable(debugger, argument)
        return
    if word in ("var", "variable") or (len(word) > 3 and "variable".startswith(word)):
        set_variable(debugger, rest)
        return
    try:
        setting, value = _find(debugger, argument)
    except CommandError:
        if "=" not in argument:
            raise
        set_variable(debugger, argument)
        return
    settings.change(setting, value)
    if setting.name == "cuda break_on_launch":
        _break_on_launch(debugger)
    elif setting.name == "break_on_errors":
        debugger.caught = []
        debugger.send_filters()


def show_convenience(debugger: Debugger) -> None:
    """Shows the values that have names."""
    if not debugger.history.named:
        debugger.console.write("No value has a name: set $NAME = EXPRESSION gives one.")
    for name, kept in debugger.history.named.items():
        debugger.console.write(f"${name} = {kept.text}")


def _break_on_launch(debugger: Debugger) -> None:
    """Sets, or removes, the breakpoint at every kernel's entry."""
    wanted = debugger.settings["cuda break_on_launch"].value != "none"
    present = [one for one in debugger.internal_breakpoints() if not one.temporary]
    if wanted and not present:
        debugger.stop_at_launches(temporary=False)
    elif present and not wanted:
        debugger.send_breakpoints(debugger.breakpoints.remove([one.number for one in present]))


@command("show", usage="[SETTING]", group="support", completer=completion.settings)
def _show(debugger: Debugger, argument: str) -> None:
    """Show a setting of the debugger, all of them without SETTING; also version, values and convenience."""
    if argument and "convenience".startswith(argument) and len(argument) > 3:
        show_convenience(debugger)
        return
    if argument in ("version", "values"):
        if argument == "version":
            debugger.console.write(f"cudasim {cudasim.__version__}")
            return
        first = max(len(debugger.history.values) - 9, 1)
        for number, kept in enumerate(debugger.history.values[first - 1 :], first):
            debugger.console.write(f"${number} = {kept.text}")
        return
    chosen = [_find(debugger, argument)[0]] if argument else list(debugger.settings.values())
    for setting in chosen:
        value = "unlimited" if setting.name == "print elements" and not setting.value else setting.value
        debugger.console.write(setting.sentence.format(value))

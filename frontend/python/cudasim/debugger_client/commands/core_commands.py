"""Core files: writing one of the kernel that is stopped, and debugging another one."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from cudasim.debugger_client import completion, core
from cudasim.debugger_client.commands.table import command
from cudasim.debugger_client.errors import CommandError

if TYPE_CHECKING:
    from cudasim.debugger_client.debugger import Debugger


def _words(argument: str) -> list[str]:
    try:
        return shlex.split(argument)
    except ValueError as error:
        raise CommandError(f"The name of the file cannot be read: {error}.") from None


@command("gcore", "generate-core-file", usage="[FILE]", group="support", completer=completion.files)
def _gcore(debugger: Debugger, argument: str) -> None:
    """Write the launch that is stopped into a core file.

    The file holds the launch as it was before it began: code, arguments, memory, options. `cudasim debug --core FILE` runs it again,
    anywhere. Without FILE it is named after the kernel and the launch. A file that is there is replaced.
    """
    focus = debugger.session.thread()
    words = _words(argument)
    if len(words) > 1:
        raise CommandError("One file is needed: gcore [FILE].")
    path = os.path.abspath(
        os.path.expanduser(words[0] if words else f"core_{focus.kernel}_{focus.launch}.cudasim")
    )
    debugger.session.request("cudasim/core", {"file": path})
    debugger.console.write(f"Saved core file {path}")


@command("core-file", usage="FILE [N]", group="support", completer=completion.files)
def _core_file(debugger: Debugger, argument: str) -> None:
    """Debug a recorded launch instead of the program.

    FILE is a core file, or a file of `cudasim record`; N says which of its launches, else the first that failed is taken. The launch
    runs to its error, or stops at the entry of its kernel if it had none. Breakpoints stay.
    """
    words = _words(argument)
    if not words or len(words) > 2 or (len(words) == 2 and not words[1].isdigit()):
        raise CommandError("A file is needed, and maybe the number of a launch: core-file FILE [N].")
    path = os.path.expanduser(words[0])
    problem = core.problem_of(path)
    if problem:
        raise CommandError(f"{problem}.")
    if debugger.is_running:
        if not debugger.console.agrees("The program is being debugged. Debug the core file instead?"):
            return
        debugger.kill()
    script = core.script_for(path, int(words[1]) if len(words) == 2 else None)
    debugger.script = script
    debugger.settings["args"].value = shlex.join(script[2:])
    debugger.start_program(script[2:])

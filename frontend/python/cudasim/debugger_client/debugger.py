"""The debugger as commands see it: the session, the breakpoints, the settings, and the running of command lines."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from cudasim.debugger_client import assignments, settings, stop_reports
from cudasim.debugger_client.attached import attach
from cudasim.debugger_client.breakpoints import EVERY_KERNEL, Breakpoint, Breakpoints
from cudasim.debugger_client.commands.table import TABLE, split_word
from cudasim.debugger_client.dap import ConnectionLost
from cudasim.debugger_client.debuggee import StartError
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.places import Ended
from cudasim.debugger_client.session import Session
from cudasim.debugger_client.sources import Sources
from cudasim.debugger_client.values import History, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from cudasim.debugger_client.console import Console
    from cudasim.debugger_client.places import Focus, Listed, Stop
    from cudasim.debugger_client.session import Program
    from cudasim.debugger_client.settings import Display
    from cudasim.debugger_client.tui.screen import Screen

    #: Starts the program: takes the interpreter's arguments and variables of its environment.
    Start = Callable[[list[str], dict[str, str]], Program]
    #: Gives the next line for a prompt, None at the end.
    ReadLine = Callable[[str], "str | None"]


#: What runs the script in the debugged process: arguments of the interpreter.
DEBUGGEE = ("-m", "cudasim.debugging.debuggee")


class Debugger:
    """One user's debugger.

    :param script: [script, arguments…] or ["-m", module, arguments…]
    :param start: how the program is started
    """

    def __init__(self, script: list[str], console: Console, start: Start) -> None:
        self.script = script
        self.console = console
        self.session = Session(self._on_event)
        self.breakpoints = Breakpoints()
        self.settings = settings.table()
        #: Kinds of errors that stop the program; empty: break_on_errors says.
        self.caught: list[str] = []
        self.sources = Sources(self.session)
        self.history = History(self._own_value)
        self.breakpoints.meaning_of = self.history.substituted
        self.displays: list[Display] = []
        self.aliases: dict[str, str] = {}
        self.listed: Listed | None = None
        self.failed = False
        self.tells_end = True
        self.ends_program = False
        self.previous_focus: Focus | None = None
        self.previous_depth = 0
        self.screen: Screen | None = None
        self._start = start
        self._inputs: list[ReadLine] = []
        self._stop_commands: list[str] = []
        self._runs = 0
        self._repeated = ""
        arguments = script[2:] if script[:1] == ["-m"] else script[1:]
        self.settings["args"].value = shlex.join(arguments)
        console.pagination = lambda: self.settings["pagination"].value == "on"
        console.confirms = lambda: self.settings["confirm"].value == "on"

    # Command lines

    @property
    def prompt(self) -> str:
        """What stands before the next command."""
        focus = self.session.focus
        return f"(cudasim) {focus.kernel} {focus.name} > " if focus else "(cudasim) "

    def run_lines(self, read: ReadLine, stop_at_error: bool = False) -> None:
        """Runs commands from one source of them until it ends; commands of several lines read on from it.

        :param stop_at_error: a command that fails ends it, and the error passes through
        """
        self._inputs.append(read)
        try:
            while (line := read(self.prompt)) is not None:
                self.run_line(line, raises=stop_at_error)
        finally:
            self._inputs.pop()

    def interact(self, read: ReadLine, while_running: bool = False) -> None:
        """Runs what is typed until the end of input. An empty line repeats the last command where that makes sense.

        :param while_running: the program's end is the end, too
        """
        self._inputs.append(read)
        try:
            while True:
                self.notice_end()
                if while_running and not self.is_running:
                    return
                line = read(self.prompt)
                if line is None:
                    return
                self.run_line(self.repeated(line))
        finally:
            self._inputs.pop()

    def run_line(self, line: str, raises: bool = False) -> None:
        """Runs one command, then those of the breakpoint that it came to. Errors are shown, unless they are to pass through."""
        self.console.new_screen()
        try:
            self.execute(line)
            self._run_stop_commands()
        except (CommandError, ConnectionLost, OSError, RecursionError) as error:
            if raises and isinstance(error, CommandError):
                raise
            self.fail(_words(error))
        except KeyboardInterrupt:
            self.fail("Quit")
        except Exception as error:
            # The session goes on: breakpoints and the stopped program are worth more than one command.
            self.fail(f"Internal error: {type(error).__name__}: {error}")
        finally:
            self._stop_commands = []
        self.notice_end()

    @property
    def depth_of_inputs(self) -> int:
        """How many sources of commands are being read, one inside of another."""
        return len(self._inputs)

    def fail(self, message: str) -> None:
        """Shows why a command failed."""
        self.failed = True
        self.console.error(message)

    def execute(self, line: str) -> None:
        """Runs one command.

        :raises CommandError: where it fails
        """
        word, argument = split_word(line)
        if not word or word.startswith("#"):
            return
        if word in self.aliases:
            self.execute(f"{self.aliases[word]} {argument}")
            return
        if assignments.is_statement(line):
            self.execute(f"set variable {line}")
            return
        TABLE.find(word).handler(self, argument)

    def _own_value(self, name: str) -> Value | None:
        """$bpnum, the number of the last breakpoint, and $_exitcode, the status that the last program ended with."""
        last = self.breakpoints.last
        number = {"bpnum": last.number if last else None, "_exitcode": self.session.last_status}.get(name)
        return None if number is None else Value(str(number), "int")

    def repeated(self, line: str) -> str:
        """What a line that was typed means: an empty one is the last command where that repeats."""
        line = line.strip()
        if not line:
            return self._repeated
        word, argument = split_word(line)
        word, _ = split_word(self.aliases.get(word, word))
        self._repeated = ""
        try:
            found = TABLE.find(word)
        except CommandError:
            return line
        if found.repeats:
            self._repeated = found.name if found.name == "list" else line
        return line

    def read_block(self) -> list[str]:
        """The lines up to `end` that follow a command, from where that came from."""
        lines: list[str] = []
        depth = 0
        while (line := self._inputs[-1](">") if self._inputs else None) is not None:
            line = line.strip()
            if line == "end":
                if depth == 0:
                    break
                depth -= 1
            elif split_word(line)[0] == "commands":
                depth += 1
            lines.append(line)
        return lines

    def _run_stop_commands(self) -> None:
        while self._stop_commands:
            lines, self._stop_commands = self._stop_commands, []
            runs = self._runs
            pending: Iterator[str] = iter(lines)
            self._inputs.append(lambda prompt, pending=pending: next(pending, None))  # type: ignore[misc]
            try:
                for line in pending:
                    self.execute(line)
                    if self._runs != runs:
                        break
            finally:
                self._inputs.pop()

    # The program

    @property
    def is_running(self) -> bool:
        """Whether there is a program, stopped as it is while commands are typed."""
        return self.session.program is not None

    def start_program(self, arguments: list[str]) -> None:
        """Starts the program and reports its first stop, or its end.

        :raises CommandError: where it cannot be started
        """
        problem = self.script_problem()
        if problem:
            raise CommandError(problem)
        name = self.script[:2] if self.script[:1] == ["-m"] else self.script[:1]
        variables = {"ENABLE_CUDASIM": "1"}
        if "CUDASIM_PROGRESS" not in os.environ:
            variables["CUDASIM_PROGRESS"] = (
                "0"  # A launch that stands at a stop draws no bar over the prompt.
            )
        self.console.flush()
        self.previous_focus = None
        self.breakpoints.begin_run()
        try:
            program = self._start([*DEBUGGEE, *name, *arguments], variables)
        except StartError as error:
            raise CommandError(str(error)) from None
        self.begin(program)

    def begin(self, program: Program) -> None:
        """Runs a program that has connected, and reports its first stop, or its end."""
        self._came_to(self.session.begin(program, self._configure))

    def attach(self, process: int) -> None:
        """Debugs a process that waits for debuggers; a kernel that runs stops.

        :raises CommandError: where that is not possible
        """
        program = attach(process)
        self.previous_focus = None
        self.breakpoints.begin_run()
        outcome = self.session.attach(program, self._configure)
        if isinstance(outcome, Ended):
            raise CommandError(f"Process {process} cannot be debugged now.")
        self._came_to(outcome)

    def detach(self) -> None:
        """Lets the program go on without the debugger.

        :raises CommandError: where there is none
        """
        process = getattr(self.session.program, "process", None)
        ended = self.session.detach()
        self.position_changed()
        if ended is not None:
            self._came_to(ended)
        elif process is not None and self.tells_end:
            self.console.write(f"[Detached from process {process}]")

    @property
    def quit_question(self) -> str:
        """What is asked before the debugger ends while there is a program."""
        if self.session.program is not None and self.session.program.is_attached and not self.ends_program:
            return "The program will be detached. Quit anyway?"
        return "The program is being debugged. Quit anyway?"

    def leave(self) -> None:
        """The debugger ends: a program that it has started is killed, others go on."""
        program = self.session.program
        if program is not None and program.is_attached:
            self.session.detach()
        else:
            self.kill()

    def _configure(self) -> None:
        """What a program is told before its script runs."""
        self.breakpoints.send_all(self.session.request)
        if self.settings["break_on_errors"].value == "off" or self.caught:
            self.send_filters()

    def send_filters(self) -> None:
        """Tells a program that runs which errors stop it."""
        if not self.is_running:
            return
        errors = ["errors"] if self.settings["break_on_errors"].value == "on" else []
        filters = [*(self.caught or errors), "calls"]
        answer = self.session.request("setExceptionBreakpoints", {"filters": filters}) or {}
        described = zip(filters, answer.get("breakpoints", ()))
        unknown = [kind for kind, one in described if not one.get("verified", True)]
        for kind in unknown:
            self.console.write(f'There is no kind of error "{kind}". docs/findings.md lists them.')
        if unknown:
            self.caught = [kind for kind in self.caught if kind not in unknown]
            self.send_filters()

    def script_problem(self) -> str:
        """Why the script cannot be run, empty where it can."""
        if self.script[:1] == ["-m"]:
            return ""
        if not self.script:
            return "There is no script to start; name one: cudasim debug script.py"
        path = self.script[0]
        try:
            with open(path, "rb"):
                return ""
        except OSError as error:
            return f"cudasim: cannot read the script {path}: {error.strerror}"

    def resume(self, request: str, **arguments: Any) -> Stop | Ended | None:
        """Lets the thread in focus, or all, go on by a request; reports where that ended."""
        outcome = self.resume_silently(request, **arguments)
        self._came_to(outcome)
        return outcome

    def wait(self) -> None:
        """Waits for a program that runs to stop or end, and reports that."""
        self.console.flush()
        self._came_to(self.session.wait())

    def resume_silently(self, request: str, **arguments: Any) -> Stop | Ended | None:
        """The same without a report, for commands that go on several times; report() must follow."""
        focus = self.session.thread()
        self.console.flush()
        if self.settings["lock"].value == "on":
            arguments = {**arguments, "cudasim": {**arguments.get("cudasim", {}), "lock": True}}
        return self.session.resume(request, {"threadId": focus.thread_id, **arguments})

    def report(self, outcome: Stop | Ended | None) -> None:
        """Tells where the program came to, and prepares the commands of the breakpoint there."""
        self._came_to(outcome)

    def kill(self) -> None:
        """Ends the program by force."""
        self.session.kill()
        self.position_changed()

    def notice_end(self) -> None:
        """Tells of an end of the program that no command waited for."""
        ended = self.session.poll()
        if ended is not None:
            self._came_to(ended)

    @property
    def moves(self) -> int:
        """How often the program has gone on, or ended; what it was asked before may have changed since."""
        return self._runs

    def position_changed(self) -> None:
        """`list` begins at the current line again."""
        self.listed = None

    def _came_to(self, outcome: Stop | Ended | None) -> None:
        self._runs += 1
        self.position_changed()
        if outcome is None:
            self.console.write(
                '[No kernel runs. "continue" waits for the next one, which stops where it begins]'
            )
            return
        if isinstance(outcome, Ended):
            self.previous_focus = None
            if self.tells_end:
                stop_reports.tell_end(self, outcome)
            self.breakpoints.remove([one.number for one in self.internal_breakpoints() if one.temporary])
            return
        hit = [one for one in map(self.breakpoints.get, outcome.hit_ids) if one is not None]
        self.breakpoints.take_hits(outcome.hits)
        commands = [line for one in hit for line in one.commands]
        silent = commands[:1] == ["silent"]
        self._stop_commands = [line for line in commands if line != "silent"]
        stop_reports.tell_stop(self, outcome, hit, silent)
        self.previous_focus = outcome.focus
        once = [one for one in hit if one.once]
        for one in once:
            one.enabled = one.once = False
        removed = self.breakpoints.remove([one.number for one in hit if one.temporary])
        self.send_breakpoints(removed | {one.key for one in once})

    # Breakpoints

    def send_breakpoints(self, keys: set[str]) -> None:
        """Tells a program that runs of changes."""
        if self.is_running and keys:
            self.breakpoints.send(self.session.request, keys)

    def internal_breakpoints(self) -> list[Breakpoint]:
        """Those of commands."""
        return [one for one in self.breakpoints.all() if one not in self.breakpoints.visible()]

    def stop_at_launches(self, temporary: bool) -> Breakpoint:
        """Stops at the entry of the next kernel, at the thread that begins; or of every one, at thread 0 of block 0.

        The latter comes to it once in a launch, and other threads do not stop there.
        """
        threads = {} if temporary else {"threads": "0", "blocks": "0"}
        added = self.breakpoints.add(internal=True, function=EVERY_KERNEL, temporary=temporary, **threads)
        self.send_breakpoints({added.key})
        return added

    def _on_event(self, name: str, body: dict[str, Any]) -> None:
        try:
            stop_reports.tell_event(self, name, body)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            self.fail(f"The program sent an event {name} that is not understood: {error}")


def _words(error: BaseException) -> str:
    if isinstance(error, ConnectionLost):
        return f"The connection to the program is lost: {error}."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return str(error)

"""Whether somebody watches the lines that this thread runs: a trace function, or a tool of sys.monitoring.

Debuggers and coverage tools use the one or the other: coverage.py's C tracer, pdb before CPython 3.14 and debugpy before
3.12 sys.settrace(); newer ones and coverage.py's `sysmon` core sys.monitoring (PEP 669), whose events are those of all
threads.
"""

import sys
from collections.abc import Callable

_gettrace = sys.gettrace

if sys.version_info >= (3, 12):
    from sys import monitoring as _monitoring

    #: Profilers and optimisers have identifiers of their own (docs.python.org, sys.monitoring).
    _WATCHERS = tuple({*range(6)} - {_monitoring.PROFILER_ID, _monitoring.OPTIMIZER_ID})
    _get_tool = _monitoring.get_tool
    _first, *_others = _WATCHERS

    def lines_are_watched() -> bool:
        """Whether a trace function is set, or a tool other than a profiler is registered."""
        if _gettrace() is not None or _get_tool(_first) is not None:
            return True
        return any(_get_tool(tool) is not None for tool in _others)

    def monitoring_debugger() -> str:
        """The name of the debugger that uses sys.monitoring, None without one."""
        return _get_tool(_monitoring.DEBUGGER_ID)

    def debuggers_callback() -> Callable:
        """What the debugger that uses sys.monitoring has called when a function starts, without what wraps it."""
        event = _monitoring.events.PY_START
        callback = _monitoring.register_callback(_monitoring.DEBUGGER_ID, event, None)
        _monitoring.register_callback(_monitoring.DEBUGGER_ID, event, callback)
        return getattr(callback, "__wrapped__", callback)

    def monitoring_tools() -> list[str]:
        """The names of the other registered tools that may watch lines."""
        known = (_get_tool(tool) for tool in _WATCHERS if tool != _monitoring.DEBUGGER_ID)
        return [name for name in known if name is not None]

else:

    def lines_are_watched() -> bool:
        """Whether a trace function is set."""
        return _gettrace() is not None

    def monitoring_debugger() -> str | None:
        """None, because there is no sys.monitoring."""
        return None

    def debuggers_callback() -> Callable | None:
        """None, because there is no sys.monitoring."""
        return None

    def monitoring_tools() -> list[str]:
        """None of them: there is no sys.monitoring."""
        return []

"""Compiled kernels on disk: where they lie, what is there, clearing it.

The engine reads and writes entries (simulator/jit/object_cache.h); here the options become a folder and a limit.
`apply()` puts the options in force into effect and is called before anything is compiled.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cudasim import _native, options
from cudasim.reports.tracebacks import calling_frame
from cudasim.reports.user_warnings import warn_at

if TYPE_CHECKING:
    from typing import Any

_applied = None  # options.generation for which the engine was told
_said: set[Any] = set()  # problems that were warned of: once in a process


def folder() -> Any:
    """The cache's folder; None when there is no place for one (no home directory)."""
    return os.fsdecode(_native.cache_folder(os.fsencode(options.get("cache_dir")))) or None


def apply() -> None:
    """Tells the engine what the options say, where that has changed."""
    global _applied
    if _applied == options.generation:
        return

    _applied = options.generation
    place, limit = folder(), options.get("cache_size")
    if not options.get("cache") or not limit or place is None:
        _native.switch_cache_off()
        return
    problem = _native.use_cache(os.fsencode(place), limit)
    if problem is not None:
        _warn(*problem)


def _warn(unsafe, what):
    """Only where it is news: an unsafe folder, or one that was asked for. No home directory is not a problem."""
    if what in _said or not (unsafe or options.get("cache_dir")):
        return

    _said.add(what)
    message, frame = f"the cache of compiled kernels is not used: {what}", calling_frame()
    file, line = ("<cudasim>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    warn_at("cache-unused", message, file, line)


def info() -> Any:
    """What `cudasim cache info` shows, as a dictionary."""
    place = folder()
    problem = _problem(place)
    usage = _native.cache_usage(os.fsencode(place or ""))
    return {
        "enabled": bool(options.get("cache") and options.get("cache_size") and not problem),
        "folder": place,
        "problem": problem,
        "entries": usage["entries"],
        "bytes": usage["bytes"],
        "limit": options.get("cache_size"),
        "hits": usage["hits"],
        "misses": usage["misses"],
    }


def _problem(place):
    """Why kernels cannot be kept there; None when they can, or could once the folder is made."""
    if place is None:
        return "there is no home directory"
    if os.path.lexists(place):
        found = _native.cache_problem(os.fsencode(place))
        return found and found[1]
    parent = os.path.dirname(place)
    while not os.path.lexists(parent):
        parent = os.path.dirname(parent)
    if not os.path.isdir(parent):
        return f"{place} cannot be made: {parent} is not a folder"
    if not os.access(parent, os.W_OK | os.X_OK):
        return f"{place} cannot be made: {parent} may not be written"
    return None


def clear() -> Any:
    """Removes all compiled kernels and the counts. Returns info() from before, "removed" (kernels) and "freed" (bytes)."""
    before = info()
    removed = _native.clear_cache(os.fsencode(before["folder"] or ""))
    if removed["entries"] < before["entries"] and not before["problem"]:
        left = before["entries"] - removed["entries"]
        before["problem"] = f"{left} of {before['entries']} kernels in {before['folder']} cannot be removed"
    return {**before, "removed": removed["entries"], "freed": removed["bytes"]}


def rows(state: Any) -> Any:
    """What info() says, as (name, text) for people."""
    looked_up = state["hits"] + state["misses"]
    return [
        ("compiled kernels", "kept on disk" if state["enabled"] else "not kept"),
        ("folder", state["folder"] or "none"),
        *([("not used because", state["problem"])] if state["problem"] else []),
        ("entries", str(state["entries"])),
        ("size", f"{_size(state['bytes'])} of at most {_size(state['limit'])}"),
        ("found", f"{state['hits']} of {looked_up} looked up"),
    ]


def _size(count):
    return f"{count / (1 << 20):.1f} MiB" if count >= 1 << 20 else f"{count / (1 << 10):.1f} KiB"

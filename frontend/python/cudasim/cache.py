"""Compiled kernels on disk: where they lie, what is there, clearing it.

The engine reads and writes entries (simulator/jit/object_cache.h); here the options become a folder and a limit.
`apply()` puts the options in force into effect and is called before anything is compiled.
"""

import os
import warnings

from cudasim import options

_applied = None  # options.generation for which the engine was told
_said = set()  # problems that were warned of: once in a process


def folder():
    """The cache's folder; None when there is no place for one (no home directory)."""
    chosen = os.path.expanduser(options.get("cache_dir"))
    if chosen:
        return os.path.abspath(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG Base Directory Specification: relative paths are ignored
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "cudasim") if os.path.isabs(base) else None


def apply():
    """Tells the engine what the options say, where that has changed."""
    global _applied
    if _applied == options.generation:
        return
    from cudasim import _native

    _applied = options.generation
    place, limit = folder(), options.get("cache_size")
    if not options.get("cache") or not limit or place is None:
        _native.switch_cache_off()
        return
    problem = _native.use_cache(place, limit)
    if problem is not None:
        _warn(*problem)


def _warn(unsafe, what):
    """Only where it is news: an unsafe folder, or one that was asked for. No home directory is no problem."""
    if what in _said or not (unsafe or options.get("cache_dir")):
        return
    from cudasim.errors import CudasimWarning

    _said.add(what)
    warnings.warn(f"the cache of compiled kernels is not used: {what}", CudasimWarning, stacklevel=2)


def info():
    """What `cudasim cache info` shows, as a dictionary."""
    from cudasim import _native

    place = folder()
    problem = None
    if place is None:
        problem = "there is no home directory"
    elif os.path.lexists(place):
        found = _native.cache_problem(place)
        problem = found and found[1]
    usage = _native.cache_usage(place or "")
    return {
        "enabled": bool(options.get("cache") and options.get("cache_size") and place),
        "folder": place,
        "problem": problem,
        "entries": usage["entries"],
        "bytes": usage["bytes"],
        "limit": options.get("cache_size"),
        "hits": usage["hits"],
        "misses": usage["misses"],
    }


def clear():
    """Removes all compiled kernels and the counts. Returns what was there, as info() would have said."""
    from cudasim import _native

    before = info()
    if before["folder"] is not None:
        _native.clear_cache(before["folder"])
    return before


def rows(state):
    """What info() says, as (name, text) for people."""
    looked_up = state["hits"] + state["misses"]
    return [
        ("compiled kernels", "kept on disk" if state["enabled"] else "not kept"),
        ("folder", state["folder"] or "none"),
        *([("not used because", state["problem"])] if state["problem"] else []),
        ("entries", str(state["entries"])),
        ("size", f"{_mebibytes(state['bytes'])} of at most {_mebibytes(state['limit'])}"),
        ("found", f"{state['hits']} of {looked_up} looked up"),
    ]


def _mebibytes(count):
    return f"{count / (1 << 20):.1f} MiB"

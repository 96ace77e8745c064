#!/usr/bin/env python3
"""find_pythons.py — the CPythons that cudasim can be built for on this machine: a line `3.12 /path/python` for each minor
version, newest patch. On stderr: which supported ones are absent, and why an interpreter that was found is not used.

Looked for: python3.X on the path, those under pyenv's folder, or, when $PYTHONS is set, only what it names: paths, or
versions such as `3.12`, separated by spaces, commas or colons. Naming one that cannot be used is an error.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

SUPPORTED = [(3, minor) for minor in range(10, 15)]  # the oldest is pyproject.toml's requires-python

# What an interpreter says of itself; exits with a sentence when it cannot be used.
QUESTION = """
import os, sys, sysconfig
if sys.implementation.name != "cpython":
    sys.exit("is not CPython")
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit("is a free-threaded build, which is not supported")
if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
    sys.exit("has no headers (Debian: the package python%d.%d-dev)" % sys.version_info[:2])
try:
    import ensurepip, venv
except ImportError:
    sys.exit("has no venv module (Debian: the package python%d.%d-venv)" % sys.version_info[:2])
print("%d %d %d" % sys.version_info[:3])
print(os.path.realpath(sys.executable))
"""


def ask(path):
    """((3, 12, 1), real path) of an interpreter, or (None, why it cannot be used)."""
    try:
        done = subprocess.run(
            [path, "-I", "-c", QUESTION], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"does not start: {error}"
    if done.returncode:  # a shim of pyenv for a version that is not selected says so and fails
        reason = (done.stderr.strip().splitlines() or [""])[-1]
        return None, reason if len(reason) < 100 else f"is not Python: it ends with status {done.returncode}"
    version, real = done.stdout.strip().splitlines()[-2:]
    return tuple(map(int, version.split())), real


def name(version):
    return f"{version[0]}.{version[1]}"


def found_here():
    """Paths of candidates, the path's first."""
    for version in SUPPORTED:
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = shutil.which(f"python{name(version)}", path=folder) if folder else None
            if path:
                yield path
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv")
    for version in SUPPORTED:
        yield from sorted(map(str, (pyenv / "versions").glob(f"{name(version)}.*/bin/python{name(version)}")))


def usable(candidates):
    """({(3, 12): (full version, path)}, what is wrong with the others: [(path, why)]). Newer ones than SUPPORTED, too."""
    best, refused = {}, []
    for path in candidates:
        version, rest = ask(path)
        if version is None:
            refused.append((path, rest))
        elif version[:2] < SUPPORTED[0]:
            refused.append(
                (path, f"is CPython {name(version)}: {name(SUPPORTED[0])} is the oldest supported")
            )
        elif version > best.get(version[:2], ((),))[0]:
            best[version[:2]] = version, rest
    return best, refused


def main(named):
    here, refused = usable(found_here())
    if not named:
        for path, why in refused:
            if not re.search(r"[/\\]shims[/\\]", path):
                print(f"{path} {why}", file=sys.stderr)
        absent = [name(version) for version in SUPPORTED if version not in here]
        if absent:
            print(f"not on this machine: CPython {', '.join(absent)}", file=sys.stderr)
        chosen = here
    else:
        chosen = {}
        for word in named:
            version = tuple(map(int, word.split("."))) if re.fullmatch(r"3\.\d+", word) else None
            if version is None:
                found, wrong = usable([word])
                if not found:
                    sys.exit(f"PYTHONS names {word}, which {wrong[0][1]}")
                chosen.update(found)
            elif version in here:
                chosen[version] = here[version]
            else:
                sys.exit(f"PYTHONS names {word}, which is neither on the path nor under pyenv's folder")
    for version in sorted(chosen):
        print(name(version), chosen[version][1])


if __name__ == "__main__":
    main(
        re.split(r"[\s,:]+", os.environ.get("PYTHONS", "").strip(" ,:")) if os.environ.get("PYTHONS") else []
    )

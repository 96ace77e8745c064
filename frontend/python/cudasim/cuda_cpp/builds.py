"""`cudasim run app.cu`: sources compiled by nvcc into a folder of the user's cache, each again when it or a file that it includes has
changed.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence

from cudasim import cache
from cudasim.cuda_cpp import toolkit

#: What nvcc compiles (CUDA Compiler Driver NVCC, "Supported Input File Suffixes").
SOURCES = (".cu", ".c", ".cc", ".cpp", ".cxx")


class BuildError(Exception):
    """The program was not made; nvcc has said why, or the message does."""

    def __init__(self, message: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def built(arguments: Sequence[str]) -> str:
    """The path of the executable that nvcc makes of these arguments: sources, objects and options.

    :raises BuildError: with nvcc's exit status
    :raises toolkit.NoToolkitError: where there is no nvcc
    """
    nvcc = toolkit.nvcc()
    sources, others = _sources_and_others(nvcc, arguments)
    stated = [os.path.realpath(nvcc), str(os.stat(nvcc).st_mtime_ns), os.getcwd(), *arguments]
    kept_in = cache.folder()
    if kept_in is None:
        raise BuildError("there is no folder for compiled programs; name one: --cache-dir FOLDER")
    folder = os.path.join(kept_in, "programs", _hash("\0".join(stated).encode()))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(lambda each: _object_of(nvcc, each, others, folder), sources))
    program = os.path.join(folder, os.path.splitext(os.path.basename(sources[0]))[0])
    if any(fresh for _, fresh in objects) or not os.path.exists(program):
        _run([nvcc, *(path for path, _ in objects), *others, "-o", program])
    return program


def _sources_and_others(nvcc, arguments):
    """The files that are compiled, and the other arguments: options, objects and libraries."""
    if any(argument in ("-o", "--output-file") for argument in arguments):
        raise BuildError("-o: the executable goes to the cache; to keep it, compile with `cudasim nvcc`")
    inputs = _output_of([nvcc, "--list-inputs", *arguments]).splitlines()
    strange = [each for each in inputs if not os.path.exists(each) and not each.endswith(SOURCES)]
    if strange:
        raise BuildError(f"{strange[0]} is no file that nvcc takes; arguments of the program go behind --")
    sources = [each for each in inputs if each.endswith(SOURCES)]
    return sources, [argument for argument in arguments if argument not in sources]


def _object_of(nvcc, source, others, folder):
    """(path, whether it was compiled just now)"""
    name = os.path.join(folder, _hash(os.path.abspath(source).encode())[:16])
    object_file, list_of_files = name + ".o", name + ".json"
    if os.path.exists(object_file) and _is_current(list_of_files):
        return object_file, False
    compile_only = [argument for argument in others if not argument.endswith((".o", ".a", ".so"))]
    _run([nvcc, "-c", source, "-o", object_file, "-MD", "-MF", name + ".d", *compile_only])
    hashes = {path: _hash_of_file(path) for path in _dependencies(name + ".d")}
    with open(list_of_files + ".new", "w", encoding="utf-8") as file:
        json.dump(hashes, file)
    os.replace(list_of_files + ".new", list_of_files)
    return object_file, True


def _run(command):
    _output_of(command, captures=False)


def _output_of(command, captures=True):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE if captures else None, text=True)
    except OSError as error:
        raise BuildError(f"{command[0]}: {error.strerror}") from None
    if done.returncode:
        raise BuildError(status=max(done.returncode, 1))
    return done.stdout


def _is_current(list_of_files):
    try:
        with open(list_of_files, encoding="utf-8") as file:
            hashes = json.load(file)
        return all(_hash_of_file(path) == known for path, known in hashes.items())
    except (OSError, ValueError):
        return False


def _dependencies(path):
    """The files of a makefile's rule, in which spaces of names have a backslash in front."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read().replace("\\\n", " ").partition(": ")[2]
    words = text.replace("\\ ", "\0").split()
    return sorted({word.replace("\0", " ").replace("$$", "$") for word in words})


def _hash(content):
    return hashlib.sha256(content).hexdigest()


def _hash_of_file(path):
    with open(path, "rb") as file:
        return _hash(file.read())


def is_source(path: str) -> bool:
    """Whether the file is one that nvcc compiles."""
    return path.endswith(SOURCES)


def note(message: str) -> None:
    """One line of the commands that build and start programs."""
    print(f"cudasim: {message}", file=sys.stderr)

"""Which version a libdevice is: the file does not say, but what lies around it does."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import re
import sys


def version(path: str) -> str:
    """What the files around a library say about its version: "CUDA 13.0", "nvidia-nvvm 13.0.88"; empty where they say nothing."""
    file = pathlib.Path(path).resolve()
    for folder in file.parents:
        try:
            stated = json.loads((folder / "version.json").read_text())["cuda"]["version"]
            return f"CUDA {stated}"
        except (OSError, ValueError, LookupError, TypeError):
            pass
        if os.fspath(folder) in sys.path or folder.name in ("site-packages", "dist-packages"):
            return _version_of_package(folder, file)
        named = re.fullmatch(r"cuda-(\d+(?:\.\d+)*)", folder.name)
        if named:
            return f"CUDA {named[1]}"
    return ""


def _version_of_package(site, file):
    below = file.relative_to(site).as_posix()
    for package in importlib.metadata.distributions(path=[os.fspath(site)]):
        name = package.metadata["Name"] or ""
        if not re.match(r"nvidia|triton", name):
            continue  # reading the lists of files of all takes long
        if any(str(each) == below for each in package.files or ()):
            return f"{name} {package.version}"
    return ""

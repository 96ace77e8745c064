"""Lowers kernel images to PTX and gives it to ptxas: a program of its own, because what LLVM cannot lower may end it.

Reads JSON lines [file, architecture, ...] on standard input; writes a JSON line ["begin", file] before each and
["refused", file, kernel, architecture, "ptx" or "ptxas", message] for what is not accepted.

    python lower_images.py PTXAS
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from cudasim import _native


def say(*what):
    print(json.dumps(what), flush=True)


def assemble(ptxas, ptx, architecture, folder):
    """What ptxas has against it; empty when nothing."""
    source = pathlib.Path(folder, "kernel.ptx")
    source.write_text(ptx)
    command = [ptxas, f"-arch={architecture}", "-o", "/dev/null", source.name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def lower(path, ptxas, architectures, folder):
    image = _native.KernelImage.deserialise(path.read_bytes())
    for kernel in image.kernels:
        for architecture in architectures:
            try:
                ptx = _native.ptx(image, kernel["name"], architecture)
            except ValueError as error:
                say("refused", str(path), kernel["name"], architecture, "ptx", str(error))
                continue
            problem = assemble(ptxas, ptx, architecture, folder)
            if problem:
                say("refused", str(path), kernel["name"], architecture, "ptxas", problem)


def main(ptxas):
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            path, *architectures = json.loads(line)
            say("begin", path)
            lower(pathlib.Path(path), ptxas, architectures, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])

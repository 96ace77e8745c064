"""Option keep_images: every kernel image that is compiled is also written to a folder.

A file there holds all that the engine and the GPU back end know of a kernel, so it is what a report of a bug needs:
`_native.KernelImage.deserialise(path.read_bytes())`.
"""

from __future__ import annotations

import os
import re
import tempfile
from typing import TYPE_CHECKING

from cudasim.options import OptionError

if TYPE_CHECKING:
    from typing import Any


def keep(image: Any, name: str, folder: str) -> None:
    """Writes the image to <folder>/<name>-<hash>.cudasim, unless it is there."""
    readable = re.sub(r"\W+", "_", name)[:60]
    path = os.path.join(folder, f"{readable}-{image.hash[:16]}.cudasim")
    if os.path.exists(path):
        return
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(image.serialise())
        os.replace(file.name, path)  # whole, or not there
    except OSError as error:
        raise OptionError(f"option keep_images: the image of {name} cannot be written: {error}") from None

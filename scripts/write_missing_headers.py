"""Writes the headers of frontend/cuda_cpp/include that say that something of a CUDA toolkit is missing.

    python scripts/write_missing_headers.py [--check]

The names are those of frontend/cuda_cpp/missing_headers.txt. A header that is no longer in the list and was written
by this script is removed; one that somebody wrote is left alone. With --check nothing is written: the names of what
is out of date are printed, and the exit status says whether there were any.
"""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "frontend" / "cuda_cpp"
MARK = "// Written by scripts/write_missing_headers.py."


def names_by_part(text: str) -> dict[str, str]:
    """What each header belongs to."""
    parts: dict[str, str] = {}
    part = ""
    for line in text.splitlines():
        if line.startswith("["):
            part = line.strip("[]")
        elif line and not line.startswith("#"):
            parts[line] = part
    return parts


def content(name: str, part: str) -> str:
    return f'{MARK}\n#error "{name} is not part of cudasim (yet): {part}"\n'


def out_of_date(folder: pathlib.Path = FOLDER) -> dict[pathlib.Path, str | None]:
    """Files to be written, with their content, or to be removed (None)."""
    parts = names_by_part((folder / "missing_headers.txt").read_text())
    changes: dict[pathlib.Path, str | None] = {}
    for path in (folder / "include").rglob("*"):
        name = path.relative_to(folder / "include").as_posix()
        if path.is_file() and path.read_text().startswith(MARK) and name not in parts:
            changes[path] = None
    for name, part in parts.items():
        path = folder / "include" / name
        if not path.exists() or (
            path.read_text().startswith(MARK) and path.read_text() != content(name, part)
        ):
            changes[path] = content(name, part)
    return changes


def main(arguments: list[str]) -> int:
    changes = out_of_date()
    if arguments == ["--check"]:
        for path in changes:
            print(path)
        return 1 if changes else 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    for path, text in changes.items():
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

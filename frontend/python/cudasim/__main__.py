"""`python -m cudasim script.py args…` and `python -m cudasim -m module args…`: Python with the switch on."""

import sys

from cudasim import script_runner

_USAGE = """usage: python -m cudasim script.py [arguments]
       python -m cudasim -m module [arguments]

Runs a script or module with numba.cuda simulated by cudasim. For options see `cudasim run --help`.
"""


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0 if arguments else 2
    if arguments[0] == "-m" and len(arguments) == 1 or arguments[0].startswith("-") and arguments[0] != "-m":
        print(
            f"python -m cudasim: expected a script or -m module, got {arguments[0]}\n\n{_USAGE}",
            end="",
            file=sys.stderr,
        )
        return 2
    return script_runner.run(arguments)


if __name__ == "__main__":
    sys.exit(main())

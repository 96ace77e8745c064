"""What the documentation says to type is typed, and what it says comes back is compared.

In README.md and docs/*.md, a ```console block is a session: lines that begin with `$ ` are commands, the lines
below each are its output, where `...` stands for anything. A command without output shown must succeed. A ```python
block whose first line is `# name.py` is a file, and is there for the commands below it; so are ```cuda and ```makefile
blocks. `/home/you` is the folder they run in, which has the repository's examples. `make` targets are only checked to exist: this test is part of one.
"""

import doctest
import os
import pathlib
import re
import subprocess
import sys

import pytest
from python_mode_required import REASON
from stand_in_driver import STAND_IN

KEPT = ("CUDASIM_CACHE_DIR", "CUDASIM_KEEP_IMAGES")  # set in tests/conftest.py

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


#: What the first line of a block is that is a file, by the block's language.
FILES = {"python": r"# (\w+\.py)\n", "cuda": r"// (\w+\.cu)\n", "makefile": r"# (Makefile)\n"}


def blocks(document):
    return [(match[1], match[2]) for match in BLOCK.finditer(document.read_text())]


def session(text):
    """[(command, expected output)] of a console block."""
    steps = []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        else:
            assert steps, f"a console block begins with a command, not with {line!r}"
            steps[-1][1].append(line)
    return [(command, "\n".join(lines).strip("\n")) for command, lines in steps]


#: docs/gpu.md compares with a stand-in for NVIDIA's driver, on which threads run in another order.
GPU = {"CUDASIM_LIBCUDA": str(STAND_IN), "CUDASIM_TEST_LIBCUDA": "order=reverse"}


def execute(command, folder):
    environment = {key: value for key, value in os.environ.items() if "CUDASIM" not in key or key in KEPT}
    environment["PATH"] = os.pathsep.join([str(pathlib.Path(sys.executable).parent), environment["PATH"]])
    if "shift" in command or "one_launch" in command or "run.cudasim" in command:
        environment |= GPU
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, timeout=300, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    # From CPython 3.13 on a call that is a whole line is underlined, too; the
    # documents show 3.11's tracebacks.
    shown = (
        re.sub(r"^ +~+\^+\n", "", done.stdout, flags=re.MULTILINE)
        if sys.version_info >= (3, 13)
        else done.stdout
    )
    return done.returncode, shown.replace(str(folder), "/home/you")


def same(expected, actual):
    checker = doctest.OutputChecker()
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return checker.check_output(expected + "\n", actual, flags)


def check(command, expected, folder):
    if command.startswith("make"):
        done = subprocess.run(["make", "-n", *command.split()[1:]], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return
    status, output = execute(command, folder)
    if not expected:
        assert status == 0, f"$ {command}\n{output}"
    elif ("\n  in kernel " in expected or "KernelError: tid=[" in expected) and sys.version_info < (3, 11):
        assert status != 0  # older Pythons have no exception notes, which the documents show
    elif "  core file: " in expected and sys.version_info < (3, 11):
        assert status == 0
    else:
        assert same(expected, output), f"$ {command}\n{output}\n--- documented ---\n{expected}"
        finds = re.search(
            r"^cudasim check: .*: [1-9]\d* findings? \(([1-9]|0 errors, [1-9])", expected, re.MULTILINE
        )
        # What a program in CUDA C++ reports ends in status 1.
        is_cuda_cpp = re.search(r"\.cu\b|^\./", command)
        reports = is_cuda_cpp and re.search(r"^error: [a-z-]+: ", expected, re.MULTILINE)
        assert (status != 0) == bool("Traceback" in expected or finds or reports), (
            f"$ {command}: exit status {status}"
        )


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_do_what_the_document_says(document, tmp_path):
    if document.name == "python_debuggers.md" and REASON:
        pytest.skip(REASON)
    if document.name == "python_debuggers.md" and sys.version_info >= (3, 13):
        pytest.skip(
            "from CPython 3.13 on pdb stops in the line that calls it, which the document says and does not show"
        )
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    for language, text in blocks(document):
        if language in FILES and (name := re.match(FILES[language], text)):
            (tmp_path / name[1]).write_text(text)
        elif language == "console":
            for command, expected in session(text):
                check(command, expected, tmp_path)


def test_the_readme_shows_commands():
    commands = [command for language, text in blocks(ROOT / "README.md") if language == "console"
                for command, _ in session(text)]  # fmt: skip
    assert {"make demo", "make test", "ENABLE_CUDASIM=1 python invert.py"} <= set(commands)


def test_a_wrong_output_would_be_noticed(tmp_path):
    with pytest.raises(AssertionError):
        check("echo right", "wrong", tmp_path)
    with pytest.raises(AssertionError):
        check("exit 3", "", tmp_path)
    check("echo one; echo two; echo three", "one\n...\nthree", tmp_path)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document):
    for target in re.findall(
        r"\]\(([^)#]+)[^)]*\)",
        re.sub(r"^```.*?^```|`[^`]*`", "", document.read_text(), flags=re.MULTILINE | re.DOTALL),
    ):
        if not target.startswith("http"):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_paths_that_documents_name_exist():
    missing = []
    for document in DOCUMENTS:
        for path in re.findall(r"`((?:simulator|frontend|gpu_backend|tests|examples|bench|scripts)/[\w./]+)`",
                               document.read_text()):  # fmt: skip
            if not (ROOT / path).exists():
                missing.append(f"{document.name}: {path}")
    assert not missing


def test_the_list_of_mode_differences_is_up_to_date():
    import mode_differences

    text = mode_differences.DOCUMENT.read_text()
    assert mode_differences.with_section(text) == text, "run: python tests/mode_differences.py --write"


def test_listed_mode_differences_are_of_tests_that_there_are():
    import mode_differences

    for name in mode_differences.KNOWN:
        file, test = name.split("::")
        text = (ROOT / "tests" / "frontend" / "pykernel" / file).read_text()
        assert f"def {test.split('[')[0]}(" in text, (
            f"tests/mode_differences.py lists {name}, which is not there"
        )


def test_the_list_of_numba_cuda_names_is_up_to_date():
    script = ROOT / "tests" / "numba_compatibility.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert (ROOT / "docs" / "numba_compatibility.md").read_text() == done.stdout.rstrip("\n") + "\n", (
        "a name of numba.cuda changed its state; run: python tests/numba_compatibility.py --write"
    )


def test_the_list_of_numba_cuda_names_says_nothing_about_names_that_there_are_not():
    import numba_compatibility as names

    unknown = [f"{section}.{name}" for section, name in names.DIFFERS if name not in names.NAMES[section]]
    unknown += [
        f"{section}.{name}"
        for section, group in names.INTERNAL.items()
        for name in group
        if name not in names.NAMES[section]
    ]
    assert unknown == []


def test_options_reference_is_up_to_date():
    done = subprocess.run(
        [sys.executable, "-m", "cudasim.options"], capture_output=True, text=True, check=True
    )
    assert (ROOT / "docs" / "options.md").read_text() == done.stdout, (
        "run: python -m cudasim.options > docs/options.md"
    )


def test_every_kind_of_finding_is_documented():
    table = (ROOT / "simulator" / "findings" / "finding_kinds.def").read_text()
    kinds = re.findall(r'^FINDING\(\w+,\s*"([\w-]+)"', table, re.MULTILINE)
    text = (ROOT / "docs" / "findings.md").read_text()
    assert kinds and [kind for kind in kinds if f"`{kind}`" not in text] == []

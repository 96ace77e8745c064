"""The dependency rule of docs/architecture.md: which folder may include which, and what each may link.

Dependencies point one way; the simulator knows neither Python nor clang; bindings know everything.
"""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# folder -> folders whose headers it may include (besides its own)
ALLOWED = {
    "simulator/image": set(),
    "simulator/findings": {"simulator/image"},
    "simulator/fiber": set(),
    "simulator/memory": {"simulator/findings"},
    "simulator/records": {"simulator/image", "simulator/memory"},
    "simulator/libdevice": set(),
    "simulator/jit": {"simulator/image", "simulator/findings", "simulator/libdevice"},
    "simulator/execution": {
        "simulator/image", "simulator/findings", "simulator/fiber", "simulator/memory", "simulator/jit",
    },
    "simulator/checks": {
        "simulator/image", "simulator/findings", "simulator/memory", "simulator/jit", "simulator/execution", "simulator/streams",
    },
    "simulator/driver": {
        "simulator/checks", "simulator/image", "simulator/findings", "simulator/memory", "simulator/jit", "simulator/execution",
        "simulator/records", "simulator/streams",
    },
    "simulator/streams": {"simulator/memory"},
    "debugger/values": set(),
    "debugger/control": {"simulator/image", "simulator/findings", "simulator/jit", "simulator/execution"},
    "debugger/expressions": {
        "debugger/values", "debugger/control", "simulator/image", "simulator/findings", "simulator/memory", "simulator/jit",
        "simulator/execution",
    },
    "debugger/dap": {
        "debugger/values", "debugger/control", "debugger/expressions", "gpu_backend", "simulator/image", "simulator/findings",
        "simulator/jit", "simulator/execution", "simulator/memory"},
    "debugger/server": {"debugger/control", "debugger/dap", "simulator/execution"},
    "debugger/cores": {
        "debugger/values", "debugger/control", "debugger/dap", "debugger/server", "simulator/driver", "simulator/findings",
    },
    "debugger/program": {"debugger/cores", "library"},
    "gpu_backend": {"simulator/image", "simulator/findings", "simulator/records"},
    "gpu_backend/libcuda": {"simulator/findings"},
    "gpu_backend/launches": {
        "gpu_backend", "gpu_backend/comparison", "gpu_backend/runner", "gpu_backend/simulated_libdevice", "frontend/ptx",
        "simulator/checks", "simulator/driver", "simulator/execution", "simulator/findings", "simulator/image", "simulator/jit",
        "simulator/records",
    },
    "gpu_backend/runner": {"gpu_backend/libcuda", "simulator/findings", "simulator/image", "simulator/memory", "simulator/records"},
    "gpu_backend/runner/program": {"gpu_backend/libcuda", "gpu_backend/runner", "simulator/records"},
    "gpu_backend/comparison": set(),
    "gpu_backend/simulated_libdevice": {"gpu_backend", "frontend/ptx", "simulator/image"},
    "frontend/pykernel/syntax": {"simulator/image"},
    "frontend/numba_rules": set(),
    "frontend/pykernel/types": {"frontend/numba_rules", "frontend/pykernel/syntax"},
    "frontend/pykernel/graph": {"frontend/pykernel/syntax", "frontend/pykernel/types", "simulator/image"},
    "frontend/pykernel/infer": {"frontend/pykernel/syntax", "frontend/pykernel/types", "frontend/pykernel/graph"},
    "frontend/pykernel/emit": {
        "frontend/pykernel/syntax", "frontend/pykernel/types", "frontend/pykernel/graph", "frontend/pykernel/infer",
        "simulator/image",
    },
    "frontend/pykernel/operations": {
        "frontend/pykernel/syntax", "frontend/pykernel/types", "frontend/pykernel/graph", "frontend/pykernel/infer",
        "frontend/pykernel/emit", "simulator/image",
    },
    "frontend/pykernel/calls": {
        "frontend/pykernel/syntax", "frontend/pykernel/types", "frontend/pykernel/graph", "frontend/pykernel/infer",
        "frontend/pykernel/emit", "simulator/libdevice", "simulator/image",
    },
    # The front door.
    "frontend/pykernel": {
        "frontend/pykernel/syntax", "frontend/pykernel/infer", "frontend/pykernel/emit", "frontend/pykernel/calls",
        "simulator/image",
    },
    "frontend/ptx": {"simulator/image"},
    "frontend/cuda_cpp/images": {"frontend/ptx", "simulator/image"},
    "frontend/cuda_cpp/host_code": {"simulator/findings"},
    "frontend/cuda_cpp/driver": {"frontend/cuda_cpp/images", "frontend/ptx", "gpu_backend", "simulator/image"},
    "frontend/cuda_cpp/runtime": {
        "debugger/control", "debugger/server", "frontend/cuda_cpp/host_code", "frontend/cuda_cpp/images", "frontend/ptx",
        "library", "simulator/checks", "simulator/driver", "simulator/execution", "simulator/findings", "simulator/image",
        "simulator/jit", "simulator/memory", "simulator/streams",
    },
    "frontend/cpython": set(),
    "frontend/bindings": {
        "library",
        "debugger/control", "debugger/cores", "debugger/expressions", "debugger/server",
        "simulator/driver",
        "frontend/cpython",
        "simulator/image", "simulator/findings", "simulator/jit", "simulator/execution", "simulator/streams",
        "gpu_backend", "gpu_backend/comparison", "gpu_backend/launches", "gpu_backend/libcuda", "gpu_backend/runner",
        "gpu_backend/simulated_libdevice", "frontend/ptx", "frontend/pykernel", "frontend/pykernel/syntax",
        "simulator/libdevice",
    },
    "library": {"simulator/jit"},
    "frontend/pyfiber": {
        "frontend/cpython", "frontend/numba_rules",
        "simulator/findings", "simulator/jit", "simulator/execution", "simulator/memory", "simulator/libdevice",
    },
}  # fmt: skip

# a library's headers -> the only folders that may include them
LIBRARY_USERS = {
    r"<boost/context": {"simulator/fiber"},
    r"<boost/fiber": {"simulator/streams"},
    r"<pybind11/": {"frontend/bindings"},
    r"<Python\.h": {"frontend/bindings", "frontend/cpython", "frontend/pyfiber"},
    r"<internal/": {"frontend/cpython"},  # CPython's own structures
    r"<clang/": set(),
    r"<CLI/": {"debugger/program", "gpu_backend/runner/program"},
    r"<llvm/.*(OrcJIT|ExecutionEngine)|<llvm/ExecutionEngine": {"simulator/jit"},
}


def sources(folder, pattern="*"):
    return [path for path in sorted((ROOT / folder).glob(pattern)) if path.suffix in {".h", ".cpp", ".def"}]


def includes(path):
    return re.findall(r'^\s*#\s*include\s+([<"][^>"]+[>"])', path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("folder", sorted(ALLOWED))
def test_a_folder_includes_only_what_it_may_know(folder):
    files = sources(folder)
    assert files, f"{folder} has no sources: the rule's table is out of date"
    wrong = []
    for path in files:
        for include in includes(path):
            if not include.startswith('"'):
                continue
            target = include.strip('"').rpartition("/")[0]
            if not (ROOT / include.strip('"')).exists():
                wrong.append(
                    f"{path.relative_to(ROOT)} includes {include}: not a path from the repository's root"
                )
            elif target != folder and target not in ALLOWED[folder]:
                wrong.append(f"{path.relative_to(ROOT)} includes {include}: {folder} may not know {target}")
    assert not wrong, "\n".join(wrong)


def test_every_folder_with_sources_is_in_the_table():
    found = set()
    for top in ("simulator", "frontend", "gpu_backend", "library", "debugger"):
        found |= {str(path.parent.relative_to(ROOT)) for path in sources(top, "**/*")}
    # Headers that CUDA programs include: they know each other and clang's.
    found = {folder for folder in found if not folder.startswith("frontend/cuda_cpp/include")}
    unlisted = {folder for folder in found if not any(folder == known for known in ALLOWED)}
    assert not unlisted


@pytest.mark.parametrize("pattern", sorted(LIBRARY_USERS))
def test_a_library_stays_behind_its_folder(pattern):
    users = {
        folder
        for folder in ALLOWED
        for path in sources(folder)
        for include in includes(path)
        if re.match(pattern, include)
    }
    assert users <= LIBRARY_USERS[pattern]


def test_what_small_programs_are_linked_with_knows_neither_llvm_nor_python():
    """Of the table of CUDA's results in simulator/findings, too, it takes the file that needs nothing else."""
    known = {include for path in sources("gpu_backend/libcuda") for include in includes(path)}
    assert not [include for include in known if re.match(r"<(llvm|pybind11)/|<Python", include)]
    others = {include for include in known if include.startswith('"simulator/')}
    assert others == {'"simulator/findings/cuda_result.h"'}


def test_the_rule_has_no_cycles():
    done, waiting = set(), dict(ALLOWED)
    while waiting:
        ready = {folder for folder, needs in waiting.items() if needs <= done}
        assert ready, f"folders that depend on each other: {sorted(waiting)}"
        done |= ready
        waiting = {folder: needs for folder, needs in waiting.items() if folder not in ready}


def test_no_file_is_longer_than_600_lines():
    long_files = [
        f"{path.relative_to(ROOT)}: {count} lines"
        for top in (
            "simulator",
            "debugger",
            "frontend",
            "gpu_backend",
            "library",
            "tests",
            "bench",
            "examples",
        )
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in {".h", ".cpp", ".py", ".def", ".cu"}
        and (count := len(path.read_text().splitlines())) > 600
    ]
    assert not long_files, "\n".join(long_files)


def test_files_of_tests_have_names_of_their_own():
    """pytest imports them by these names."""
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) > 100
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, twice

"""What the package says of itself: one version, its licence, its Pythons; in the sources, the installation and wheels."""

import email
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import zipfile

import cudasim
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
LICENCE_FILES = ["LICENSE", "NOTICE", "THIRD_PARTY_NOTICES.txt"]
# What wheels contain besides the project's own code: the dynamic libraries that
# may be added are named by file.
IN_WHEELS = ["LLVM", "Boost", "Zstandard", "zlib", "pybind11", "CLI11", "GCC's runtime libraries"]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The metadata that the build backend, which `make build` installs, makes of pyproject.toml as it is
    now."""
    pytest.importorskip("scikit_build_core")
    code = (
        "import pathlib, sys, scikit_build_core.build as backend\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "print((folder / backend.prepare_metadata_for_build_wheel(str(folder)) / 'METADATA').read_text())"
    )
    folder = tmp_path_factory.mktemp("metadata")
    done = subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return email.message_from_string(done.stdout[done.stdout.index("Metadata-Version") :])


def wheels():
    return sorted([*(ROOT / "build" / "wheel").glob("*.whl"), *(ROOT / "dist").glob("*.whl")])


def test_there_is_one_version(metadata):
    from cudasim import _native

    assert _native.version == cudasim.__version__
    assert importlib.metadata.version("cudasim") == cudasim.__version__
    assert metadata["Version"] == cudasim.__version__
    written = [
        path
        for path in (ROOT / "pyproject.toml", ROOT / "CMakeLists.txt", ROOT / "README.md")
        if cudasim.__version__ in path.read_text()
    ]
    assert not written, "the version is written in frontend/python/cudasim/__init__.py alone"


def test_the_licence_is_in_the_metadata_and_its_text_is_the_standard_one(metadata):
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == LICENCE_FILES
    assert not [name for name in metadata.get_all("Classifier") if name.startswith("License ::")]  # PEP 639
    text = (ROOT / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text and "END OF TERMS AND CONDITIONS" in text
    assert "Copyright" in (ROOT / "NOTICE").read_text()


@pytest.mark.parametrize("name", IN_WHEELS)
def test_what_wheels_contain_has_its_notice(name):
    headings = re.findall(r"^={80}\n(.+)\n", (ROOT / "THIRD_PARTY_NOTICES.txt").read_text(), re.MULTILINE)
    assert [heading for heading in headings if heading.startswith(name)]


def test_every_supported_python_is_named_alike():
    oldest = re.search(r'requires-python = ">=3\.(\d+)"', PYPROJECT)[1]
    named = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', PYPROJECT)
    assert named[0] == oldest and named == sorted(named)
    assert f'target-version = "py3{oldest}"' in PYPROJECT
    for path in ("Makefile", "scripts/set_up.sh"):
        assert f">= 3.{oldest}" in (ROOT / path).read_text(), path
    assert f"find_package(Python 3.{oldest} " in (ROOT / "CMakeLists.txt").read_text()
    assert f"CPython 3.{oldest} " in (ROOT / "README.md").read_text()


def test_addresses_are_real(metadata):
    """There is no public repository or home page yet, so none is named."""
    assert metadata.get_all("Project-URL") is None and metadata["Home-page"] is None
    assert not re.search(r"example\.(com|org)|TODO|FIXME|your-?name", PYPROJECT, re.IGNORECASE)


def test_the_changelog_has_a_place_for_what_comes():
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert sections[0] == "Unreleased"
    assert all(re.fullmatch(r"\[?\d+\.\d+\.\d+\]? - \d{4}-\d\d-\d\d", name) for name in sections[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.MULTILINE)) <= kinds


def test_wheels_carry_the_licences_and_no_sources():
    if not wheels():
        pytest.skip("no wheel in build/wheel or dist: `make test` and `make wheel` make them")
    for wheel in wheels():
        names = zipfile.ZipFile(wheel).namelist()
        folder = next(name.split("/")[0] for name in names if ".dist-info/" in name)
        for file in LICENCE_FILES:
            assert f"{folder}/licenses/{file}" in names, wheel
        # Those of the toolkit are there for programs.
        own = [name for name in names if not name.startswith("cudasim/toolkit/")]
        assert not [name for name in own if name.endswith((".cpp", ".h", ".a"))], wheel
        assert {"cudasim/toolkit/bin/nvcc", "cudasim/toolkit/include/cuda_runtime.h"} <= set(names), wheel
        assert [name for name in own if "libcudasim" in name] == ["cudasim/libcudasim.so"], wheel
        made = email.message_from_bytes(zipfile.ZipFile(wheel).read(f"{folder}/METADATA"))
        assert (made["Version"], made["License-Expression"]) == (cudasim.__version__, "Apache-2.0"), wheel

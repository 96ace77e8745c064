"""What can be said of .github/workflows without running them: they have the form that is asked for, run what is meant,
and build for every supported Python. Whether they pass only they can show."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYPROJECT = (ROOT / "pyproject.toml").read_text()


def supported():
    last = re.search(r"range\((\d+), (\d+)\)", (ROOT / "scripts" / "find_pythons.py").read_text())
    return [str(minor) for minor in range(int(last[1]), int(last[2]))]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_the_form_that_is_asked_for(workflow):
    pytest.importorskip(
        "check_jsonschema", reason="check-jsonschema is not installed (scripts/set_up.sh test installs it)"
    )
    check = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
        str(workflow),
    ]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_the_scripts_that_a_workflow_names_exist(workflow):
    named = re.findall(r"(?<![\w/])((?:scripts|\.ci)/[\w./]*\w)", workflow.read_text() + PYPROJECT)
    assert named and not [path for path in named if not (ROOT / path).exists()]


def test_continuous_integration_is_the_same_everywhere():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert "run: .ci/run" in text
    assert {"3." + minor for minor in supported()} >= set(re.findall(r"\b3\.\d\d\b", text))


def test_published_wheels_are_for_every_supported_python_in_the_manylinux_2_28_image():
    built = re.search(r"^build = \[(.+)\]", PYPROJECT, re.MULTILINE)[1]
    assert re.findall(r"cp3(\d+)-\*", built) == supported()
    images = re.findall(r'^manylinux-(\w+)-image = "(\w+)"', PYPROJECT, re.MULTILINE)
    architectures = re.findall(
        r"architecture: (\w+)", (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    )
    assert dict(images) == dict.fromkeys(architectures, "manylinux_2_28")
    assert architectures == ["x86_64", "aarch64"]

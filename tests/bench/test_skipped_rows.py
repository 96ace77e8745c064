"""`make bench` on machines that lack a peer: its rows are skipped with the reason, the others stay."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_rows_beside_pocl_are_skipped_with_the_reason_where_there_is_none(tmp_path):
    # No platform is found in an empty folder of vendors; without pyopencl that is the reason.
    environment = os.environ | {"OCL_ICD_VENDORS": str(tmp_path), "OPENCL_VENDOR_PATH": str(tmp_path)}
    file = tmp_path / "bench.json"
    command = [sys.executable, "-m", "bench", "--numba", sys.executable, "--json", str(file)]
    done = subprocess.run([*command, "pocl_histogram_large", "empty_launch"], cwd=ROOT, env=environment,
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    measured = json.loads(file.read_text())
    assert [row["name"] for row in measured["rows"]] == ["empty_launch"]
    (skipped,) = measured["skipped"]
    assert skipped["name"] == "pocl_histogram_large"
    assert f"bench: pocl_histogram_large skipped: {skipped['reason']}" in done.stdout
    assert "pyopencl" in skipped["reason"] or "install pocl-opencl-icd" in skipped["reason"]

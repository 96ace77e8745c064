"""What the runtime library answers is what a GPU's answered (docs/gpu_results.md, "The runtime API")."""

from __future__ import annotations

import pathlib

from cuda_programs import compiled, needs_clang, run

PROGRAMS = pathlib.Path(__file__).with_name("programs")


@needs_clang
def test_calls_answer_as_they_did_on_a_gpu(tmp_path: pathlib.Path) -> None:
    result = run(compiled((PROGRAMS / "gpu_answers.cu").read_text(), tmp_path))
    assert result.stdout == "done\n", result.stderr
    assert result.returncode == 1  # for the misaligned store
    assert "misaligned()" in result.stderr


WRONG_KINDS = """
int main() {
    int *p, host[2] = {1, 2};
    cudaMalloc(&p, sizeof host);
    cudaMemcpy(p, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemcpy(p + 1, p, sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyHostToHost);
    return host[0] == 1 && host[1] == 1 ? 0 : 2;
}
"""


@needs_clang
def test_a_kind_that_says_host_for_device_memory_is_told_and_copied(tmp_path: pathlib.Path) -> None:
    result = run(compiled(WRONG_KINDS, tmp_path))
    assert result.returncode == 0, result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert all("the source is device memory, and the copy's kind says host; it is copied" in x for x in lines)
    assert "program.cu:6, in main" in lines[0] and "program.cu:7, in main" in lines[1]

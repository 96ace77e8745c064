"""Every kernel that the other tests and the examples compiled also goes through NVPTX and ptxas: what runs on the
simulator must be fit for a GPU.

It runs after all else (tests/conftest.py). Python's kernels of this run come from the option keep_images, those of
the engine's tests, hand-written and clang's, from the last `ctest` (tests/simulator/kept_image.h).

All of them for every architecture: about 20 ms each, 8 of LLVM and 12 of ptxas, of which 11 are its start. Several
kernels in one call of ptxas would save that, but it reads the debug information and refuses two joined ones. Of kernels
that are all alike (marker `like_images`, set apart by tests/conftest.py) one in SAMPLED is enough, for the one
architecture that it falls to.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.alone

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOWER = pathlib.Path(__file__).with_name("lower_images.py")
ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
IMAGES_AT_ONCE = 100  #: of one process; what the cores share out among themselves
SAMPLED = 20  #: of like images every so many-th is taken; which ones, their content decides
SECONDS_AT_ONCE = 600  #: for those; a hundred times what they take

#: Part of the message → why the tests have such a kernel. All else that is refused is an error.
EXPECTED_REFUSALS = {
    "see simulator/image/checks.def": "declared checks used in a wrong way, which both back ends refuse",
    "see simulator/image/variable_reads.h": "a read of a variable used in a wrong way, which both back ends refuse",
    "Barrier number '16' out of range": "a barrier that blocks do not have, which the simulator refuses",
    "State space incorrect for instruction 'st'": "a store to constant memory, which the simulator reports",
    "'__nv_sin_param_0'": "__nv_sin declared with a type of its own, which the simulator refuses",
    "Unresolved extern function '__nv_nonsense'": "no such function, which the simulator refuses",
    "Unresolved extern function 'exit'": "a function of the host, which the simulator refuses",
}
#: The same for architectures that do not have what the kernel needs.
MISSING_BEFORE_SM_90 = {
    "Cannot select: intrinsic %llvm.nvvm.barrier.cluster": "clusters of blocks",
    "Cannot select: intrinsic %llvm.nvvm.read.ptx.sreg.cluster": "clusters of blocks",
}


def is_expected(message, architecture):
    """Whether a refusal is for a reason above."""
    missing = MISSING_BEFORE_SM_90 if architecture in ("sm_75", "sm_80") else {}
    return any(part in message for part in (*EXPECTED_REFUSALS, *missing))


def ptxas():
    """The path of ptxas, which is looked for as in gpu_backend/toolkit.cpp."""
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    for root in filter(None, roots):
        if os.path.isfile(os.path.join(root, "bin", "ptxas")):
            return os.path.join(root, "bin", "ptxas")
    return shutil.which("ptxas")


def kept_images():
    """[(file, architectures)], each content once."""
    kept = pathlib.Path(os.environ["CUDASIM_KEEP_IMAGES"])
    engine = ROOT / "build" / "release" / "test_images"
    by_hash = {
        content_of(path): (path, ARCHITECTURES)
        for folder in (kept, engine)
        for path in folder.glob("*.cudasim")
    }
    for path in (kept / "like").glob("*.cudasim"):
        number, rest = divmod(int(content_of(path), 16), SAMPLED)
        if rest == 0:
            by_hash.setdefault(content_of(path), (path, ARCHITECTURES[number % len(ARCHITECTURES) :][:1]))
    return sorted(by_hash.values())


def content_of(path):
    """The first half of the hash that its name ends in."""
    return path.stem.rpartition("-")[2][:16]


def lowered(images):
    """What was refused, and what ended the program, as [(file, kernel, architecture, stage, message)]. :param
    images: [(file, architectures)]"""
    refused, rest = [], list(images)
    while rest:
        done = subprocess.run(
            [sys.executable, str(LOWER), ptxas()],
            input="".join(json.dumps([str(path), *architectures]) + "\n" for path, architectures in rest),
            capture_output=True,
            text=True,
            timeout=SECONDS_AT_ONCE,
        )
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        refused += [tuple(answer[1:]) for answer in answers if answer[0] == "refused"]
        begun = sum(answer[0] == "begin" for answer in answers)
        if done.returncode == 0:
            return refused
        refused.append((str(rest[max(begun, 1) - 1][0]), "", "", "crash", done.stderr[-2000:]))
        rest = rest[max(begun, 1) :]
    return refused


def test_every_kernel_is_accepted_by_nvptx_and_ptxas():
    if ptxas() is None:
        pytest.skip("ptxas not found: CUDA toolkit not installed")
    images = kept_images()
    if not images:
        pytest.skip("no kernel was compiled in this run: this test looks at those of the other tests")
    parts = [images[first : first + IMAGES_AT_ONCE] for first in range(0, len(images), IMAGES_AT_ONCE)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        refused = [row for part in pool.map(lowered, parts) for row in part]
    unexpected = collections.defaultdict(list)
    for path, kernel, architecture, stage, message in refused:
        if not is_expected(message, architecture):
            unexpected[stage, message.strip()].append(f"{kernel} ({architecture}, {path})")
    report = "\n".join(
        f"{stage}: {message}\n    {len(where)} times, first: {where[0]}"
        for (stage, message), where in sorted(unexpected.items())
    )
    assert not unexpected, f"of {len(images)} images:\n{report}"


def test_a_kernel_that_ptxas_refuses_is_found(tmp_path):
    """The test above can fail."""
    from cudasim import _native

    if ptxas() is None:
        pytest.skip("ptxas not found: CUDA toolkit not installed")
    text = """
        target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
        target triple = "nvptx64-nvidia-cuda"
        @much = internal addrspace(3) global [400000 x i8] undef
        define void @k(i64 %i) {
          %p = getelementptr i8, ptr addrspace(3) @much, i64 %i
          store volatile i8 1, ptr addrspace(3) %p
          ret void
        }
        !nvvm.annotations = !{!0}
        !0 = !{ptr @k, !"kernel", i32 1}
    """  # more shared memory than any block can have
    path = tmp_path / "k.cudasim"
    path.write_bytes(_native.KernelImage.from_ir_text(text).serialise())
    assert [row[1:4] for row in lowered([(path, ARCHITECTURES)])] == [
        ("k", arch, "ptxas") for arch in ARCHITECTURES
    ]


def test_a_kernel_that_ends_the_program_is_named(tmp_path):
    (tmp_path / "broken.cudasim").write_bytes(b"not an image")
    if ptxas() is None:
        pytest.skip("ptxas not found: CUDA toolkit not installed")
    (row,) = lowered([(tmp_path / "broken.cudasim", ARCHITECTURES)])
    assert row[0].endswith("broken.cudasim") and row[3] == "crash" and "too short for a header" in row[4]

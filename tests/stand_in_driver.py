"""Where the stand-in for NVIDIA's driver lies (tests/gpu_backend/libcuda/stand_in), once `make test` has built it."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAND_IN = ROOT / "build" / "release" / "tests" / "gpu_backend" / "libcuda" / "stand_in" / "libcuda.so.1"

"""numba.core.utils: the interpreter's version, signatures of functions."""

import struct
import sys
from inspect import signature as pysignature  # noqa: F401

PYVERSION = sys.version_info[:2]
MACHINE_BITS = struct.calcsize("P") * 8

"""Launches that do not leave the same bits on both sides, and why.

A row applies to the launches of the tests that its pattern describes. Each is an expectation: where such a launch is equal after
all, its row has to go.
"""

from __future__ import annotations

import dataclasses
import re

UNWRITTEN = (
    "reads shared or local memory that nobody has written: the simulator shows a recognisable value there, and LLVM, which "
    "sees no store, makes it zero in PTX"
)
NAN_BITS = (
    "only the bits of NaN: LLVM leaves sign and payload of a NaN that an operation makes open, and both code generators order "
    "the operands of additions and multiplications as they like"
)


HALF_NAN_BITS = (
    "only the bits of NaN: a conversion to float16 makes every NaN 7fff on a GPU, and in PTX that is read; the processor "
    "keeps sign and payload"
)


@dataclasses.dataclass(frozen=True)
class Difference:
    """A launch that is expected to differ."""

    test: str  #: pattern of the test's name, "test_arrays.py::test_x[float32]"
    reason: str  #: pattern of the beginning of what is found
    cause: str
    fma: bool | None = None  #: only with multiply-adds fused, or not; None: in both cases
    surely: bool = True  #: whether every launch of these tests differs

    def applies(self, row: dict, fma: bool) -> bool:
        return self.fma in (None, fma) and re.search(self.test, row["test"]) is not None

    def explains(self, row: dict) -> bool:
        return re.match(self.reason, row["reason"]) is not None


#: Tests whose launches are not the kernel's alone, so nothing can be said of their PTX, and why.
LEFT_OUT = (
    (
        r"test_set_variables\.py::|test_stops\.py::",
        "a debugger of the test changes variables, or the order of threads",
    ),
    (r"test_(dask_)?schedules\.py::", "the test asks for an order of threads, on which the result depends"),
    (r"test_control_c_ends_the_wait", "the test stops the launch"),
)

EXCEPTIONS = (
    Difference(
        r"test_host_visible_memory\.py::|test_vectorize\.py::test_host_arrays_must_fit",
        "it can reach host memory that the program has registered",
        "host memory that the program has registered is not given to a GPU",
        surely=False,
    ),
    Difference(
        r"test_print\.py::test_much_output",
        "printed lines",
        "two million lines do not fit into the buffer of a GPU",
        surely=False,
    ),
    Difference(
        r"test_devices\.py::test_peers_of_one_kind",
        "a parameter points to the memory of another device",
        "memory of another device is not in the record",
        surely=False,
    ),
    Difference(r"test_float16\.py::", r"bits of \d+ NaN", HALF_NAN_BITS, surely=False),
    Difference(r"test_array_memory\.py::test_fresh_memory_is_poisoned", r"\d+ elements of out", UNWRITTEN),
    Difference(r"test_value_rules\.py::test_fresh_arrays_hold_no_zeros", r"\d+ elements of out", UNWRITTEN),
    Difference(r"test_complex\.py::test_cmath_has_cpythons_values\[tan\]", r"bits of \d+ NaN", NAN_BITS),
    Difference(
        r"test_numpy_calls\.py::test_ufuncs_of_one_number", r"bits of \d+ NaN", NAN_BITS, surely=False
    ),
    Difference(
        r"test_complex\.py::test_arithmetic_gives_numbas_bits",
        r"bits of \d+ NaN",
        NAN_BITS,
        fma=False,
        surely=False,
    ),
    Difference(
        r"test_examples\.py::.*n_body",
        r"\d+ elements of",
        "fastmath=True lets both code generators reorder and approximate",
        surely=False,
    ),
    Difference(
        r"test_examples\.py::.*between_processes",
        "it can reach host memory that the program has registered",
        "the program's processes share arrays in host memory, which is not given to a GPU",
    ),
    Difference(
        r"test_dispatcher\.py::test_fastmath_reassociates",
        r"\d+ elements of",
        "fastmath=True lets both code generators reorder and approximate",
        surely=False,
    ),
    Difference(
        r"test_thread_ends\.py::test_all_shared_memory_counts_in_units_of_128_bytes",
        r"\d+ bytes of device array",
        "%total_smem_size: LLVM leaves a shared variable that is only written out of PTX",
        surely=False,
    ),
)

"""Where Python mode is known to differ from native mode: the tests of the kernel compiler that show it, and why.

tests/conftest.py runs what those tests launch in both modes and fails when a difference is not in this table, or when
one that is has gone. The list in docs/differences.md is made of it: python tests/mode_differences.py --write
"""

import pathlib
import sys

#: Reason → what users are told.
REASONS = {
    "python's message": (
        "Errors that CPython raises itself have its words: an index beyond a tuple or bytes, unpacking of another length, "
        "arithmetic with None. Class, thread and line are the same."
    ),
    "recursion": "Recursion ends at Python's own limit, `sys.getrecursionlimit()`, with the same RecursionError.",
    "identity": (
        "Tuples that hold the same NaN object compare equal, as in Python; compiled code compares values."
    ),
    "declared signature": (
        "The types that a device function's signature declares do not convert its arguments and its result."
    ),
    "fma": "`CUDASIM_FMA=1` contracts nothing: every operation is rounded.",
    "dates": "datetime64 and timedelta64 are NumPy's: a duration divided by zero warns, np.int64(date) is refused.",
    "pytest": None,  # its rewritten asserts run in Python mode only: they say more
}

#: What no test of the corpus shows, but follows from how Python mode works.
ALSO = [
    "Variables have the type of the value that they hold, not one type for all that is assigned to them: after "
    "`x = a[i]` (float32) and, in a branch not taken, `x = 2.0`, compiled code computes with float64.",
    "Two plain ints (constants, `range`, `len`, `shape`) give a plain int, which does not wrap at 64 bits; with a value "
    "that was loaded, passed or computed from such a one, results are int64 or uint64 and wrap.",
    "A `range` of unsigned bounds gives plain ints, too: `divmod` of one of them and an unsigned number gives floats.",
    "`~` of a bool is Python's (-2).",
    "Reductions of whole arrays (`a.sum()`, `a.mean()`) are NumPy's, which adds in pairs: the last bit may differ.",
    "`print` prints what Python prints: `1.5`, where a GPU prints `1.500000`.",
]

#: Test → reason.
KNOWN = {
    "test_dates.py::test_constants_arguments_local_variables_and_tuples": "dates",
    "test_dates.py::test_durations_times_and_by_numbers": "dates",
    "test_functions.py::test_assert_with_and_without_message": "pytest",
    "test_functions.py::test_recursion_that_is_too_deep_ends_the_thread": "recursion",
    "test_functions.py::test_using_the_value_that_is_not_there_is_a_type_error_of_the_kernel": "python's message",
    "test_functions.py::test_declared_signatures_convert_arguments_and_result": "declared signature",
    "test_iteration.py::test_unpacking_an_array_of_another_length[2]": "python's message",
    "test_characters.py::test_an_index_beyond_bytes_is_an_error": "python's message",
    "test_characters.py::test_an_index_beyond_the_characters_is_an_error": "python's message",
    "test_tuples.py::test_comparison_with_nan_follows_python": "identity",
    "test_tuples.py::test_elements_by_running_index_are_checked": "python's message",
    "test_tuples.py::test_arrays_in_a_tuple_by_running_index_and_in_a_loop": "python's message",
    "test_value_rules.py::test_multiply_and_add_round_twice_unless_asked": "fma",
    "test_values.py::test_tuples_with_constant_and_running_index": "python's message",
}

DOCUMENT = pathlib.Path(__file__).resolve().parents[1] / "docs" / "differences.md"
BEGIN = "<!-- made by tests/mode_differences.py -->"
END = "<!-- end -->"


def section():
    """The list, as Markdown."""
    shown = sorted({REASONS[reason] for reason in KNOWN.values() if REASONS[reason]})
    return "\n".join([BEGIN, *(f"- {sentence}" for sentence in [*shown, *ALSO]), END])


def with_section(text):
    """The document's text with the list in its place."""
    before, rest = text.split(BEGIN)
    return before + section() + rest.split(END, 1)[1]


def surprise(name, comparison):
    """What is wrong with the comparison of a test's launches; empty when the table has it right.

    :param name: file and name of the test
    """
    reason = KNOWN.get(name)
    if reason is None:
        found = "\n".join(comparison.differences[:5])
        return (
            f"the modes disagree, and tests/mode_differences.py does not know of it:\n{found}"
            if found
            else ""
        )
    if comparison.launches and not comparison.differences:
        return f"the modes agree now: take the test out of tests/mode_differences.py ({reason})"
    return ""


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.write_text(with_section(DOCUMENT.read_text()))
    else:
        print(section())

"""Type objects without Numba: each type is one object, and its names, keys and attributes are those that Numba's own has.

numba_type_facts.json holds what Numba 0.68 answered to numba_type_facts.py:

    ENABLE_CUDASIM=0 $CUDASIM_TEST_NUMBA_PYTHON numba_type_facts.py > numba_type_facts.json
"""

import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "numba_type_facts.py"
ANSWERS = json.loads((HERE / "numba_type_facts.json").read_text())
#: Where cudasim's types differ: types of iterators, attributes and literal containers that it lacks; what it
#: takes and Numba refuses; another class of error.
DIFFERENT = {
    "t.UniTupleIter(t.UniTuple(t.int8, 2))", "t.ArrayIterator(t.int8[:])", "t.NumpyFlatType(t.int8[:])", "t.NumpyNdIndexType(2)",
    "t.NumpyNdEnumerateType(t.int8[:])", "t.EnumerateType(t.int8[:])", "t.ZipType([t.int8[:], t.int8[:]])",
    "t.UnicodeIteratorType(t.unicode_type)", "t.ArrayFlags(t.int8[:])", "t.ArrayCTypes(t.int8[:])",
    "t.ExternalFunctionPointer(t.int8(t.float32), get_pointer=a_function)", "t.UndefinedFunctionType(1, {1})",
    't.LiteralStrKeyDict({t.literal("a"): t.int8})', "t.LiteralList((t.int8, t.float32))", "t.Literal(3)", "t.int32[...]",
    't.ExternalFunction("f", t.int8(t.float32))',
}  # fmt: skip


def answers_of(runner, **variables):
    done = runner(PROGRAM, **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def differences(given):
    """expression → {fact: (Numba's answer, the given one)}. Attributes that Numba's types lack do not count, and of expressions
    that Numba refuses the class of the error alone counts."""
    found = {}
    for expression, expected in ANSWERS["types"].items():
        answers = given["types"][expression]
        different = {fact: (expected.get(fact), answers.get(fact)) for fact in {*expected, *ANSWERS["usual"]}
                     if expected.get(fact) != answers.get(fact)}  # fmt: skip
        if different:
            found[expression] = different
    return found


def test_types_answer_as_numbas_do(run):
    found = differences(answers_of(run, ENABLE_CUDASIM="1"))
    assert {name: facts for name, facts in found.items() if name not in DIFFERENT} == {}
    assert DIFFERENT - {*found} == set()  # the list is to tell the truth


def test_the_answers_are_numbas(run_with_numba):
    assert differences(answers_of(run_with_numba, ENABLE_CUDASIM="0")) == {}


def test_types_are_numbas_beside_numba(run_with_numba):
    assert differences(answers_of(run_with_numba, ENABLE_CUDASIM="1")) == {}

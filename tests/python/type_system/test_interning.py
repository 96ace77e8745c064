"""Equal types are one object, as Numba's are."""

import collections
import copy
import gc
import pickle
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from cudasim import types
from cudasim.cuda import types as t

Point = collections.namedtuple("Point", "x y")

MAKERS = [
    lambda: types.Array(types.float32, 1, "C"),
    lambda: types.float32[:, ::1],
    lambda: types.UniTuple(types.int64, 3),
    lambda: types.Tuple((types.int64, types.float32[:])),
    lambda: types.NamedTuple((types.int64, types.float32), Point),
    lambda: types.NamedUniTuple(types.int64, 2, Point),
    lambda: types.Integer("int32"),
    lambda: types.NPDatetime("D"),
    lambda: types.Record(np.dtype("i4,f8")),
    lambda: types.parse_type("Record(f0[type=int32;offset=0];4;False)"),
    lambda: types.parse_type("array(float64, 2d, F)"),
    lambda: t.Optional(types.float64),
    lambda: t.literal(3),
    lambda: t.Omitted(None),
    lambda: t.List(types.int64),
]


@pytest.mark.parametrize("make", MAKERS)
def test_equal_types_are_one_object(make):
    one = make()
    assert make() is one and pickle.loads(pickle.dumps(one)) is one
    assert copy.copy(one) is one and copy.deepcopy(one) is one and copy.deepcopy([one])[0] is one


def test_keywords_and_names_lead_to_the_same_object():
    array = types.Array(dtype=types.float32, ndim=1, layout="C", readonly=False, aligned=True)
    assert (
        array
        is types.float32[::1]
        is types.parse_type("array(float32, 1d, C)")
        is types.parse_type("float32[::1]")
    )
    assert types.Tuple([types.int8, types.int8]) is types.UniTuple(count=2, dtype=types.int8)
    assert types.Integer.from_bitwidth(32) is types.int32 and types.Boolean("bool") is types.boolean
    assert types.complex64.underlying_float is types.float32


def test_types_of_other_classes_or_keys_are_other_objects():
    assert types.Array(types.int8, 1, "C", readonly=True) != types.Array(types.int8, 1, "C")
    assert types.Array(types.int8, 1, "C", aligned=False) != types.Array(types.int8, 1, "C")
    assert t.literal(1) != t.literal(True) and t.Omitted(1) != t.Omitted(True) and t.literal(1) != types.int64
    assert types.int8 != "int8" and types.Type("x") != types.Dummy("x")
    other = collections.namedtuple("Point", "x y")
    assert types.NamedUniTuple(types.int64, 2, Point) != types.NamedUniTuple(types.int64, 2, other)
    assert repr(t.Omitted(-0.0)) == "omitted(default=-0.0)" and repr(t.Omitted(0.0)) == "omitted(default=0.0)"


def test_a_type_lives_as_long_as_it_is_used():
    kind = types.Array(types.UniTuple(types.int16, 91), 1, "C")
    seen = [weakref.ref(kind), weakref.ref(kind.dtype)]
    del kind
    gc.collect()
    assert [one() for one in seen] == [None, None]


def test_threads_get_one_object():
    class SlowKey:
        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            return self.value == other.value

        def __hash__(self):
            time.sleep(0.001)  # other threads look for the same type between the search and the insertion
            return hash(self.value)

    class Slow(types.Type):
        def __init__(self, value):
            self.value = value
            super().__init__("slow")

        @property
        def key(self):
            return SlowKey(self.value)

    def make():
        start.wait()
        made.append([Slow(value) for value in range(10)])

    made, start = [], threading.Barrier(8)
    threads = [threading.Thread(target=make) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(made) == 8
    assert all(len(set(map(id, column))) == 1 for column in zip(*made))


def test_pickles_are_read_in_other_processes(tmp_path):
    kinds = [make() for make in MAKERS if "Point" not in str(make())]
    (tmp_path / "kinds").write_bytes(pickle.dumps(kinds))
    program = """
import pickle, sys
from cudasim import types
kinds = pickle.load(open(sys.argv[1], "rb"))
assert kinds[0] is types.float32[::1] and kinds[2] is types.UniTuple(types.int64, 3), kinds
print(kinds)
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "kinds"], capture_output=True, text=True)
    assert done.stdout == f"{kinds}\n", done.stderr


def test_classes_of_ones_own_are_interned_by_their_keys():
    class Money(types.Type):
        def __init__(self, currency):
            self.currency = currency
            super().__init__(name="money")

        @property
        def key(self):
            return self.currency

    assert Money("EUR") is Money("EUR") and Money("EUR") != Money("USD") and not Money("EUR").is_internal


def test_the_compiler_reads_more_than_numbas_name():
    point = types.NamedTuple((types.int64, types.float32), Point)
    assert (
        str(point) == "Point(int64, float32)"
        and types.name_of(point) == "namedtuple(Point; x=int64, y=float32)"
    )
    assert types.parse_type(types.name_of(point)) is point
    within = types.Tuple((point, types.int8))
    assert (
        str(within) == "Tuple(Point(int64, float32), int8)"
        and types.parse_type(types.name_of(within)) is within
    )
    assert types.name_of(types.Array(types.int8, 1, "C", readonly=True)) == "array(int8, 1d, C)"
    assert types.name_of(types.UniTuple(types.int8, 0)) == "Tuple()"

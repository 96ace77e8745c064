"""numba.cuda.cudadrv.dummyarray: each compared with NumPy's strides and byte bounds."""

import numpy as np
import pytest
from cudasim.cuda.cudadrv.dummyarray import Array, Element
from hypothesis import given, settings
from hypothesis import strategies as st


def described(array, base):
    return Array.from_desc(
        array.__array_interface__["data"][0] - base, array.shape, array.strides, array.itemsize
    )


SLICE = st.one_of(st.slices(5), st.integers(-5, 4))


@settings(max_examples=150, deadline=None)
@given(index=st.tuples(SLICE, SLICE), order=st.sampled_from("CF"))
def test_indexing(index, order):
    host = np.asarray(np.zeros((5, 5), np.int16), order=order)
    base = host.__array_interface__["data"][0]
    expected, got = host[index], described(host, base)[index]
    if np.ndim(expected) == 0:
        assert isinstance(got, Element) and not got.is_array
        position = tuple(range(5)[i] for i in index)
        begin = sum(i * stride for i, stride in zip(position, host.strides))
        assert got.extent == (begin, begin + 2)
        return
    assert got.shape == expected.shape and got.size == expected.size
    if expected.size:
        assert got.strides == expected.strides
        assert got.extent.begin == expected.__array_interface__["data"][0] - base
        assert (
            got.is_c_contig == expected.flags.c_contiguous and got.is_f_contig == expected.flags.f_contiguous
        )
        covered = sum(end - begin for begin, end in got.iter_contiguous_extent())
        assert covered == expected.nbytes


def test_reshaping():
    host = np.zeros((4, 6), np.float32)
    array = described(host, host.ctypes.data)
    for shape, order in (((24,), "C"), ((2, 12), "C"), ((2, -1, 3), "F"), ((6, 4), "A")):
        reshaped, extents = array.reshape(*shape, order=order)
        expected = np.zeros(24, np.float32).reshape(shape, order="C" if order == "A" else order)
        assert reshaped.shape == expected.shape and reshaped.strides == expected.strides
        assert extents == [array.extent]
    assert array.reshape(4, 6) == (array, None)
    with pytest.raises(ValueError):
        array.reshape(5, 5)
    with pytest.raises(NotImplementedError, match="require copy"):
        array[:, :3].reshape(12)
    with pytest.raises(ValueError, match="order"):
        array.reshape(24, order="X")


def test_squeezing_and_ravelling():
    array = Array.from_desc(0, (1, 3, 1), (24, 8, 8), 8)
    assert array.squeeze()[0].shape == (3,) and array.squeeze(0)[0].shape == (3, 1)
    with pytest.raises(ValueError, match="not equal to one"):
        array.squeeze(1)
    raveled, extents = array.ravel()
    assert raveled.shape == (3,) and raveled.strides == (8,) and extents == [array.extent]
    with pytest.raises(NotImplementedError):
        Array.from_desc(0, (3,), (16,), 8).ravel()
    with pytest.raises(TypeError, match="ints"):
        Array.from_desc(0, (2.5,), (8,), 8)
    with pytest.raises(IndexError):
        array[0, 0, 0, 0]
    assert not Array.from_desc(0, (3,), (0,), 8).is_c_contig

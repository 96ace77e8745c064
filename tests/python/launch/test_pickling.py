"""What travels to other processes: kernels, ufuncs, launch configurations, made in functions as well as in modules."""

import pickle

import numpy as np
import pytest
from cudasim import cuda


@cuda.vectorize(["int64(int64)", "float64(float64)"])
def doubled(x):
    return x * 2


def again(thing):
    return pickle.loads(pickle.dumps(thing))


def result_of(kernel, dtype=np.float64):
    x = np.zeros(3, dtype)
    kernel(x)
    return x.tolist()


def test_ufuncs_of_modules_are_found_by_name():
    assert again(doubled) is doubled


def test_ufuncs_made_in_functions_are_made_again():
    summand = 5

    @cuda.vectorize(["int64(int64)", "float64(float64)"])
    def increased(x):
        return x + summand

    @cuda.guvectorize(["void(float64[:], float64[:])"], "(n)->()")
    def total(x, out):
        out[0] = summand
        for value in x:
            out[0] += value

    assert again(increased)(np.arange(3)).tolist() == [5, 6, 7]
    assert again(again(increased))(np.arange(3.0)).dtype == np.float64
    assert again(total)(np.arange(6.0).reshape(2, 3)).tolist() == [8, 17]


def test_kernels_made_in_functions():
    value = 7

    @cuda.jit
    def store(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] = value

    @cuda.jit("void(float64[:])")
    def declared(x):
        x[0] = value

    assert result_of(again(store.forall(3))) == [7, 7, 7]
    assert result_of(again(store[1, 2])) == [7, 7, 0]
    special = again(store.specialize(np.zeros(1)))
    assert special.specialized and result_of(special[1, 1]) == [7, 0, 0]
    with pytest.raises(TypeError, match="No matching definition"):
        special[1, 1](np.zeros(1, np.int8))
    kernel = again(next(iter(declared.overloads.values())))
    assert (
        kernel.signature == next(iter(declared.overloads.values())).signature
        and "st.global" in kernel.inspect_asm()
    )


@pytest.mark.parametrize(
    "module, name",
    [
        ("cudasim.cuda.cudadrv.dummyarray", "Array"),
        ("cudasim.cuda.cudadrv.dummyarray", "Extent"),
        ("cudasim.cuda.cudadrv.driver", "Driver"),
        ("cudasim.cuda.cudadrv.runtime", "Runtime"),
        ("cudasim.cuda.cudadrv.nvvm", "CompilationUnit"),
        ("cudasim.cuda.kernels.reduction", "Reduce"),
        ("cudasim.cuda.random", "xoroshiro128p_next"),
        ("cudasim.cuda.random", "create_xoroshiro128p_states"),
        ("cudasim.cuda.testing", "ForeignArray"),
        ("cudasim.cuda.extending", "overload"),
        ("cudasim.cuda.typing.typeof", "typeof"),
    ],
)
def test_pickles_find_what_has_moved_into_rooms(module, name):
    """A pickle names a class or a function by the module that defined it when the pickle was made."""
    found = pickle.loads(f"c{module}\n{name}\n.".encode())
    assert found is not None and found.__module__.startswith("cudasim.")

"""cuda.random: states, numbers and jumps with Numba's bits (xoroshiro_vectors.json), in kernels and on the host."""

import json
import traceback

import numpy as np
import pytest
from cudasim import cuda, options, types
from cudasim.cuda import random
from cudasim.cuda.random import (
    create_xoroshiro128p_states,
    init_xoroshiro128p_state,
    init_xoroshiro128p_states,
    init_xoroshiro128p_states_cpu,
    uint64_to_unit_float32,
    uint64_to_unit_float64,
    xoroshiro128p_dtype,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)
from xoroshiro_vectors import FILE, GENERATORS, state_words


@pytest.fixture(autouse=True, params=["auto", "python"])
def mode(request):
    with options.override(mode=request.param):
        yield request.param


VECTORS = json.loads(FILE.read_text())
vectors = pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['count']}-{vector['seed']}")


def states_of(vector):
    return create_xoroshiro128p_states(vector["count"], vector["seed"], vector["start"])


@vectors
def test_states_have_numbas_bits(vector):
    states = states_of(vector)
    assert cuda.is_cuda_array(states) and states.dtype == xoroshiro128p_dtype
    assert state_words(states.copy_to_host()) == vector["states"]
    again = cuda.device_array(vector["count"], xoroshiro128p_dtype)
    init_xoroshiro128p_states(again, vector["seed"], vector["start"], stream=cuda.stream())
    assert state_words(again.copy_to_host()) == vector["states"]
    host = np.zeros(vector["count"], xoroshiro128p_dtype)
    init_xoroshiro128p_states_cpu(host, vector["seed"], vector["start"])
    assert state_words(host) == vector["states"]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 31, 32, 33])
def test_as_many_states_as_one_asks_for_and_each_jumps_to_the_next(count):
    states = create_xoroshiro128p_states(count, seed=5).copy_to_host()
    assert states.shape == (count,)
    longer = create_xoroshiro128p_states(count + 1, seed=5).copy_to_host()
    assert np.array_equal(longer[:count], states)
    for index in range(count):
        xoroshiro128p_jump(states, index)
    assert np.array_equal(states, longer[1:])


def test_subsequence_start_leaves_sequences_out():
    whole = create_xoroshiro128p_states(40, 7).copy_to_host()
    for start in (0, 1, 17, 39):
        part = create_xoroshiro128p_states(40 - start, 7, subsequence_start=start).copy_to_host()
        assert np.array_equal(part, whole[start:])


def test_negative_seeds_are_taken_as_64_bits():
    assert state_words(create_xoroshiro128p_states(2, -1).copy_to_host()) == VECTORS[3]["states"]


@cuda.jit
def draw_next(states, out):
    i = cuda.grid(1)
    for k in range(out.shape[0]):
        out[k, i] = xoroshiro128p_next(states, i)


@cuda.jit
def draw_uniform_float32(states, out):
    i = cuda.grid(1)
    for k in range(out.shape[0]):
        out[k, i] = xoroshiro128p_uniform_float32(states, i)


@cuda.jit
def draw_uniform_float64(states, out):
    i = cuda.grid(1)
    for k in range(out.shape[0]):
        out[k, i] = xoroshiro128p_uniform_float64(states, i)


@cuda.jit
def draw_normal_float32(states, out):
    i = cuda.grid(1)
    for k in range(out.shape[0]):
        out[k, i] = xoroshiro128p_normal_float32(states, i)


@cuda.jit
def draw_normal_float64(states, out):
    i = cuda.grid(1)
    for k in range(out.shape[0]):
        out[k, i] = xoroshiro128p_normal_float64(states, i)


def expected_of(vector, name):
    lines = vector["draws"][name]
    dtype = np.dtype(GENERATORS[name])
    values = np.frombuffer(bytes.fromhex("".join(map("".join, lines))), dtype.newbyteorder(">"))
    return values.astype(dtype).reshape(len(lines), -1)


@pytest.mark.parametrize("name, kernel", [
    ("xoroshiro128p_next", draw_next),
    ("xoroshiro128p_uniform_float32", draw_uniform_float32),
    ("xoroshiro128p_uniform_float64", draw_uniform_float64),
    ("xoroshiro128p_normal_float32", draw_normal_float32),
    ("xoroshiro128p_normal_float64", draw_normal_float64),
])  # fmt: skip
@vectors
def test_numbers_have_numbas_bits(vector, name, kernel):
    """Normal numbers: where another libm has other logarithms and cosines, within 2 units in the last place of float32."""
    states = states_of(vector)
    expected = expected_of(vector, name)
    out = np.zeros_like(expected)
    kernel[1, vector["count"]](states, out)
    host, on_host = states_of(vector).copy_to_host(), np.zeros_like(expected)
    for place in np.ndindex(expected.shape):
        on_host[place] = getattr(random, name)(host, place[1])
    for values in (out, on_host):
        if "normal" in name:
            np.testing.assert_allclose(values, expected, rtol=2.5e-7)
        else:
            np.testing.assert_array_equal(values, expected)
    if name == "xoroshiro128p_normal_float64":  # the last of the vector's generators
        assert state_words(states.copy_to_host()) == state_words(host) == vector["after"]


@vectors
def test_jump_and_initialisation_in_kernels(vector):
    @cuda.jit
    def jump(states, seed):
        xoroshiro128p_jump(states, 0)

    @cuda.jit
    def initialise(states, seed):
        i = cuda.grid(1)
        init_xoroshiro128p_state(states, i, seed)

    host = np.array(
        [tuple(int(word, 16) for word in state) for state in vector["after"]], xoroshiro128p_dtype
    )
    states = cuda.to_device(host)
    jump[1, 1](states, 0)
    assert state_words(states.copy_to_host()) == vector["jumped"]
    initialise[1, vector["count"]](states, np.uint64(vector["seed"]))
    first = create_xoroshiro128p_states(1, vector["seed"]).copy_to_host()[0]
    assert (states.copy_to_host() == first).all()


@pytest.mark.parametrize("index", [np.int32(2), np.uint32(2), np.int64(2), np.uint64(2), np.int8(2)])
def test_indices_of_every_integer_type(index):
    @cuda.jit
    def kernel(states, index, out):
        out[0] = xoroshiro128p_uniform_float64(states, index)

    out = np.zeros(1)
    kernel[1, 1](create_xoroshiro128p_states(5, 1), index, out)
    assert out[0] == expected_of(VECTORS[0], "xoroshiro128p_uniform_float64")[0, 2]


def test_conversions_of_64_bits():
    @cuda.jit
    def kernel(bits, singles, doubles):
        for k in range(bits.size):
            singles[k] = uint64_to_unit_float32(bits[k])
            doubles[k] = uint64_to_unit_float64(bits[k])

    bits = np.array([0, 1, 1 << 11, 1 << 63, (1 << 64) - 1], np.uint64)
    singles, doubles = np.zeros(5, np.float32), np.zeros(5)
    kernel[1, 1](bits, singles, doubles)
    assert doubles.tolist() == [0.0, 0.0, 2.0**-53, 0.5, 1 - 2.0**-53]
    assert singles.tolist() == [0.0, 0.0, 2.0**-53, 0.5, 1.0]
    assert [uint64_to_unit_float64(word) for word in bits] == doubles.tolist()


def test_numbers_look_random():
    @cuda.jit
    def kernel(states, uniform, normal):
        i = cuda.grid(1)
        if i < states.size:
            for k in range(uniform.shape[1]):
                uniform[i, k] = xoroshiro128p_uniform_float32(states, i)
                normal[i, k] = xoroshiro128p_normal_float64(states, i)

    uniform, normal = np.zeros((60, 100), np.float32), np.zeros((60, 100))
    kernel[2, 32](create_xoroshiro128p_states(60, seed=3), uniform, normal)
    assert 0 <= uniform.min() and uniform.max() <= 1 and abs(uniform.mean() - 0.5) < 0.02
    assert abs(uniform.std() - 12**-0.5) < 0.02
    assert abs(normal.mean()) < 0.05 and abs(normal.std() - 1) < 0.05 and np.unique(normal).size > 5990


def test_an_index_beyond_the_states_is_reported_at_the_kernels_line():
    @cuda.jit
    def kernel(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_normal_float32(states, i)

    with pytest.raises(IndexError) as caught:
        kernel[1, 8](create_xoroshiro128p_states(5, 1), np.zeros(8, np.float32))
    assert (
        str(caught.value) == "tid=[5, 0, 0] ctaid=[0, 0, 0]: index 5 is out of bounds for axis 0 with size 5"
    )
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].name == "kernel" and "xoroshiro128p_normal_float32(states, i)" in frames[-1].line
    assert "random.py" not in "".join(traceback.format_exception(caught.value)).replace("test_random.py", "")


def test_states_are_records_with_two_words():
    assert xoroshiro128p_dtype.names == ("s0", "s1") and xoroshiro128p_dtype.itemsize == 16
    assert xoroshiro128p_dtype.isalignedstruct
    assert xoroshiro128p_dtype.fields["s1"] == (np.dtype(np.uint64), 8)


def test_states_in_a_signature():
    @cuda.jit((random.xoroshiro128p_type[:], types.float32[:]))
    def kernel(states, out):
        i = cuda.grid(1)
        out[i] = xoroshiro128p_uniform_float32(states, i)

    out = np.zeros(5, np.float32)
    kernel[1, 5](create_xoroshiro128p_states(5, 1), out)
    np.testing.assert_array_equal(out, expected_of(VECTORS[0], "xoroshiro128p_uniform_float32")[0])


PROGRAM = """
    import numpy as np
    from numba import cuda, float64, types
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_normal_float64, xoroshiro128p_type

    @cuda.jit(types.void(xoroshiro128p_type[:], float64[:]))
    def walk(states, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = xoroshiro128p_normal_float64(states, i)

    out = np.zeros(5)
    walk[1, 32](create_xoroshiro128p_states(5, seed=1), out)
    print(out.tobytes().hex())
"""


def test_random_numbers_with_the_stand_in(run):
    done = run.script(PROGRAM, ENABLE_CUDASIM="1")
    assert np.allclose(
        np.frombuffer(bytes.fromhex(done.stdout)), expected_of(VECTORS[0], "xoroshiro128p_normal_float64")[0]
    )


@pytest.mark.parametrize("reported", ["0", "1"])
def test_random_numbers_beside_numba(run_with_numba, reported):
    done = run_with_numba.script(
        PROGRAM,
        ENABLE_CUDASIM="1",
        CUDASIM_REPORT_AS_SIMULATOR=reported,
        NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS="0",
        NUMBA_CUDA_WARN_ON_IMPLICIT_COPY="0",
    )
    assert done.stderr == ""
    assert np.allclose(
        np.frombuffer(bytes.fromhex(done.stdout)), expected_of(VECTORS[0], "xoroshiro128p_normal_float64")[0]
    )

"""numba.vectorize(…, target="cuda") and numba.guvectorize under the switch: with the stand-in, and with the real numba."""

import pytest

PROGRAM = """
    import numpy as np
    import numba
    from numba import cuda, guvectorize, vectorize, float32, float64, int32, void, types

    @cuda.jit(device=True)
    def square(x):
        return x * x

    @vectorize(["float32(float32, float32)", float64(float64, float64)], target="cuda", identity=0)
    def norm2(a, b):
        return square(a) + square(b)

    @numba.vectorize([types.int32(types.int32)], target="cuda")
    def half(x):
        if x < 0:
            raise ValueError("negative")
        return x // 2

    @vectorize([(int32, int32)], target="cuda")
    def ratio(a, b):
        return a / b

    @guvectorize([void(float32[:, :], float32[:], float32[:])], "(m,n),(n)->(m)", target="cuda")
    def matvec(a, x, out):
        for i in range(a.shape[0]):
            out[i] = 0
            for j in range(a.shape[1]):
                out[i] += a[i, j] * x[j]

    @numba.guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)", target="cuda", nopython=True)
    def scaled(x, factor, out):
        for i in range(x.shape[0]):
            out[i] = x[i] * factor

    x = np.arange(10, dtype=np.float32)
    assert np.array_equal(norm2(x, 2), x * x + 4) and norm2(x, x).dtype == np.float32
    assert norm2(cuda.to_device(x.astype(np.float64)), 1.0).copy_to_host().dtype == np.float64
    assert np.array_equal(half(np.arange(9, dtype=np.int32)), np.arange(9) // 2)
    assert ratio(np.ones(3, np.int32), np.full(3, 2, np.int32)).tolist() == [0.5] * 3
    a = np.random.default_rng(1).random((7, 3, 4), dtype=np.float32)
    assert np.allclose(matvec(a, x[:4]), a @ x[:4])
    assert np.array_equal(scaled(np.ones((2, 3)), np.arange(2.0)), [[0.0] * 3, [1.0] * 3])
    try:
        half(np.array([1, -1], np.int32))
    except ValueError as refusal:
        assert str(refusal).endswith("tid=[1, 0, 0] ctaid=[0, 0, 0]: negative"), refusal
    for wrong, kind, text in (
        (dict(cache=True), TypeError, "caching is not supported"),
        (dict(fastmath=True), KeyError, "fastmath"),
    ):
        try:
            vectorize(["float32(float32)"], target="cuda", **wrong)(lambda v: v)
        except kind as refusal:
            assert text in str(refusal), refusal
        else:
            raise AssertionError(wrong)
    assert type(norm2).__name__ == "CUDAUFuncDispatcher" and type(norm2).__module__.startswith("cudasim"), type(norm2)
    from numba.cuda.vectorizers import CUDAGUFuncVectorize, CUDAVectorize
    from numba.cuda.deviceufunc import GUFuncEngine
    assert cuda.vectorizers.CUDAVectorize is CUDAVectorize and cuda.deviceufunc.GUFuncEngine is GUFuncEngine
    assert cuda.vectorize(["int64(int64)"])(lambda v: v + 1)(np.arange(3)).tolist() == [1, 2, 3]
    print("done")
"""


def test_ufuncs_with_the_stand_in(run):
    done = run.script(PROGRAM, ENABLE_CUDASIM="1")
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("reported", ["0", "1"])
def test_ufuncs_beside_numba(run_with_numba, reported):
    done = run_with_numba.script(PROGRAM, ENABLE_CUDASIM="1", CUDASIM_REPORT_AS_SIMULATOR=reported)
    assert done.stdout == "done\n", done.stderr


def test_the_stand_in_has_no_other_targets(run):
    done = run.script(
        """
        from numba import guvectorize, vectorize
        assert vectorize(["float64(float64)"])(lambda x: x + 1)([1.0, 2.0]).tolist() == [2.0, 3.0]
        guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
        """,
        ENABLE_CUDASIM="1",
    )
    assert "NotImplementedError" in done.stderr and "target='cuda' only; install numba" in done.stderr, (
        done.stderr
    )

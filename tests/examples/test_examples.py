"""Every example is run as a user runs it, and its kernel is compared with NumPy on data of the test's own."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

KEPT = ("CUDASIM_CACHE_DIR", "CUDASIM_KEEP_IMAGES")  # set in tests/conftest.py

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def run(*arguments, cwd=None):
    environment = {key: value for key, value in os.environ.items() if "CUDASIM" not in key or key in KEPT}
    environment["ENABLE_CUDASIM"] = "1"
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )


def check(code):
    """Runs code in a Python of its own, with the examples importable and the switch on."""
    preamble = f"import sys; sys.path.insert(0, {str(EXAMPLES)!r})\nimport numpy as np\n"
    done = run("-c", preamble + textwrap.dedent(code))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name, last_line",
    [
        ("vector_add", "vector_add: 100000 elements, equal to NumPy's"),
        ("matmul", "matmul: 100 x 70 times 70 x 130, close to NumPy's"),
        ("reduction", "reduction: the sum is 49995000, equal to NumPy's"),
        ("histogram", "histogram: 10000 values in 64 bins, equal to NumPy's"),
        ("game_of_life", "game_of_life: after 80 generations the glider is 20 rows and 20 columns further"),
        ("n_body", "n_body: 500 bodies, 10 steps, the sum of all momenta stayed zero"),
        (
            "between_processes",
            "between_processes: the other process squared 500 of 1000 elements where they are",
        ),
        ("prefix_sum", "prefix_sum: 100000 values in three levels, equal to NumPy's"),
        ("heat_equation", "heat_equation: 500 steps of 2000 points in one launch, close to NumPy's"),
        ("interop", "interop: 1000 elements of another library scaled in place"),
        ("black_scholes", "black_scholes: 100000 options, calls minus puts equal stocks minus strikes"),
        (
            "normalise_vectors",
            "normalise_vectors: 10000 vectors of length 1, about 90 degrees from an axis on average",
        ),
        ("monte_carlo_pi", "monte_carlo_pi: 1536 threads with 10000 points each: 3.1417"),
        ("udf_columns", "udf_columns: 50000 rows, two columns computed, one repaired"),
    ],
)
def test_script_says_what_it_did(name, last_line):
    done = run(str(EXAMPLES / f"{name}.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == last_line


def test_every_example_has_a_test():
    text = pathlib.Path(__file__).read_text()
    assert all(path.stem in text for path in EXAMPLES.glob("*.py"))


def test_vector_add_equals_numpy():
    check("""
        from vector_add import vector_add
        for size in (1, 255, 256, 257, 5000):
            x, y = np.random.default_rng(size).random((2, size))
            assert np.array_equal(vector_add(x, y), x + y), size
    """)


def test_matmul_is_close_to_numpy():
    check("""
        from matmul import matmul
        random = np.random.default_rng(3)
        for rows, inner, columns in ((1, 1, 1), (16, 16, 16), (33, 47, 21)):
            a = random.random((rows, inner), dtype=np.float32)
            b = random.random((inner, columns), dtype=np.float32)
            np.testing.assert_allclose(matmul(a, b), a @ b, rtol=1e-4)
    """)


def test_reduction_equals_numpy():
    check("""
        from reduction import reduce_sum
        for size in (1, 256, 1000, 70001):
            x = np.random.default_rng(size).integers(-1000, 1000, size).astype(np.float64)
            assert reduce_sum(x) == x.sum(), size
    """)


def test_histogram_equals_numpy():
    check("""
        from histogram import histogram
        values = np.random.default_rng(5).normal(size=7777)
        expected, _ = np.histogram(values, bins=32, range=(-2.0, 2.0))
        assert np.array_equal(histogram(values, 32, -2.0, 2.0), expected)
    """)


def test_game_of_life_equals_numpy():
    check("""
        from game_of_life import play
        board = np.random.default_rng(8).integers(0, 2, (37, 50)).astype(np.uint8)
        expected = board
        for _ in range(12):
            alive = sum(
                np.roll(expected, (down, right), axis=(0, 1))
                for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right
            )
            expected = ((alive == 3) | ((alive == 2) & (expected == 1))).astype(np.uint8)
        assert np.array_equal(play(board, 12), expected)
    """)


def test_n_body_is_close_to_numpy():
    check("""
        from n_body import simulate, SOFTENING
        random = np.random.default_rng(9)
        positions = random.normal(size=(150, 3)).astype(np.float32)
        velocities = random.normal(size=(150, 3)).astype(np.float32)
        masses = random.random(150, dtype=np.float32)
        x, v = positions.astype(np.float64), velocities.astype(np.float64)
        for _ in range(3):
            apart = x[None, :, :] - x[:, None, :]
            cubed = ((apart**2).sum(axis=2) + float(SOFTENING)) ** 1.5
            v = v + 1e-3 * (masses[None, :, None] * apart / cubed[:, :, None]).sum(axis=1)
            x = x + 1e-3 * v
        found = simulate(positions, velocities, masses, 3, 1e-3)
        np.testing.assert_allclose(found[0], x, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found[1], v, rtol=1e-3, atol=1e-3)
    """)


def test_prefix_sum_equals_numpy():
    check("""
        from numba import cuda
        from prefix_sum import prefix_sum
        for size in (1, 31, 256, 257, 5000, 70000):
            values = np.random.default_rng(size).integers(-(2**40), 2**40, size)
            assert np.array_equal(prefix_sum(cuda.to_device(values)).copy_to_host(), np.cumsum(values)), size
    """)


def test_interop_scales_the_other_librarys_memory():
    check("""
        from interop import scaled
        values = np.random.default_rng(10).random(777)
        assert np.array_equal(scaled(values, -3.5), values * -3.5)
    """)


def test_black_scholes_equals_the_formula():
    check("""
        import math
        from black_scholes import option_prices
        random = np.random.default_rng(11)
        price, strike, years = random.uniform(5, 30, 500), random.uniform(1, 100, 500), random.uniform(0.25, 10, 500)
        calls, puts = option_prices(price, strike, years, 0.03, 0.2)
        cdf = np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))))
        spread = 0.2 * np.sqrt(years)
        d1 = (np.log(price / strike) + (0.03 + 0.02) * years) / spread
        discount = strike * np.exp(-0.03 * years)
        np.testing.assert_allclose(calls, price * cdf(d1) - discount * cdf(d1 - spread), atol=1e-12)
        np.testing.assert_allclose(puts, discount * cdf(spread - d1) - price * cdf(-d1), atol=1e-12)
    """)


def test_monte_carlo_pi_counts_the_points_of_its_generators():
    check("""
        import monte_carlo_pi
        from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
        monte_carlo_pi.BLOCKS, monte_carlo_pi.THREADS = 1, 20
        states = create_xoroshiro128p_states(20, seed=9).copy_to_host()
        points = np.array([[xoroshiro128p_uniform_float32(states, i) for _ in range(40)] for i in range(20)])
        inside = np.count_nonzero((points.reshape(-1, 2).astype(np.float32) ** 2).sum(axis=1) <= 1)
        assert monte_carlo_pi.estimate_pi(20, seed=9) == 4 * inside / 400
    """)


def test_normalise_vectors_equals_numpy():
    check("""
        from normalise_vectors import angles_with, normalise
        for dtype in (np.float32, np.float64):
            vectors = np.random.default_rng(12).normal(size=(30, 40, 5)).astype(dtype)
            result = normalise(vectors)
            assert result.dtype == dtype
            np.testing.assert_allclose(result, vectors / np.linalg.norm(vectors, axis=2)[..., None], rtol=1e-5)
        vectors, direction = np.random.default_rng(13).normal(size=(100, 4)), np.array([1.0, 2.0, 3.0, 4.0])
        cosines = vectors @ direction / np.linalg.norm(vectors, axis=1) / np.linalg.norm(direction)
        np.testing.assert_allclose(angles_with(vectors, direction), np.arccos(cosines))
    """)


def test_udf_columns_equal_numpy():
    check("""
        from udf_columns import EARTH_RADIUS, Table, distance, fahrenheit, where_missing
        random = np.random.default_rng(14)
        latitude, longitude = random.uniform(-90, 90, 777), random.uniform(-180, 180, 777)
        broken = random.random(777) < 0.5
        table = Table(latitude=latitude, longitude=longitude, broken=broken)
        table.compute(fahrenheit, "warm", "latitude")
        table.compute(where_missing, "filled", "latitude", "broken", -1.0)
        table.compute(distance, "far", "latitude", "longitude", 10.0, 20.0)
        np.testing.assert_allclose(table["warm"], latitude * 1.8 + 32)
        assert np.array_equal(table["filled"], np.where(broken, -1.0, latitude))
        def unit(latitude, longitude):
            phi, theta = np.radians(latitude), np.radians(longitude)
            return np.array([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi) + 0 * theta])
        expected = EARTH_RADIUS * np.arccos(unit(10.0, 20.0) @ unit(latitude, longitude))
        np.testing.assert_allclose(table["far"], expected, rtol=1e-6)
    """)


def test_mandelbrot_equals_numpy():
    check("""
        from mandelbrot import mandelbrot
        limit, rows, columns = 60, 40, 50
        step = 3.0 / columns
        real = -2.0 + np.arange(columns)[None, :] * step + np.zeros((rows, 1))
        imaginary = -1.0 + np.arange(rows)[:, None] * step + np.zeros((1, columns))
        x = np.zeros((rows, columns)); y = np.zeros((rows, columns))
        expected = np.full((rows, columns), limit)
        for i in range(limit):
            out = (expected == limit) & (x * x + y * y > 4.0)
            expected[out] = i
            x, y = np.where(expected < limit, (x, y), (x * x - y * y + real, 2.0 * x * y + imaginary))
        assert np.array_equal(mandelbrot(rows, columns, limit), expected)
    """)


def test_julia_set_equals_numpy():
    check("""
        from julia_set import julia_set
        c, limit, rows, columns = -0.8 + 0.156j, 60, 30, 50
        step = 3.0 / columns
        z = (-1.5 - 1.0j) + (np.arange(columns)[None, :] * step + 1j * (np.arange(rows)[:, None] * step))
        expected = np.full((rows, columns), limit)
        for i in range(limit):
            out = (expected == limit) & (z.real * z.real + z.imag * z.imag > 4.0)
            expected[out] = i
            z = np.where(expected < limit, z, z * z + c)
        assert np.array_equal(julia_set(c, rows, columns, limit), expected)
        assert len(np.unique(expected)) > 10
    """)


def test_convolution_is_close_to_numpy():
    pytest.importorskip("matplotlib")
    check("""
        from convolution import blur, gaussian, RADIUS
        picture = np.random.default_rng(7).random((45, 70), dtype=np.float32)
        padded = np.pad(picture, RADIUS, mode="edge")
        weights = gaussian()
        expected = sum(
            weights[i, j] * padded[i : i + 45, j : j + 70] for i in range(5) for j in range(5)
        )
        np.testing.assert_allclose(blur(picture), expected, rtol=1e-5)
    """)


def test_convolution_saves_the_blurred_photograph(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    done = run(str(EXAMPLES / "convolution.py"), "--output", str(tmp_path / "out.png"))
    assert done.returncode == 0, done.stderr
    assert image.imread(tmp_path / "out.png").shape == (600, 512, 4)


def test_the_off_by_one_is_reported_at_its_line(tmp_path):
    pytest.importorskip("matplotlib")
    done = run(str(EXAMPLES / "convolution.py"), "--off-by-one", "--output", str(tmp_path / "out.png"))
    assert done.returncode != 0
    lines = (EXAMPLES / "convolution.py").read_text().splitlines()
    faulty = max(number for number, line in enumerate(lines, 1) if line.strip() == "out[row, column] = total")
    assert f'convolution.py", line {faulty}, in convolve_off_by_one' in done.stderr
    # The lowest (block, thread) outside the 600 x 512 picture: block [37, 0, 0] reaches row 600.
    expected = (
        "IndexError: tid=[8, 0, 0] ctaid=[37, 0, 0]: index 600 is out of bounds for axis 0 with size 600"
    )
    assert expected in done.stderr
    assert not (tmp_path / "out.png").exists()


def test_heat_equation_equals_numpy():
    check("""
        from heat_equation import heat_equation
        for size, steps in ((2, 3), (3, 1), (128, 50), (1001, 51)):
            rod = np.random.default_rng(size).random(size)
            expected = rod.copy()
            for _ in range(steps):
                expected[1:-1] = expected[1:-1] + 0.3 * (expected[:-2] - 2.0 * expected[1:-1] + expected[2:])
            assert np.allclose(heat_equation(rod, steps, 0.3), expected), size
    """)

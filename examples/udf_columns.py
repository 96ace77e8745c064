"""Columns of a table computed by user-defined functions, each a kernel with one thread per row, launched by forall().

ENABLE_CUDASIM=1 python examples/udf_columns.py
"""

import math

import numpy as np
from numba import cuda

EARTH_RADIUS = 6371.0  # km


@cuda.jit
def fahrenheit(celsius, out):
    row = cuda.grid(1)
    if row < out.size:
        out[row] = celsius[row] * 1.8 + 32.0


@cuda.jit
def distance(latitude, longitude, latitude_to, longitude_to, out):
    row = cuda.grid(1)
    if row < out.size:
        phi, phi_to = math.radians(latitude[row]), math.radians(latitude_to)
        half_north = math.sin((phi_to - phi) / 2)
        half_east = math.sin(math.radians(longitude_to - longitude[row]) / 2)
        chord = half_north * half_north + math.cos(phi) * math.cos(phi_to) * half_east * half_east
        out[row] = 2 * EARTH_RADIUS * math.asin(math.sqrt(chord))


@cuda.jit
def where_missing(column, missing, replacement, out):
    row = cuda.grid(1)
    if row < out.size:
        out[row] = replacement if missing[row] else column[row]


class Table:
    """Columns by name, in device memory."""

    def __init__(self, **columns):
        self.columns = {name: cuda.to_device(values) for name, values in columns.items()}

    def compute(self, function, name, *arguments, dtype=np.float64):
        """Adds a column: the function of the arguments, which are numbers or the names of columns."""
        given = [self.columns.get(value, value) if isinstance(value, str) else value for value in arguments]
        rows = len(next(iter(self.columns.values())))
        out = cuda.device_array(rows, dtype=dtype)
        function.forall(rows)(*given, out)
        self.columns[name] = out

    def __getitem__(self, name):
        return self.columns[name].copy_to_host()


def main():
    random = np.random.default_rng(6)
    rows = 50_000
    stations = Table(
        latitude=random.uniform(-90, 90, rows),
        longitude=random.uniform(-180, 180, rows),
        celsius=random.normal(15, 10, rows),
        broken=random.random(rows) < 0.1,
    )
    stations.compute(where_missing, "celsius", "celsius", "broken", 0.0)
    stations.compute(fahrenheit, "fahrenheit", "celsius")
    stations.compute(distance, "to_paris", "latitude", "longitude", 48.857, 2.352)
    assert np.allclose(stations["fahrenheit"], stations["celsius"] * 1.8 + 32)
    assert stations["to_paris"].max() <= math.pi * EARTH_RADIUS
    print(f"udf_columns: {rows} rows, two columns computed, one repaired")


if __name__ == "__main__":
    main()

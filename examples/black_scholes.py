"""Prices of European options after Black and Scholes: a ufunc of the CUDA target, called with arrays and numbers.

ENABLE_CUDASIM=1 python examples/black_scholes.py
"""

import math

import numpy as np
from numba import cuda, vectorize


@cuda.jit(device=True)
def normal_distribution(x):
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@vectorize(["float64(float64, float64, float64, float64, float64)"], target="cuda")
def call_price(price, strike, years, rate, volatility):
    spread = volatility * math.sqrt(years)
    d1 = (math.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    discounted = strike * math.exp(-rate * years)
    return price * normal_distribution(d1) - discounted * normal_distribution(d1 - spread)


@vectorize(["float64(float64, float64, float64, float64, float64)"], target="cuda")
def put_price(call, price, strike, years, rate):
    return call - price + strike * math.exp(-rate * years)


def option_prices(price, strike, years, rate, volatility):
    """(calls, puts); the calls stay on the device until the puts are there."""
    on_device = [cuda.to_device(values) for values in (price, strike, years)]
    calls = call_price(*on_device, rate, volatility)
    puts = put_price(calls, *on_device, rate)
    return calls.copy_to_host(), puts.copy_to_host()


def main():
    random = np.random.default_rng(1)
    price, strike = random.uniform(5, 30, 100_000), random.uniform(1, 100, 100_000)
    years = random.uniform(0.25, 10, 100_000)
    calls, puts = option_prices(price, strike, years, 0.02, 0.3)
    assert np.allclose(calls - puts, price - strike * np.exp(-0.02 * years))
    print("black_scholes: 100000 options, calls minus puts equal stocks minus strikes")


if __name__ == "__main__":
    main()

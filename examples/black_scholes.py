"""Prices of European options: logarithms, exponentials and a polynomial, all element by element."""

import numpy as np

import pyasc


def normal_cdf(x):
    """The polynomial of Abramowitz and Stegun, 26.2.17."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = tail * np.exp(-0.5 * x * x) * 0.3989422804014327
    return np.where(x >= 0.0, 1.0 - tail, tail)


@pyasc.jit
def black_scholes(price, strike, years, rate, volatility):
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = price * normal_cdf(d1) - discounted * normal_cdf(d2)
    put = call + discounted - price
    return call, put


def make_args(n=100_000):
    rng = np.random.default_rng(3)
    price, strike = rng.uniform(10.0, 50.0, n), rng.uniform(10.0, 50.0, n)
    return price, strike, rng.uniform(0.5, 2.0, n), 0.03, rng.uniform(0.1, 0.5, n)


if __name__ == "__main__":
    call, put = black_scholes(*make_args())
    print("mean call", call.mean(), "mean put", put.mean())
    black_scholes.wait()
    print(black_scholes.explain())

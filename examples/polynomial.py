"""A chain of plain arithmetic: sin(x) by its series, Horner's rule as a loop over a tuple."""

import numpy as np

import pyasc

COEFFICIENTS = tuple((-1.0) ** k / float(np.prod(np.arange(1.0, 2 * k + 2))) for k in range(8))


@pyasc.jit
def polynomial(x):
    square = x * x
    total = COEFFICIENTS[-1]
    for coefficient in COEFFICIENTS[-2::-1]:
        total = total * square + coefficient
    return total * x


def make_args(n=100_000):
    return (np.linspace(-3.0, 3.0, n),)


if __name__ == "__main__":
    (x,) = make_args()
    print("largest difference to numpy.sin", np.abs(polynomial(x) - np.sin(x)).max())
    polynomial.wait()
    print(polynomial.explain())

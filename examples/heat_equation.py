"""Heat on a plate: slices, a loop over time steps, the array changed in place."""

import numpy as np

import pyasc


@pyasc.jit
def heat_equation(plate, rate, steps):
    for _ in range(steps):
        plate[1:-1, 1:-1] = plate[1:-1, 1:-1] + rate * (
            plate[2:, 1:-1] + plate[:-2, 1:-1] + plate[1:-1, 2:] + plate[1:-1, :-2]
            - 4.0 * plate[1:-1, 1:-1]
        )
    return plate


def make_args(n=300, steps=10):
    plate = np.zeros((n, n))
    plate[0] = 100.0
    plate[:, 0] = 50.0
    plate[n // 3:n // 2, n // 3:n // 2] = 20.0
    return plate, 0.2, steps


if __name__ == "__main__":
    plate = heat_equation(*make_args(steps=50))
    print("mean temperature", plate.mean())
    heat_equation.wait()
    print(heat_equation.explain())

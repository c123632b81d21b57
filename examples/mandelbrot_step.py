"""One step of the Mandelbrot iteration: complex numbers, a mask, and a count changed in place."""

import numpy as np

import pyasc


@pyasc.jit
def mandelbrot_step(z, c, count):
    inside = z.real * z.real + z.imag * z.imag <= 4.0
    count += inside
    return np.where(inside, z * z + c, z)


def make_args(width=480, height=320, steps=6):
    x, y = np.linspace(-2.0, 0.6, width), np.linspace(-1.1, 1.1, height)
    c = x[None, :] + 1j * y[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    for _ in range(steps):
        z = mandelbrot_step.__wrapped__(z, c, count)
    return z, c, count


if __name__ == "__main__":
    z, c, count = make_args(width=64, height=24)
    for _ in range(40):
        z = mandelbrot_step(z, c, count)
    for row in count:
        print("".join(" .:-=+*#%@"[min(n // 5, 9)] for n in row))
    mandelbrot_step.wait()
    print(mandelbrot_step.explain())

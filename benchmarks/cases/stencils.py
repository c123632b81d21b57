"""Shifted slices of one array."""

import numpy as np


def three_point(x):
    return 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]


def five_point(a):
    return 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def box_blur(a):
    rows = a[:-2] + a[1:-1] + a[2:]
    return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 9.0


def diffuse(u):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


def smooth(x):
    x[1:] = (x[1:] + x[:-1]) * 0.5


def jacobi_2d(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[:-2, 1:-1] + b[2:, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:])


def horizontal_diffusion(field, weight):
    lap = 4.0 * field[1:-1, 1:-1] - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    x = np.where(x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0.0, x)
    y = lap[1:-1, 1:] - lap[1:-1, :-1]
    y = np.where(y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0.0, y)
    return field[2:-2, 2:-2] - weight * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1])


def cases():
    rng = np.random.default_rng(2)
    yield "three_point 100000", three_point, (rng.random(100_000),)
    for n in (64, 1024):
        yield f"five_point {n}", five_point, (rng.random((n, n)),)
    yield "five_point float32 1024", five_point, (rng.random((1024, 1024)).astype("float32"),)
    yield "box_blur 512", box_blur, (rng.random((512, 512)),)
    for n in (256, 2000):
        yield f"diffuse in place {n}", diffuse, (rng.random((n, n)),)
    for n in (100_000, 10_000_000):
        yield f"smooth in place {n}", smooth, (rng.random(n),)
    yield "jacobi_2d 150, 10 steps", jacobi_2d, (rng.random((150, 150)), rng.random((150, 150)), 10)
    yield "horizontal_diffusion 256", horizontal_diffusion, (rng.random((256, 256)), 0.05)

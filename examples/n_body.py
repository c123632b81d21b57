"""Gravity between all pairs of bodies, a few leapfrog steps: a Python loop around a helper."""

import numpy as np

import pyasc

SOFTENING = 0.1


def acceleration(position, mass):
    x, y, z = position[:, 0:1], position[:, 1:2], position[:, 2:3]
    dx, dy, dz = x.T - x, y.T - y, z.T - z
    r2 = dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING
    pull = 1.0 / (r2 * np.sqrt(r2))
    return np.hstack(((dx * pull) @ mass, (dy * pull) @ mass, (dz * pull) @ mass))


@pyasc.jit
def n_body(position, velocity, mass, dt, steps):
    now = acceleration(position, mass)
    for _ in range(steps):
        velocity = velocity + now * (0.5 * dt)
        position = position + velocity * dt
        now = acceleration(position, mass)
        velocity = velocity + now * (0.5 * dt)
    return position, velocity


def make_args(n=400, steps=5):
    rng = np.random.default_rng(2)
    position, velocity = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    return position, velocity, rng.uniform(0.5, 1.5, (n, 1)) / n, 0.01, steps


if __name__ == "__main__":
    position, velocity = n_body(*make_args())
    print("centre", position.mean(axis=0), "mean speed", np.abs(velocity).mean())
    n_body.wait()
    print(n_body.explain())

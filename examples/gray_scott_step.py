"""One step of the Gray-Scott reaction: a five-point stencil of two fields, updated in place."""

import numpy as np

import pyasc


@pyasc.jit
def gray_scott_step(u, v, feed, kill):
    lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
    lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4.0 * v[1:-1, 1:-1]
    uc, vc = u[1:-1, 1:-1], v[1:-1, 1:-1]
    reaction = uc * vc * vc
    uc += 0.16 * lu - reaction + feed * (1.0 - uc)
    vc += 0.08 * lv + reaction - (feed + kill) * vc


def make_args(n=256):
    rng = np.random.default_rng(4)
    u, v = np.ones((n, n)), np.zeros((n, n))
    middle = slice(n // 2 - n // 10, n // 2 + n // 10)
    u[middle, middle], v[middle, middle] = 0.5, 0.25
    u += 0.01 * rng.random((n, n))
    v += 0.01 * rng.random((n, n))
    return u, v, 0.06, 0.062


if __name__ == "__main__":
    u, v, feed, kill = make_args()
    for _ in range(200):
        gray_scott_step(u, v, feed, kill)
    print("mean u", u.mean(), "mean v", v.mean())
    gray_scott_step.wait()
    print(gray_scott_step.explain())

"""Small programs: loops, helpers, matrix products, in-place updates."""

import numpy as np


def relu(x):
    return np.maximum(x, 0.0)


def mlp(x, w1, b1, w2, b2):
    return relu(relu(x @ w1 + b1) @ w2 + b2)


def update_matrix(a, u, v, w, x):
    a = a + np.outer(u, v) + np.outer(v, w)
    y = 1.5 * (x @ a) + u
    return a, y, 1.2 * (a @ y)


def correlation(data):
    centred = data - data.mean(axis=0)
    spread = np.sqrt((centred * centred).mean(axis=0))
    centred = centred / np.where(spread <= 0.1, 1.0, spread)
    return centred.T @ centred / len(data)


def wave_2d(now, before, speed, steps):
    for _ in range(steps):
        after = 2.0 * now - before
        after[1:-1, 1:-1] += speed * (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4.0 * now[1:-1, 1:-1])
        before, now = now, after
    return now


def arc_distance(a1, b1, a2, b2):
    half = np.sin((a2 - a1) / 2) ** 2 + np.cos(a1) * np.cos(a2) * np.sin((b2 - b1) / 2) ** 2
    return 2.0 * np.arctan2(np.sqrt(half), np.sqrt(1.0 - half))


def newton_roots(a, steps):
    x = 0.5 * (a + 1.0)
    for _ in range(steps):
        x = 0.5 * (x + a / x)
    return x


def gradient_descent(points, target, weight, rate, steps):
    for _ in range(steps):
        error = points @ weight - target
        weight = weight - rate * (points.T @ error) / len(target)
    return weight


def adam(weight, gradient, mean, square):
    mean *= 0.9
    mean += 0.1 * gradient
    square *= 0.999
    square += 0.001 * gradient * gradient
    weight -= 0.001 * (mean / 0.1) / (np.sqrt(square / 0.001) + 1e-8)


def cases():
    rng = np.random.default_rng(5)
    yield "mlp 64x256x256", mlp, (rng.random((64, 256)), rng.random((256, 256)), rng.random(256),
                                  rng.random((256, 64)), rng.random(64))
    yield "update_matrix 400", update_matrix, (rng.random((400, 400)), *rng.random((4, 400)))
    yield "correlation 1000x100", correlation, (rng.random((1000, 100)),)
    yield "wave_2d 200, 10 steps", wave_2d, (rng.random((200, 200)), rng.random((200, 200)), 0.1, 10)
    yield "arc_distance 100000", arc_distance, tuple(rng.random((4, 100_000)))
    yield "newton_roots 10000, 8 steps", newton_roots, (rng.random(10_000) + 0.5, 8)
    yield "gradient_descent 2000x20, 10 steps", gradient_descent, (
        rng.random((2000, 20)), rng.random(2000), np.zeros(20), 0.1, 10)
    yield "adam 100000", adam, tuple(rng.random((4, 100_000)))

"""Long loops as they are in notebooks: histories in lists, random numbers, branches on values, iterations until they converge."""

import math
import random

import numpy as np


def noisy_oscillators(x, steps, seed):
    rng = np.random.default_rng(seed)
    spikes, levels = [], []
    for t in range(steps):
        x = x + 0.1 * (np.cos(x) - x) + 0.01 * rng.normal(size=x.size)
        level = np.abs(x).max()
        if level > 0.9:
            spikes.append(t)
            x = x * 0.5
        levels.append(level)
    return x, spikes, levels


def kalman_filter(measured):
    x, spread = np.zeros(2), np.eye(2)
    step, seen = np.array([[1, 0.1], [0, 1]]), np.array([[1.0, 0]])
    noise, error = np.eye(2) * 0.01, np.array([[0.1]])
    path = []
    for z in measured:
        x = step @ x
        spread = step @ spread @ step.T + noise
        gain = spread @ seen.T @ np.linalg.inv(seen @ spread @ seen.T + error)
        x = x + gain @ (z - seen @ x)
        spread = (np.eye(2) - gain @ seen) @ spread
        path.append(x.copy())
    return np.array(path)


def logistic_regression(points, labels, steps):
    weight, losses = np.zeros(points.shape[1]), []
    for k in range(steps):
        p = 1 / (1 + np.exp(-(points @ weight)))
        weight = weight - 0.1 * (points.T @ (p - labels)) / len(labels)
        if k % 10 == 0:
            losses.append(float(np.mean((p - labels) ** 2)))
    return weight, losses


def pendulum(t, y):
    return np.array([y[1], -np.sin(y[0])])


def runge_kutta(steps, h):
    y, t = np.array([1.0, 0.0]), 0.0
    times, path = [], []
    for _ in range(steps):
        k1 = pendulum(t, y)
        k2 = pendulum(t + h / 2, y + h / 2 * k1)
        k3 = pendulum(t + h / 2, y + h / 2 * k2)
        k4 = pendulum(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
        times.append(t)
        path.append(y)
    return np.array(times), np.array(path)


def particle_swarm(steps, seed):
    rng = np.random.default_rng(seed)
    x = rng.random((30, 4)) * 4 - 2
    v, best = np.zeros_like(x), x.copy()
    values = (x**2).sum(1)
    leader = best[values.argmin()].copy()
    for _ in range(steps):
        r1, r2 = rng.random((2, 30, 4))
        v = 0.7 * v + 1.5 * r1 * (best - x) + 1.5 * r2 * (leader - x)
        x = x + v
        now = (x**2).sum(1)
        better = now < values
        best[better] = x[better]
        values[better] = now[better]
        leader = best[values.argmin()].copy()
    return leader, values.min()


def conjugate_gradients(a, b, tolerance):
    x = np.zeros_like(b)
    r = b - a @ x
    p, old, k = r.copy(), r @ r, 0
    while np.sqrt(old) > tolerance:
        q = a @ p
        alpha = old / (p @ q)
        x = x + alpha * p
        r = r - alpha * q
        new = r @ r
        p = r + new / old * p
        old, k = new, k + 1
    return x, k


def waves(steps):
    u, v = np.zeros(200), np.zeros(200)
    u[90:110] = 1
    frames = []
    for t in range(steps):
        bend = np.zeros_like(u)
        bend[1:-1] = u[2:] - 2 * u[1:-1] + u[:-2]
        v = v + 0.1 * bend
        u = u + 0.1 * v
        if t % 50 == 0:
            frames.append(u.copy())
    return u, frames


def segregation(grid, steps, seed):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        empty, taken = np.argwhere(grid == 0), np.argwhere(grid != 0)
        one, place = taken[rng.integers(len(taken))], empty[rng.integers(len(empty))]
        grid[tuple(place)] = grid[tuple(one)]
        grid[tuple(one)] = 0
    return grid


def statistics_of_positive(x):
    some = x[x > 0]
    return some.mean(), some.std(), x[x < 0].sum(), np.max(x[x < 1])


def ring_buffer(buffer, x, step):
    at = step % len(buffer)
    buffer[at] = x.sum()
    return buffer.mean() + buffer[at] * 2


def ising(spins, beta, steps, seed):
    np.random.seed(seed)
    n = spins.shape[0]
    for _ in range(steps):
        i, j = np.random.randint(0, n), np.random.randint(0, n)
        cost = 2 * spins[i, j] * (spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1])
        if cost <= 0 or np.random.rand() < np.exp(-beta * cost):
            spins[i, j] = -spins[i, j]
    return spins.sum()


def area_of_a_circle(steps, seed):
    random.seed(seed)
    inside = 0
    for _ in range(steps):
        x, y = random.random(), random.random()
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / steps


def mean_reverting(seed, steps, dt):
    rng, y = np.random.default_rng(seed), np.empty(steps)
    y[0] = 1.0
    for i in range(1, steps):
        y[i] = y[i - 1] + 0.5 * (1 - y[i - 1]) * dt + 0.3 * math.sqrt(dt) * rng.standard_normal()
    return y


def metropolis(seed, steps, width):
    rng, chain, x, lp = np.random.default_rng(seed), np.empty(steps), 0.0, 0.0
    for i in range(steps):
        new = x + rng.normal(0.0, width)
        lp_new = -0.5 * new * new
        if math.log(rng.random()) < lp_new - lp:
            x, lp = new, lp_new
        chain[i] = x
    return chain.mean(), chain.std()


def permutation_test(a, b, tries, seed):
    rng, both, n = np.random.default_rng(seed), np.concatenate((a, b)), len(a)
    seen, above = abs(a.mean() - b.mean()), 0
    for _ in range(tries):
        p = rng.permutation(both)
        if abs(p[:n].mean() - p[n:].mean()) >= seen:
            above += 1
    return above / tries


def wanderers(steps, seed):
    rng, x, far = np.random.default_rng(seed), np.zeros(3), 0.0
    for _ in range(steps):
        x += rng.normal(0.0, 0.1, size=3)
        far = max(far, x[0] ** 2 + x[1] ** 2 + x[2] ** 2)
    return x, far


def sampled_slope(x, y, steps, seed):
    def likelihood(slope, noise):
        return -0.5 * (((y - slope * x) / noise) ** 2).sum() - len(x) * math.log(noise)
    rng, slope, noise, chain = np.random.default_rng(seed), 0.0, 1.0, []
    current = likelihood(slope, noise)
    for _ in range(steps):
        s, n = slope + 0.1 * rng.standard_normal(), noise * math.exp(0.1 * rng.standard_normal())
        new = likelihood(s, n)
        if math.log(rng.random()) < new - current:
            slope, noise, current = s, n, new
        chain.append((slope, noise))
    return np.array(chain).mean(axis=0)


def cases():
    rng = np.random.default_rng(3)
    square = rng.random((40, 40))
    yield "noisy_oscillators 50, 2000 steps", noisy_oscillators, (np.ones(50), 2000, 1)
    yield "kalman_filter 400", kalman_filter, (rng.random((400, 1)),)
    yield "logistic_regression 100x5, 600 steps", logistic_regression, (rng.random((100, 5)), (rng.random(100) > 0.5) * 1.0, 600)
    yield "runge_kutta 500", runge_kutta, (500, 0.01)
    yield "particle_swarm 400", particle_swarm, (400, 1)
    yield "conjugate_gradients 40", conjugate_gradients, (square @ square.T + 40 * np.eye(40), rng.random(40), 1e-10)
    yield "waves 200, 1500 steps", waves, (1500,)
    yield "segregation 12x12, 300 moves", segregation, (rng.integers(0, 3, (12, 12)), 300, 1)
    yield "statistics_of_positive 500", statistics_of_positive, (rng.standard_normal(500),)
    yield "ring_buffer 64", ring_buffer, (np.zeros(64), rng.random(50), 7)
    yield "ising 32x32, 5000 steps", ising, (np.where(rng.random((32, 32)) < 0.5, 1, -1), 0.4, 5000, 1)
    yield "area_of_a_circle 20000", area_of_a_circle, (20_000, 1)
    yield "mean_reverting 5000", mean_reverting, (1, 5000, 0.01)
    yield "metropolis 5000", metropolis, (2, 5000, 0.8)
    yield "permutation_test 60, 300 tries", permutation_test, (rng.random(30), rng.random(30) + 0.1, 300, 4)
    yield "wanderers 2000", wanderers, (2000, 5)
    yield "sampled_slope 50, 500 steps", sampled_slope, (np.linspace(0, 1, 50), np.linspace(0, 2, 50) + 0.1 * rng.random(50), 500, 6)

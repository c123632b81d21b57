"""Loops whose code is not there yet: the call goes on in Python, and asks for the code of all of them."""
import numpy as np

import pyasc


def four_loops(x, y):
    for j in range(1, x.shape[1]):
        y[:, j] = x[:, j] + 0.5 * y[:, j - 1]
    for j in range(1, x.shape[1]):
        y[:, j] = x[:, j] + 0.25 * y[:, j - 1]
    z = np.empty_like(x)
    z[:, 0] = 1
    for j in range(1, x.shape[1]):
        z[:, j] = y[:, j] + 0.75 * z[:, j - 1]
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += z[i, j] * y[i, j]
    return z, s


def one_in_another(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        row = [float(v) for v in x[i]]  # no loop of the nest compiler
        for j in range(x.shape[1]):
            total += row[j] * y[i, j]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] += total * x[i, j]
    return total, y


def test_all_at_once(tmp_path):
    x = np.random.default_rng(0).random((300, 60))
    with pyasc.options(cache_dir=str(tmp_path)):
        for plain in (four_loops, one_in_another):
            compiled = pyasc.jit(plain)
            for call in range(3):
                a, b = x.copy(), x.copy()
                got, expected = compiled(x, a), plain(x, b)
                assert np.array_equal(a, b)
                assert all(np.array_equal(g, e) for g, e in zip(got, expected))
                compiled.wait()
                if call and plain is four_loops:
                    assert not compiled.report()["fallback"], (call, compiled.report()["reasons"])


def masked_means(x, y, n):
    means = np.zeros(n)
    for i in range(n):
        mask = np.logical_and(i / n <= y, y < (i + 1) / n)
        means[i] = x[mask].mean()
    return means


def test_a_first_call_waits_for_what_takes_long(tmp_path):
    """Be it for the turns or for the arrays."""
    x, y = np.random.default_rng(0).random((2, 100000))
    with pyasc.options(cache_dir=str(tmp_path)):
        for n, plans in ((3, 0), (2000, 1)):
            compiled = pyasc.jit(masked_means)
            assert np.allclose(compiled(x, y, n), masked_means(x, y, n), rtol=1e-12)
            assert compiled.explain().count("compiled loop") == plans

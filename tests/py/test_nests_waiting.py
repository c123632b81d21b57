"""Loops whose code is not there yet: the call goes on in Python, and asks for the code of all of them."""
import time

import numpy as np

import pyasc
from same import outcome


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


def turns_of(x, y, n):
    s, out = 0.0, np.zeros(len(x))
    for i in range(n):
        for j in range(len(x)):
            if x[j] > y[j]:
                s += x[j] * i
                last = j
            else:
                out[j] += y[j]
    return s, out, last, x is y, type(x[0])


def turns_that_return(x, y, n):
    for i in range(n):
        for j in range(len(x)):
            if x[j] == y[i]:
                return i, j
            x[j] += 1e-9
    return x


def turns_that_raise(x, y, n):
    caught = i = None
    try:
        for i in range(n):
            for j in range(len(x) + (i == n - 1)):
                x[j] += y[j]
    except IndexError as error:
        caught = str(error), i, j
    return caught, x


def turns_that_bind_nothing(x, y, n):
    for i in range(0 * n, len(x) * n):
        if x[i % len(x)] > 7:
            never = i
    try:
        return never
    except UnboundLocalError:
        return "never", i


def turns_with_others(x, y, n):
    rows, pair, names = [x, y], (x, 1.0), {"x": x}
    same = rows[0]
    for i in range(n):
        for j in range(len(x)):
            rows[0][j] += rows[1][j] * pair[1]
            names["x"][j] -= 1e-3
    return rows, same is x, pair[0] is x


def test_what_a_call_does_while_it_waits(tmp_path):
    """The loop runs as it is written, with the values of its names: the first call is the one that does."""
    for turn, plain in enumerate((turns_of, turns_that_return, turns_that_raise, turns_that_bind_nothing, turns_with_others)):
        with pyasc.options(cache_dir=str(tmp_path / str(turn))):
            x, y = np.random.default_rng(0).random((2, 100))
            a, b = x.copy(), x.copy()
            assert outcome(pyasc.jit(plain), a, y, 40) == outcome(plain, b, y, 40), plain.__name__
            assert np.array_equal(a, b)


def test_a_first_call_is_not_much_slower(tmp_path):
    def table(x, y):
        d = np.zeros((len(x) + 1, len(y) + 1))
        for i in range(1, len(x) + 1):
            for j in range(1, len(y) + 1):
                d[i, j] = abs(x[i - 1] - y[j - 1]) + min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
        return d[-1, -1]

    x, y = np.random.default_rng(0).random((2, 250))
    pyasc.jit(np.negative)(x)
    ratios = []
    for turn in range(5):
        with pyasc.options(cache_dir=str(tmp_path / str(turn))):
            times = [time.thread_time()]
            for call in (table, pyasc.jit(table)):
                call(x, y)
                times.append(time.thread_time())
            ratios.append((times[2] - times[1]) / (times[1] - times[0]))
    assert min(ratios) < 1.8  # with the hooks it is 3


def sieve(n):
    flags = np.ones(n + 1, dtype=np.bool_)
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return flags


def roots(a):
    out = np.zeros(len(a))
    for i in range(len(a)):
        x = a[i]
        for k in range(1000):
            step = x * x - a[i]
            if abs(step) < 1e-12:
                break
            x = x - step / (2 * x)
        out[i] = x
    return out


def test_a_first_call_does_not_wait_for_what_is_soon_done(tmp_path):
    """Loops that are left early, and `while`, are not taken to have all the turns that they may have."""
    for turn, (function, argument) in enumerate(((sieve, 30000), (roots, np.linspace(1, 50, 300)))):
        with pyasc.options(cache_dir=str(tmp_path / str(turn))):
            compiled = pyasc.jit(function)
            assert np.array_equal(compiled(argument), function(argument))
            assert "compiled loop" not in compiled.explain()
            compiled.wait()
            assert np.array_equal(compiled(argument), function(argument))
            assert "compiled loop" in compiled.explain()

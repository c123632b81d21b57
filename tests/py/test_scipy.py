"""SciPy inside of traced functions: its ufuncs are calls, pure functions as well, the rest runs plain."""

import numpy as np
import pytest

import pyasc
from same import freeze

scipy = pytest.importorskip("scipy")
import scipy.fft  # noqa: E402
import scipy.integrate  # noqa: E402
import scipy.linalg  # noqa: E402
import scipy.ndimage  # noqa: E402
import scipy.signal  # noqa: E402
import scipy.special  # noqa: E402
import scipy.spatial.distance  # noqa: E402


def arguments(k):
    rng = np.random.default_rng(k)
    return rng.normal(size=(6, 6)) + 6 * np.eye(6), rng.normal(size=6)


PURE = [
    lambda a, b: scipy.linalg.solve(a * 2, b) + 1,
    lambda a, b: scipy.linalg.expm(a / 10) @ b,
    lambda a, b: scipy.linalg.lu(a),
    lambda a, b: scipy.linalg.cholesky(a @ a.T, lower=True) * 2,
    lambda a, b: scipy.ndimage.gaussian_filter(a + 1, 1.5) - a,
    lambda a, b: scipy.ndimage.convolve(a, np.ones((3, 3)), mode="wrap") / 9,
    lambda a, b: scipy.signal.convolve(b * 2, b, mode="same") + b,
    lambda a, b: abs(scipy.fft.fft(b + 1)) ** 2,
    lambda a, b: scipy.fft.irfft(scipy.fft.rfft(b)) - b,
    lambda a, b: scipy.special.logsumexp(a, axis=0) + b,
    lambda a, b: scipy.special.softmax(a * 0.5) * 3,
    lambda a, b: scipy.special.erf(a) + scipy.special.gamma(abs(b) + 1),
    lambda a, b: scipy.integrate.trapezoid(b * b) * a,
    lambda a, b: scipy.spatial.distance.pdist(a) * 2,
]
OTHER = [
    lambda a, b: scipy.linalg.solve(a, b, overwrite_a=True),
    lambda a, b: (scipy.ndimage.gaussian_filter(a, 1, output=a), a)[1],
    lambda a, b: scipy.integrate.quad(lambda t: t * b[0], 0, 1)[0] * a,
    lambda a, b: scipy.linalg.solve(a, b, False, True) + a[0],
]


@pytest.mark.parametrize("function", PURE + OTHER, ids=range(len(PURE + OTHER)))
def test_as_scipy(function):
    jitted = pyasc.jit(function, numerics="strict")
    for k in (0, 0, 1, 2):
        x, y = arguments(k), arguments(k)
        assert freeze(jitted(*x)) == freeze(function(*y))
        assert freeze(x) == freeze(y)
    assert jitted._facts()["entries"][0]["plain"] == (function in OTHER)


def test_errors_are_raised():
    log = []

    def f(a, b):
        log.append(1)
        x = scipy.linalg.solve(a, b)
        log.append(2)
        return x * 2

    jitted = pyasc.jit(f)
    for k in range(3):
        jitted(*arguments(k))
    log.clear()
    with pytest.raises(np.linalg.LinAlgError):
        jitted(np.zeros((6, 6)), np.ones(6))
    assert log == [1]

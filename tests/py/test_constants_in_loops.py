"""Arrays of constants in the bodies of loops are made once, too."""
import numpy as np

from moves import check, made


def test_read():
    def f(x, n):
        y, t = x, np.zeros(3)
        for _ in range(n):
            y = y * 0.5 + np.array([1.0, 2, 3])
            t += np.arange(3)
        return y, t

    def carried(x, n):
        y = np.array([1.0, 2, 3])
        for _ in range(n):
            z = y + x
            y = np.array([3.0, 2, 1])
            y = y + z * np.eye(3)[1]
        return y, z

    def stored(x, n):
        for i in range(n):
            x[:] = [1, 2, 3]
            x += np.linspace(0, 1, 3)
            y = np.arange(3.0)
            y[i % 3] = x[0]
        return x, y

    for function in (f, carried, stored):
        for n in (3, 24, 60):
            check(function, (made("f8", (3,)), n), compiled=function is f)

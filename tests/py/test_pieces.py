"""Large reductions are cut in pieces: results at the sizes where that begins, and where there is one piece more or less."""
import linecache

import numpy as np
import pytest

import pyasc

WORK = 2 * 65536  # operations on elements from which on there are pieces


def chain(operations):
    """A function that reduces a chain of so many operations, with a source."""
    text = "x" + " * 2 + 1" * (operations // 2) + " - 1" * (operations % 2)
    source = f"def f(x):\n    y = {text}\n    return y.sum(), y.max(), y.min(), y.argmax(), (y > 3).any(), y\n"
    file = f"<pieces {operations}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {}
    exec(compile(source, file, "exec"), namespace)  # noqa: S102
    return namespace["f"]


@pytest.mark.parametrize("numerics", ["strict", "numpy"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("operations", [0, 1, 2, 3, 5, 7])
def test_where_pieces_begin(operations, dtype, numerics):
    f = chain(operations)
    jitted = pyasc.jit(f, numerics=numerics)
    for total in (WORK, 2 * WORK, 4 * WORK):
        for share in range(1, operations + 3):
            for n in {total // share + d for d in (-128, -1, 0, 1, 128)}:
                x = (np.arange(n) % 7).astype(dtype)
                expected = f(x)
                for _ in range(2):
                    for a, b in zip(jitted(x), expected):
                        assert np.array_equal(a, b), (n, total, share)


@pytest.mark.parametrize("shape", [(256, 256), (512, 256), (2, 65536), (65536, 2), (1, 131072), (131072, 1), (63, 2081), (64, 2048)])
def test_of_two_axes(shape):
    def f(x, y):
        z = x * y
        return (x.sum(), z.sum(), (x * y).max(), x.sum(axis=0), x.sum(axis=1), z.sum(axis=0), z.sum(axis=1), (x + y).mean(), x.mean(axis=0),
                x.argmax(), np.cumsum(x)[-1])

    for numerics in ("strict", "numpy"):
        jitted = pyasc.jit(f, numerics=numerics)
        x, y = (np.arange(float(np.prod(shape))) % 8).reshape(shape), np.ones(shape) * 2
        for _ in range(3):
            for a, b in zip(jitted(x, y), f(x, y)):
                assert np.array_equal(a, b)
            jitted.wait()

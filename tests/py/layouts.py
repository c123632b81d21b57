"""Arrays of one shape in many layouts: for tests of what is done along axes."""
import numpy as np


def made(shape, dtype, seed=0, special=True):
    """Numbers of the dtype with ties; NaN, infinities and signed zeros among those of floats."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape))
    kind = np.dtype(dtype).kind
    x = rng.integers(0 if kind in "ub" else -9, 10, n) if seed % 2 else rng.standard_normal(n) * 50
    x = (abs(x) if kind == "u" else x > 2 if kind == "b" else x).astype(dtype)
    if kind == "f" and special and n > 4 and seed % 3 == 1:
        x[rng.integers(0, n, n // 4)] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], n // 4)
    return x.reshape(shape)


def layouts(x):
    """The array, and arrays that are equal to it, by name."""
    yield "C", x
    yield "F", np.asfortranarray(x)
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    part = wide[tuple(slice(None, None, 2) for _ in x.shape)]
    part[...] = x
    yield "strided", part
    if x.ndim:
        yield "reversed", np.ascontiguousarray(x[::-1])[::-1]
        longer = np.zeros(x.shape[:-1] + (x.shape[-1] + 3,), x.dtype)
        longer[..., : x.shape[-1]] = x
        yield "rows of more", longer[..., : x.shape[-1]]
        yield "backwards", np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    if x.ndim > 1:
        yield "swapped", np.ascontiguousarray(np.swapaxes(x, 0, 1)).swapaxes(0, 1)
        yield "broadcast", np.broadcast_to(x[:1], x.shape)

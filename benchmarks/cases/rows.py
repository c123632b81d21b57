"""Programs that go several times over the rows of a matrix, small and larger than caches."""

import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def logsumexp(x):
    m = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - m), axis=-1)) + m[..., 0]


def log_softmax(x):
    z = x - x.max(axis=-1)[:, None]
    return z - np.log(np.exp(z).sum(axis=-1))[:, None]


def layer_norm(x, gain, bias):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * gain + bias


def variance(x):
    return np.var(x, axis=-1)


def normalised(x):
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True))


def scaled(x):
    low = x.min(axis=-1, keepdims=True)
    return (x - low) / (x.max(axis=-1, keepdims=True) - low)


def cases():
    rng = np.random.default_rng(7)
    for rows, n in ((64, 64), (4096, 1024)):
        x = rng.normal(0, 1, (rows, n)).astype(np.float32)
        gain, bias = (rng.normal(1, 0.1, n).astype(np.float32) for _ in range(2))
        for function in (softmax, logsumexp, log_softmax, variance, normalised, scaled):
            yield f"{function.__name__} {rows}x{n} float32", function, (x,)
        yield f"layer_norm {rows}x{n} float32", layer_norm, (x, gain, bias)

"""One step of k-means: distances, argmin, and new centres by a matrix product."""

import numpy as np

import pyasc


@pyasc.jit
def k_means_step(points, centres):
    apart = points[:, None, :] - centres[None, :, :]
    nearest = np.argmin(np.sum(apart * apart, axis=-1), axis=1)
    member = nearest[:, None] == np.arange(len(centres))
    size = member.sum(axis=0)
    total = member.T.astype(points.dtype) @ points
    moved = total / np.maximum(size, 1)[:, None]
    return np.where(size[:, None] > 0, moved, centres), nearest


def make_args(n=20_000, k=8, dimensions=4):
    rng = np.random.default_rng(5)
    middle = rng.normal(scale=4.0, size=(k, dimensions))
    points = middle[rng.integers(k, size=n)] + rng.normal(size=(n, dimensions))
    return points, points[:k].copy()


if __name__ == "__main__":
    points, centres = make_args()
    for _ in range(10):
        centres, nearest = k_means_step(points, centres)
    print("sizes", np.bincount(nearest, minlength=len(centres)))
    k_means_step.wait()
    print(k_means_step.explain())

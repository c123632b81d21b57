"""Lennard-Jones potential of each pair of atoms: a broadcast, a reduction and a chain after it."""

import numpy as np

import pyasc


@pyasc.jit
def lennard_jones(positions):
    rij = positions[:, None] - positions[None, :]
    r2 = pyasc.sum(rij**2, axis=-1)
    r6 = (1.0 / r2) ** 3
    return 4.0 * (r6**2 - r6)


def make_args(n=1000):
    rng = np.random.default_rng(1)
    return (rng.uniform(0.0, 10.0, (n, 3)),)


if __name__ == "__main__":
    with np.errstate(divide="ignore", invalid="ignore"):  # an atom's distance to itself is 0
        energy = lennard_jones(*make_args())
    print("energy of the pairs", np.nansum(energy) / 2)
    lennard_jones.wait()
    print(lennard_jones.explain())

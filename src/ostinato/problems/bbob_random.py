"""The random instances of COCO's BBOB functions: where the optimum lies, and the rotations.

COCO draws them with a generator of its own, so that its functions are the same in every language:

- uniform numbers: Park and Miller's minimal standard generator, s ← 16807 s mod (2³¹ − 1), whose output is shuffled
  through a table of 32 (Bays and Durham). The first eight numbers are thrown away, the next 32 fill the table from
  its end;
- normal numbers: Box and Muller's cosine, from the first and the second half of twice as many uniform numbers;
- the optimum: uniform on a lattice of step 0.0008 over [−4, 4];
- rotations: normal numbers, filled in column by column, made orthonormal by Gram and Schmidt in that order.
"""

import numpy as np

from ostinato.arrays import Matrix, Vector

MULTIPLIER, MODULUS = 16807, 2**31 - 1
WARM_UP, SHUFFLED = 8, 32
SHARE = 67_108_865  # of the modulus to each place of the table
TINY = 1e-99  # COCO's stand-in for an exact 0


def uniforms(count: int, seed: int) -> Vector:
    """`count` numbers between 0 and 1."""
    state = max(abs(seed), 1)
    for _ in range(WARM_UP):
        state = MULTIPLIER * state % MODULUS
    table = [0] * SHUFFLED
    for place in reversed(range(SHUFFLED)):
        state = table[place] = MULTIPLIER * state % MODULUS
    drawn, numbers = table[0], np.empty(count)
    for i in range(count):
        state = MULTIPLIER * state % MODULUS
        place = drawn // SHARE
        drawn, table[place] = table[place], state
        numbers[i] = drawn / MODULUS
    return np.where(numbers == 0, TINY, numbers)


def normals(count: int, seed: int) -> Vector:
    """`count` standard normal numbers."""
    radius, angle = np.split(uniforms(2 * count, seed), 2)
    numbers = np.sqrt(-2 * np.log(radius)) * np.cos(2 * np.pi * angle)
    return np.where(numbers == 0, TINY, numbers)


def optimum(dimension: int, seed: int) -> Vector:
    """Where the function is lowest."""
    x = 8 * np.floor(1e4 * uniforms(dimension, seed)) / 1e4 - 4
    return np.where(x == 0, -1e-5, x)


def rotation(dimension: int, seed: int) -> Matrix:
    """A random orthogonal matrix."""
    R = normals(dimension**2, seed).reshape(dimension, dimension).T.copy()
    for i in range(dimension):
        for j in range(i):
            R[:, i] -= (R[:, i] @ R[:, j]) * R[:, j]
        R[:, i] /= np.sqrt(R[:, i] @ R[:, i])
    return R

# pyright: basic, reportMissingImports=false
"""Kernels for a GPU, in Triton: covariances are recomputed in every pass, and never stored.

Each program takes some candidates, loads their features once, and goes through the unique candidates; features stay in
registers, so that what a pass costs is one evaluation of the kernel for each pair. Numbers are summed in strips, as
`screen.py` says.

A covariance is described by constants that are known when the kernel is compiled (`Shape`): one formula a factor, and
the columns that each factor looks at. Columns are scaled so that all formulas are powers of 2.
"""

import triton
import triton.language as tl

STRIP = 16  # covariances that are summed at a time

RBF = tl.constexpr(0)
MATERN12 = tl.constexpr(1)
MATERN32 = tl.constexpr(2)
MATERN52 = tl.constexpr(3)
RATIONAL = tl.constexpr(4)
LN2 = tl.constexpr(0.6931471805599453)
LN2_SQUARED_THIRD = tl.constexpr(0.6931471805599453**2 / 3)


@triton.jit
def correlation(r2, FORMULA: tl.constexpr, alpha):
    """ρ of a squared distance that was scaled by `card_forms.SCALED`."""
    if FORMULA == RBF:
        return tl.exp2(-r2)
    if FORMULA == RATIONAL:
        return tl.exp2(-alpha * tl.log2(1.0 + r2))
    s = tl.sqrt(r2)
    if FORMULA == MATERN12:
        return tl.exp2(-s)
    if FORMULA == MATERN32:
        return (1.0 + LN2 * s) * tl.exp2(-s)
    return (1.0 + s * (LN2 + LN2_SQUARED_THIRD * s)) * tl.exp2(-s)


@triton.jit
def loaded(features, scales, size, here, inside, COLUMNS: tl.constexpr, NUMBERS: tl.constexpr):
    """The features of some candidates: one array a column that is looked at; numbers scaled."""
    columns = ()
    for c in tl.static_range(len(COLUMNS)):
        values = tl.load(features + COLUMNS[c] * size.to(tl.int64) + here, mask=inside, other=0.0)
        columns = columns + (values * tl.load(scales + c) if NUMBERS[c] else values,)  # noqa: RUF005 (not in Triton)
    return columns


@triton.jit
def squares_of(columns):
    """The sum of the squares of all columns."""
    total = tl.zeros_like(columns[0])
    for c in tl.static_range(len(columns)):
        total += columns[c] * columns[c]
    return total


@triton.jit
def correlations(columns, squares, X, scales, alphas,
                 FACTORS: tl.constexpr, FORMULAS: tl.constexpr, NUMBERS: tl.constexpr,
                 EXPANDED: tl.constexpr):  # fmt: skip
    """The product of all formulas for one unique candidate, whose scaled features start at X; their squares follow.

    EXPANDED: squared distances are |a|² + |x|² − 2ax, of one factor that looks at numbers alone.
    """
    if EXPANDED:
        r2 = squares + tl.load(X + len(FACTORS))
        for c in tl.static_range(len(FACTORS)):
            r2 -= columns[c] * (2.0 * tl.load(X + c))
        return correlation(r2, FORMULAS[0], 1.0)
    k = tl.full(columns[0].shape, 1.0, columns[0].dtype)
    for f in tl.static_range(len(FORMULAS)):
        r2 = tl.zeros_like(columns[0])
        for c in tl.static_range(len(FACTORS)):
            if FACTORS[c] == f:
                if NUMBERS[c]:
                    gap = columns[c] - tl.load(X + c)
                    r2 += gap * gap
                else:
                    r2 += tl.where(columns[c] == tl.load(X + c), 0.0, tl.load(scales + c))
        k *= correlation(r2, FORMULAS[f], tl.load(alphas + f))
    return k


@triton.jit
def sums(columns, X, P, q, scales, alphas, constant, offset,
         FACTORS: tl.constexpr, FORMULAS: tl.constexpr, NUMBERS: tl.constexpr, EXPANDED: tl.constexpr,
         STRIP: tl.constexpr):  # fmt: skip
    """p · k(X, A), for coefficients that start at P. offset: what the kernel's constant adds, Σ p times it."""
    squares = squares_of(columns)
    total = tl.zeros_like(columns[0])
    for first in range(0, q, STRIP):
        strip = tl.zeros_like(columns[0])
        for i in tl.static_range(STRIP):
            x = X + (first + i) * (len(FACTORS) + 1)
            strip += tl.load(P + first + i) * correlations(
                columns, squares, x, scales, alphas, FACTORS, FORMULAS, NUMBERS, EXPANDED
            )
        total += strip
    return tl.load(constant) * total + tl.load(offset)


@triton.jit
def noted(mean, variance, inside, lows, highs, widest):
    """The lowest and the highest mean, and the largest variance, of one program's candidates."""
    tl.store(lows + tl.program_id(0), tl.min(tl.where(inside, mean, float("inf")), axis=0))
    tl.store(highs + tl.program_id(0), tl.max(tl.where(inside, mean, -float("inf")), axis=0))
    tl.store(widest + tl.program_id(0), tl.max(tl.where(inside, variance, -float("inf")), axis=0))


@triton.jit
def condition_kernel(features, size, X, P, z, offsets, terms, q, scales, alphas, constant,
                     means, variances, lows, highs, widest,
                     COLUMNS: tl.constexpr, FACTORS: tl.constexpr, FORMULAS: tl.constexpr, NUMBERS: tl.constexpr,
                     EXPANDED: tl.constexpr, STRIP: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """mean += z c, variance −= c², for each row p of P and c = p · k(X, A)."""
    here = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = here < size
    columns = loaded(features, scales, size, here, inside, COLUMNS, NUMBERS)
    mean = tl.load(means + here, mask=inside, other=0.0)
    variance = tl.load(variances + here, mask=inside, other=0.0)
    for t in range(terms):
        c = sums(columns, X, P + t * q, q, scales, alphas, constant, offsets + t, FACTORS, FORMULAS, NUMBERS,
                 EXPANDED, STRIP)  # fmt: skip
        mean += tl.load(z + t) * c
        variance -= c * c
    tl.store(means + here, mean, mask=inside)
    tl.store(variances + here, variance, mask=inside)
    noted(mean, variance, inside, lows, highs, widest)


@triton.jit
def spread_kernel(features, size, X, P, offset, q, scales, alphas, constant, means, variances, lows, highs, widest,
                  COLUMNS: tl.constexpr, FACTORS: tl.constexpr, FORMULAS: tl.constexpr, NUMBERS: tl.constexpr,
                  EXPANDED: tl.constexpr, STRIP: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """mean = p · k(X, A)."""
    here = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = here < size
    columns = loaded(features, scales, size, here, inside, COLUMNS, NUMBERS)
    mean = sums(columns, X, P, q, scales, alphas, constant, offset, FACTORS, FORMULAS, NUMBERS, EXPANDED, STRIP)
    tl.store(means + here, mean, mask=inside)
    noted(mean, tl.load(variances + here, mask=inside, other=0.0), inside, lows, highs, widest)


@triton.jit
def rows_kernel(features, size, start, X, scales, alphas, constant, out, count,
                COLUMNS: tl.constexpr, FACTORS: tl.constexpr, FORMULAS: tl.constexpr, NUMBERS: tl.constexpr,
                EXPANDED: tl.constexpr, TILE: tl.constexpr):  # fmt: skip
    """k(X, A) for `count` candidates from `start` on, one row a unique candidate."""
    place = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = place < count
    columns = loaded(features, scales, size, start + place, inside, COLUMNS, NUMBERS)
    i = tl.program_id(1)
    x = X + i * (len(FACTORS) + 1)
    k = correlations(columns, squares_of(columns), x, scales, alphas, FACTORS, FORMULAS, NUMBERS, EXPANDED)
    k = tl.load(constant) * k + tl.load(constant + 1)
    tl.store(out + i.to(tl.int64) * count + place, k, mask=inside)


@triton.jit
def tops_kernel(means, variances, size, line, tops, TILE: tl.constexpr):
    """The highest mean + slope · standard deviation of each program's candidates.

    line: the slope, and what is added to variances.
    """
    here = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = here < size
    mean = tl.load(means + here, mask=inside, other=-float("inf"))
    variance = tl.load(variances + here, mask=inside, other=0.0) + tl.load(line + 1)
    reach = mean + tl.load(line) * tl.sqrt(tl.maximum(variance, 0.0))
    tl.store(tops + tl.program_id(0), tl.max(reach, axis=0))


@triton.jit
def above_kernel(means, variances, size, tops, line, bar, room, count, places, TILE: tl.constexpr):
    """Write down the places of the candidates that reach a bar, in any order; count: how many there are.

    tops: of `tops_kernel`; tiles that do not reach the bar are left at once. Places beyond the room are only counted.
    """
    least = tl.load(bar)
    if tl.load(tops + tl.program_id(0)) >= least:
        here = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
        inside = here < size
        mean = tl.load(means + here, mask=inside, other=-float("inf"))
        variance = tl.load(variances + here, mask=inside, other=0.0) + tl.load(line + 1)
        found = inside & (mean + tl.load(line) * tl.sqrt(tl.maximum(variance, 0.0)) >= least)
        number = tl.cumsum(found.to(tl.int64), axis=0)
        first = tl.atomic_add(count, tl.max(number, axis=0))
        place = first + number - 1
        tl.store(places + place, here, mask=found & (place < room))

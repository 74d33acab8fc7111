"""Exact sums of floats, a column at a time.

A float is a whole multiple of the smallest float there is, so a sum of floats is a sum of very long
whole numbers. These are held as limbs of 32 bits, a column for each place that occurs: adding rows
is adding columns, in any order, without any rounding. The one rounding is at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scurry.functions.window_aggregates import SCALE, rounded

Array = np.ndarray[Any, Any]
_MASK = (1 << 32) - 1


def limbs_of(values: Array) -> dict[int, Array]:
    """Finite floats as columns of limbs, by place."""
    mantissa, exponent = np.frexp(values)
    whole = np.abs(mantissa * (1 << 53)).astype(np.int64)
    place = exponent.astype(np.int64) + (SCALE - 53)
    # below the least normal float the mantissa ends in as many zeros as its place is negative
    whole >>= np.maximum(-place, 0)
    place = np.maximum(place, 0)
    some = whole != 0
    place = np.where(some, place, place[some][0] if some.any() else 0)
    limb, shift = place >> 5, place & 31
    low = (whole & _MASK) << shift
    high = ((whole >> 32) << shift) + (low >> 32)
    sign = np.where(values < 0, -1, 1)
    parts = [(low & _MASK) * sign, (high & _MASK) * sign, (high >> 32) * sign]
    found: dict[int, Array] = {}
    for at in np.unique(limb).tolist():
        here = limb == at
        for offset, part in enumerate(parts):
            column = np.where(here, part, 0)
            known = found.get(at + offset)
            found[at + offset] = column if known is None else known + column
    return found


def round_limbs(columns: dict[int, Array], size: int) -> Array:
    """The floats nearest to sums of limbs."""
    if not columns:
        return np.zeros(size)
    first, last = min(columns), max(columns) + 2
    zeros = np.zeros(size, dtype=np.int64)
    if any(column.dtype == object for column in columns.values()):
        wide = {place: column.tolist() for place, column in columns.items()}
        units = (
            sum(column[at] << (32 * place) for place, column in wide.items()) for at in range(size)
        )
        return np.array([rounded(unit) for unit in units])
    negative = _digits([columns.get(place, zeros) for place in range(first, last + 1)])[1] < 0
    sign = np.where(negative, -1, 1)
    digits, _ = _digits([columns.get(place, zeros) * sign for place in range(first, last + 1)])
    # below the lowest digit there are zeros
    stack = np.stack([zeros, zeros, *digits])
    top = np.max(np.where(stack != 0, np.arange(len(stack))[:, None], 2), axis=0)
    rows = np.arange(size)
    below = np.cumsum(stack != 0, axis=0)
    rest = np.where(top >= 3, below[np.maximum(top - 3, 0), rows], 0) > 0
    d2, d1, d0 = (stack[top - back, rows].astype(np.uint64) for back in range(3))
    shift = (32 - np.frexp(d2.astype(np.float64))[1]).astype(np.uint64)
    shift = np.where(d2 == 0, np.uint64(0), shift)
    sticky = rest | (((d0 << shift) & np.uint64(_MASK)) != 0)
    head = (((d2 << np.uint64(32)) | d1) << shift) | (d0 >> (np.uint64(32) - shift))
    head |= sticky.astype(np.uint64)
    scale = (top - 3 + first) * 32 - shift.astype(np.int64) - SCALE
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(head.astype(np.float64), scale.astype(np.int32)) * sign)


def _digits(limbs: list[Array]) -> tuple[list[Array], Array]:
    """Limbs with carries carried, and what is left over: -1 if the sum is negative."""
    carry = np.zeros_like(limbs[0])
    digits = []
    for limb in limbs:
        total = limb + carry
        digits.append(total & _MASK)
        carry = total >> 32
    return digits, carry

"""Comparisons and summaries of whole arrays: simple, slow, without special cases.

The product compares in pieces, with shortcuts, and must give the same bits.
"""

from __future__ import annotations

import numpy as np

from compiler.json_number import written_number
from launch.reference.comparison import numbers_of

STRETCH = 1 << 20


def summary(actual, dtype):
    flat = actual.reshape(-1)
    count = nan = inf = 0
    total, extremes = 0.0, []
    for start in range(0, flat.size, STRETCH):
        numbers = numbers_of(flat[start : start + STRETCH], dtype)
        numbers = numbers.astype(np.uint8) if numbers.dtype == np.bool_ else numbers
        finite = numbers[np.isfinite(numbers)]
        nan += int(np.isnan(numbers).sum())
        inf += int(np.isinf(numbers).sum())
        if finite.size:
            count += finite.size
            total += float(finite.sum(dtype=np.float64))
            extremes += [finite.min().item(), finite.max().item()]
    return {
        "shape": list(actual.shape),
        "dtype": dtype,
        "min": written_number(min(extremes)) if count else None,
        "max": written_number(max(extremes)) if count else None,
        "mean": written_number(total / count) if count else None,
        "nan": nan,
        "inf": inf,
        "unwritten": 0,
    }


def _zeros_match(expected, tolerance):
    size = np.abs(expected)
    close = size <= tolerance.atol + tolerance.rtol * size
    return bool((np.isfinite(expected) & close).all())


def comparison(actual, expected, tolerance, dtype, expected_dtype, missing):
    left = numbers_of(actual.reshape(-1), dtype)
    right = numbers_of(expected.reshape(-1), expected_dtype)
    exact = left.dtype.kind != "f" and right.dtype.kind != "f"
    absolute, relative, finite, mismatched = (_integers if exact else _floats)(
        left, right, tolerance
    )
    ours = np.zeros(left.size, np.bool_) if missing.actual is None else missing.actual
    theirs = np.zeros(left.size, np.bool_) if missing.expected is None else missing.expected
    one, known = ours ^ theirs, ~(ours & theirs)
    wrong = (mismatched | one) & known
    first = None
    if wrong.any():
        place = int(wrong.argmax())
        shown = left if not one[place] or left.dtype.kind != "b" else actual.reshape(-1)
        first = {
            "index": [int(at) for at in np.unravel_index(place, actual.shape)],
            "actual": written_number(shown[place]),
            "expected": written_number(right[place]),
        }
    nonfinite, compared = int((wrong & ~finite).sum()), int(known.sum())
    within = int(wrong.sum()) <= tolerance.max_mismatched_ratio * compared
    return {
        "matches": nonfinite == int(one.sum()) == 0 and within,
        "zeros_match": compared > 0 and _zeros_match(right.astype(np.float64), tolerance),
        "max_abs_error": written_number(absolute.max(where=known, initial=0)),
        "max_rel_error": written_number(relative.max(where=known, initial=0)),
        "compared": compared,
        "mismatched": int(wrong.sum()),
        "nonfinite_mismatched": nonfinite,
        "unwritten": int(one.sum()),
        "first_mismatch": first,
        "mismatch_map": mismatch_map(wrong, actual.shape) if wrong.any() else None,
    }


def mismatch_map(wrong, shape):
    columns = shape[-1] if shape else 1
    rows = wrong.size // columns
    down, across = min(rows, 32), min(columns, 32)
    counts = np.zeros((down, across), int)
    places = np.flatnonzero(wrong)
    at = places // columns * down // rows, places % columns * across // columns
    np.add.at(counts, at, 1)
    return {"rows": rows, "columns": columns, "mismatched": counts.tolist()}


def _floats(actual, expected, tolerance):
    ours, theirs = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(ours) & np.isfinite(theirs)
    with np.errstate(all="ignore"):
        absolute = np.where(finite, np.abs(ours - theirs), 0.0)
        same = ours == theirs
        if tolerance.equal_nan:
            same |= np.isnan(ours) & np.isnan(theirs)
        close = absolute <= tolerance.atol + tolerance.rtol * np.abs(theirs)
        return (
            absolute,
            _ratio(absolute, np.abs(theirs), finite),
            finite,
            np.where(finite, ~close, ~same),
        )


def _integers(actual, expected, tolerance):
    """Uses Python's integers, which do not overflow."""
    pairs = [(int(a), int(e)) for a, e in zip(actual, expected, strict=True)]
    absolute = np.array([min(abs(a - e), 2**64 - 1) for a, e in pairs], np.uint64)
    theirs = np.array([abs(e) for _, e in pairs], np.uint64)
    allowed = tolerance.atol + tolerance.rtol * theirs.astype(np.float64)
    mismatched = (absolute > 0) & (absolute.astype(np.float64) > allowed)
    finite = np.ones(actual.shape, np.bool_)
    return absolute, _ratio(absolute, theirs, finite), finite, mismatched


def _ratio(absolute, theirs, finite):
    usable = finite & (theirs != 0)
    divisor = np.where(usable, theirs, 1).astype(np.float64)
    with np.errstate(all="ignore"):
        return np.where(usable, absolute.astype(np.float64) / divisor, 0.0)

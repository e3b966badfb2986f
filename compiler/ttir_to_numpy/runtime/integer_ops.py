"""Functions of libdevice on integers, which are kept as signed ones: bits, halves, words."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ttir_to_numpy.runtime.number_ops import high_product, signed, unsigned


def high_signed_product(a: Any, b: Any) -> Any:
    """Return the upper half of the product of signed integers."""
    zero = np.zeros_like(a)
    return high_product(a, b) - np.where(np.less(a, 0), b, zero) - np.where(np.less(b, 0), a, zero)


def low_product(a: Any, b: Any, is_signed: bool) -> Any:
    """Return the product of the lowest 24 bits of int32."""
    parts = []
    for value in (a, b):
        part = np.asarray(value).astype(np.int32) << np.int32(8)
        parts.append(part >> np.int32(8) if is_signed else signed(unsigned(part) >> np.uint32(8)))
    return np.multiply(*parts)[()]


def leading_zeros(value: Any) -> Any:
    """Return how many of the highest bits are zero, in the integers' own type."""
    word = unsigned(value)
    width = 8 * np.asarray(word).dtype.itemsize
    for shift in (1, 2, 4, 8, 16, 32):
        word = word | (word >> np.asarray(word).dtype.type(shift))
    return (width - np.bitwise_count(word).astype(np.int64)).astype(np.asarray(value).dtype)[()]


def trailing_zeros(value: Any) -> Any:
    """Return how many of the lowest bits are zero, in the integers' own type."""
    word = np.asarray(unsigned(value))
    lowest = word & (~word + word.dtype.type(1))
    return np.bitwise_count(lowest - word.dtype.type(1)).astype(np.asarray(value).dtype)[()]


def first_one(value: Any) -> Any:
    """Return the place of the lowest bit that is one, from 1 on; 0 where there is none."""
    return np.where(np.equal(value, 0), 0, trailing_zeros(value) + 1).astype(np.int32)[()]


def reversed_bits(value: Any) -> Any:
    """Return the bits of integers in reverse order."""
    word = np.asarray(unsigned(value))
    result = np.zeros_like(word)
    unit = word.dtype.type(1)
    for _ in range(8 * word.dtype.itemsize):
        result = result << unit | word & unit
        word = word >> unit
    return signed(result)


def chosen_bytes(low: Any, high: Any, selector: Any) -> Any:
    """Return four of the eight bytes of two int32; each half-byte of `selector` names one."""
    both = unsigned(high).astype(np.uint64) << np.uint64(32) | unsigned(low).astype(np.uint64)
    word: Any = np.uint32(0)
    for place in range(4):
        which = (unsigned(selector) >> np.uint32(4 * place)) & np.uint32(7)
        byte = (both >> (which.astype(np.uint64) * np.uint64(8))) & np.uint64(255)
        word = word | byte.astype(np.uint32) << np.uint32(8 * place)
    return signed(word)


def halved_sum(a: Any, b: Any, is_signed: bool, more: int = 0) -> Any:
    """Return `(a + b + more) >> 1` of int32, as if of more bits."""
    wide = [
        (np.asarray(value) if is_signed else np.asarray(unsigned(value))).astype(np.int64)
        for value in (a, b)
    ]
    return ((wide[0] + wide[1] + more) >> 1).astype(np.int32)[()]


def distance(a: Any, b: Any, more: Any, is_signed: bool) -> Any:
    """Return how far int32 are from each other, plus `more`."""
    wide = [
        (np.asarray(value) if is_signed else np.asarray(unsigned(value))).astype(np.int64)
        for value in (a, b)
    ]
    return (np.abs(wide[0] - wide[1]) + np.asarray(more).astype(np.int64)).astype(np.int32)[()]


def word_of(value: Any, which: int) -> Any:
    """Return the lower (0) or upper (1) half of the bits of fp64, as int32."""
    word = np.ascontiguousarray(value).view(np.int64).reshape(np.shape(value))
    return (word >> np.int64(32 * which)).astype(np.int32)[()]


def of_words(high: Any, low: Any) -> Any:
    """Return the fp64 with these halves."""
    word = np.asarray(high).astype(np.int64) << np.int64(32) | unsigned(low).astype(np.int64)
    return np.ascontiguousarray(word).view(np.float64).reshape(np.shape(word))[()]


def wide_product(a: Any, b: Any, is_signed: bool) -> Any:
    """Return both halves of a product of integers, the lower one first."""
    high = high_signed_product(a, b) if is_signed else high_product(a, b)
    return np.multiply(a, b), high


def sum_and_carry(a: Any, b: Any) -> Any:
    """Return the sum of integers, and whether it went over the end of the unsigned ones."""
    total = np.add(a, b)
    return total, np.less(unsigned(total), unsigned(a))


def whole_power(a: Any, b: Any) -> Any:
    """Return integers to the power of integers, wrapped; a negative power is cut off to 0."""
    power, base = np.ones_like(np.asarray(a)), np.asarray(a)
    left = np.maximum(b, 0)
    while np.any(left):
        power = np.where(left & 1, power * base, power)
        base, left = base * base, left >> 1
    is_odd = np.asarray(b) & 1 != 0
    inverse = np.where(np.equal(a, 1), 1, np.where(np.equal(a, -1), np.where(is_odd, -1, 1), 0))
    return np.where(np.less(b, 0), inverse, power).astype(np.asarray(a).dtype)[()]

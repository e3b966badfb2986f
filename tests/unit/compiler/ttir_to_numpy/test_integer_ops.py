"""Integer functions, compared with Python's."""

from __future__ import annotations

import numpy as np

from compiler.ttir_to_numpy.runtime import integer_ops, number_ops

RANDOM = np.random.default_rng(11)
A = RANDOM.integers(-(2**31), 2**31, 200).astype(np.int32)
B = RANDOM.integers(-(2**31), 2**31, 200).astype(np.int32)
WIDE = RANDOM.integers(-(2**63), 2**63 - 1, 200)
OTHER = RANDOM.integers(-(2**63), 2**63 - 1, 200)


def wrapped(value: int, bits: int = 32) -> int:
    """Return the signed integer with the lowest bits of `value`."""
    return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def test_bits_are_counted_from_both_ends() -> None:
    for values, width in ((A, 32), (WIDE, 64), (np.int8([0, 1, -1, 64, -128]), 8)):
        words = [int(value) % (1 << width) for value in values]

        leading = integer_ops.leading_zeros(values)

        assert list(leading) == [width - word.bit_length() for word in words]
        lowest = [(word & -word).bit_length() - 1 if word else width for word in words]
        assert list(integer_ops.trailing_zeros(values)) == lowest
        assert list(number_ops.count_bits(values)) == [word.bit_count() for word in words]
        assert leading.dtype == values.dtype
    assert list(integer_ops.first_one(np.int32([0, 1, 8]))) == [0, 1, 4]
    text = [f"{int(value) % 2**32:032b}"[::-1] for value in A]
    assert list(integer_ops.reversed_bits(A)) == [wrapped(int(bits, 2)) for bits in text]


def test_halves_of_products() -> None:
    for a, b, width in ((A, B, 32), (WIDE, OTHER, 64)):
        pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        whole = 1 << width

        high = integer_ops.high_signed_product(a, b)
        low, unsigned = integer_ops.wide_product(a, b, is_signed=False)

        assert list(high) == [x * y >> width for x, y in pairs]
        assert list(low) == [wrapped(x * y, width) for x, y in pairs]
        assert list(unsigned) == [
            wrapped((x % whole) * (y % whole) >> width, width) for x, y in pairs
        ]


def test_sums_without_overflow() -> None:
    pairs = [(int(x), int(y)) for x, y in zip(A, B, strict=True)]

    assert list(integer_ops.halved_sum(A, B, is_signed=True)) == [x + y >> 1 for x, y in pairs]
    assert list(integer_ops.halved_sum(A, B, is_signed=False, more=1)) == [
        wrapped(x % 2**32 + y % 2**32 + 1 >> 1) for x, y in pairs
    ]
    assert list(integer_ops.distance(A, B, B, is_signed=True)) == [
        wrapped(abs(x - y) + y) for x, y in pairs
    ]
    total, carry = integer_ops.sum_and_carry(A, B)
    assert list(total) == [wrapped(x + y) for x, y in pairs]
    assert list(carry) == [x % 2**32 + y % 2**32 >= 2**32 for x, y in pairs]


def test_bytes_and_words() -> None:
    low, high = np.int32(0x33221100), np.int32(0x77665544)

    assert integer_ops.chosen_bytes(low, high, np.int32(0x7150)) == 0x77115500
    value = np.float64(np.pi)
    parts = [integer_ops.word_of(value, which) for which in (1, 0)]
    assert integer_ops.of_words(*parts) == value
    assert list(integer_ops.low_product(np.int32([-3, 1 << 24]), np.int32([5, 7]), True)) == [
        -15,
        0,
    ]


def test_whole_powers_wrap() -> None:
    found = integer_ops.whole_power(np.int32([2, 3, -1, 0, -2]), np.int32([5, 40, -3, -1, 3]))

    assert list(found) == [32, wrapped(3**40), -1, 0, -8]

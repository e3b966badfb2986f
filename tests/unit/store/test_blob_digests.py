"""Digests: a blob's name is its digest, and the store checks it."""

import random

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.frames import IN_LOOP_BYTES, PIECE_BYTES, digest_of, packed, unpacked


def test_the_digest_is_that_of_the_raw_bytes():
    assert digest_of(b"") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


@given(st.binary(max_size=4096))
async def test_packed_values_round_trip(data):
    assert await unpacked(zstandard.compress(data), digest_of(data)) == data


@given(st.binary(max_size=256))
async def test_anything_else_is_refused(garbage):
    assert await unpacked(garbage, digest_of(b"the real bytes")) is None


@pytest.mark.parametrize("size", [IN_LOOP_BYTES, IN_LOOP_BYTES + 1, 3 * PIECE_BYTES + 7])
@pytest.mark.parametrize("damage", [None, "cut off", "other bytes", "longer", "too short a size"])
async def test_a_large_value_comes_back_whole_or_is_refused(size, damage):
    data = random.Random(size).randbytes(size)
    digest, frame = await packed(data)
    assert digest == digest_of(data)
    frame = bytes(frame)
    if damage == "cut off":
        frame = frame[: len(frame) // 2]
    elif damage == "other bytes":
        frame = zstandard.compress(data[:-1] + bytes([data[-1] ^ 1]))
    elif damage == "longer":
        frame = zstandard.compress(data + data)
    elif damage == "too short a size":
        header = zstandard.compress(b"")[:5]
        frame = header + frame[5:]

    assert await unpacked(frame, digest) == (data if damage is None else None)

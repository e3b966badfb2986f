"""Digests: a blob's name is its digest, and the store checks it."""

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from store.blobs import digest_of, unpack_frame


def test_the_digest_is_that_of_the_raw_bytes():
    assert digest_of(b"") == (
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    )


@given(st.binary(max_size=4096))
def test_packed_values_round_trip(data):
    assert unpack_frame(zstandard.compress(data), digest_of(data)) == data


@given(st.binary(max_size=256))
def test_anything_else_is_refused(garbage):
    assert unpack_frame(garbage, digest_of(b"the real bytes")) is None

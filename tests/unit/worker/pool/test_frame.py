"""Frames round-trip; malformed ones are named before they cost memory."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.pool.frame import MAX_JOB_HEADER_BYTES, Decoder, Frame, FrameError, encode

NONCE = bytes(range(16))


def prefix(magic=b"TRTD", version=1, header=0, body=0):
    return struct.pack("<4sB16sII", magic, version, NONCE, header, body)


@given(
    headers=st.lists(st.dictionaries(st.text(), st.integers() | st.text()), max_size=4),
    body=st.binary(max_size=300),
    cut=st.integers(1, 50),
)
def test_frames_arrive_as_they_were_sent_however_the_bytes_are_cut(headers, body, cut):
    sent = [Frame(NONCE, header, body) for header in headers]
    stream = b"".join(encode(*each) for each in sent)
    decoder = Decoder()
    arrived = []
    for start in range(0, len(stream), cut):
        arrived += decoder.feed(stream[start : start + cut])
    assert arrived == sent
    assert decoder.pending_bytes == 0


@pytest.mark.parametrize("cut", [1 << 10, (1 << 18) - 1, 1 << 18, 1 << 20])
def test_large_frames_arrive_among_small_ones_however_the_bytes_are_cut(cut):
    bodies = [b"small", bytes(range(256)) * 2_000, b"", b"x" * (1 << 18), b"y" * ((1 << 18) - 1)]
    sent = [Frame(NONCE, {"number": number}, body) for number, body in enumerate(bodies)]
    stream = b"".join(encode(*each) for each in sent)
    decoder = Decoder()
    arrived = []
    for start in range(0, len(stream), cut):
        assert bool(decoder.pending_bytes) == (sum(map(_size, arrived)) < start)
        arrived += decoder.feed(stream[start : start + cut])
    assert arrived == sent
    assert decoder.pending_bytes == 0


def _size(frame):
    return len(encode(*frame))


def test_an_unfinished_frame_is_pending():
    decoder = Decoder()
    assert decoder.feed(encode(NONCE, {"kind": "result"}, b"body")[:-1]) == []
    assert decoder.pending_bytes > 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (prefix(magic=b"HTTP"), "starts with"),
        (prefix(version=2), "frame version 2 is not 1"),
        (prefix(header=11), "the header has 11 bytes, more than 10"),
        (prefix(body=21), "the body has 21 bytes, more than 20"),
        (prefix(header=2) + b"[]", "a JSON list, not an object"),
        (prefix(header=2) + b"{]", "not JSON"),
        (prefix(header=2) + b"\xff\xff", "not JSON"),
        (prefix(header=9) + b'{"x":NaN}', "NaN is not JSON"),
    ],
)
def test_bytes_that_are_no_frame_are_refused_by_name(data, said):
    with pytest.raises(FrameError, match=said):
        Decoder(max_header_bytes=10, max_body_bytes=20).feed(data)


def test_a_job_may_have_all_files_of_a_request_in_its_header():
    files = {f"f{number}.py": "\x01" * (1 << 20) for number in range(4)}
    job = {"files": files, "sources": files}
    with pytest.raises(FrameError, match="more than 4194304"):
        encode(NONCE, job)

    encoded = encode(NONCE, job, max_header_bytes=MAX_JOB_HEADER_BYTES)

    (arrived,) = Decoder(max_header_bytes=MAX_JOB_HEADER_BYTES).feed(encoded)
    assert arrived.header == job


def test_a_header_that_is_nested_too_deeply_is_refused():
    text = b'{"x":' + b"[" * 200_000
    with pytest.raises(FrameError, match="not JSON"):
        Decoder().feed(prefix(header=len(text)) + text)


def test_a_header_that_json_cannot_say_is_not_sent():
    with pytest.raises(FrameError, match="the header is not JSON"):
        encode(NONCE, {"x": float("inf")})


def test_half_of_a_character_is_sent_as_a_question_mark():
    (arrived,) = Decoder().feed(encode(NONCE, {"message": "half \ud800, whole \U0001f4a5"}))
    assert arrived.header == {"message": "half ?, whole \U0001f4a5"}


def test_half_of_a_character_is_refused():
    text = b'{"message":"\\ud800"}'
    with pytest.raises(FrameError, match="half of a character"):
        Decoder().feed(prefix(header=len(text)) + text)

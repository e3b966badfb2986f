"""Reading a body: bounded, and only JSON."""

import pytest

from service.http.body import read_body
from service.http.problems import ProblemRaised
from tests.unit.service.asgi import request

JSON = {"Content-Type": "application/json"}


async def refusal(headers: dict[str, str]) -> ProblemRaised:
    with pytest.raises(ProblemRaised) as raised:
        await read_body(request(headers, chunks=(b"{}",)), 10)
    return raised.value


async def test_a_body_is_put_together_from_its_chunks():
    body = await read_body(request(JSON, chunks=(b'{"a"', b": ", b"1}")), 10)

    assert body == b'{"a": 1}'


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "Application/JSON",
     "application/ld+json", 'application/json;charset="UTF-8"', "application/json "],
)  # fmt: skip
async def test_json_is_read_under_its_names(content_type: str):
    assert await read_body(request({"Content-Type": content_type}, chunks=(b"{}",)), 10) == b"{}"


async def test_a_body_that_does_not_say_what_it_is_is_refused():
    """Other sites' pages may send such a body without a preflight, but not JSON."""
    raised = await refusal({})

    assert raised.slug == "unsupported_media_type"
    assert "There is no Content-Type" in str(raised)


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "application/jsonlines", "", "json",
     "application/json-seq", "text/plain; application/json", "application/json; charset=latin-1",
     'application/json;charset="UTF-16"'],
)  # fmt: skip
async def test_what_says_it_is_something_else_is_refused(content_type: str):
    raised = await refusal({"Content-Type": content_type})

    assert raised.slug == "unsupported_media_type"
    said = f"Content-Type is {content_type!r}; send the body as application/json, in UTF-8"
    assert str(raised) == said


@pytest.mark.parametrize("coding", ["gzip", "zstd", "identity, gzip"])
async def test_a_compressed_body_is_refused_with_what_would_be_read(coding: str):
    raised = await refusal(JSON | {"Content-Encoding": coding})

    assert raised.slug == "unsupported_media_type"
    assert (
        str(raised) == f"Content-Encoding {coding!r} is not supported; send the body uncompressed"
    )
    assert raised.headers == {"Accept-Encoding": "identity"}


async def test_the_largest_body_is_read():
    body = await read_body(request(JSON | {"Content-Length": "10"}, chunks=(b"x" * 10,)), 10)

    assert len(body) == 10


async def test_a_body_that_says_it_is_too_large_is_not_read():
    never_read = request(JSON | {"Content-Length": "11"}, chunks=())

    with pytest.raises(ProblemRaised) as raised:
        await read_body(never_read, 10)

    assert raised.value.slug == "too_large"
    assert str(raised.value) == "The body is larger than the limit of 10 bytes"
    assert raised.value.members == {"limit": 10}


async def test_a_body_is_read_no_further_than_its_limit():
    chunks = (b"x" * 6, b"x" * 6, b"never read")
    reading = request(JSON, chunks=chunks)

    with pytest.raises(ProblemRaised) as raised:
        await read_body(reading, 10)

    assert raised.value.slug == "too_large"
    assert (await reading.receive())["body"] == b"never read"


@pytest.mark.parametrize("declared", ["9" * 5000, "99999999999999999999"])
async def test_an_absurd_length_is_too_large(declared: str):
    assert (await refusal(JSON | {"Content-Length": declared})).slug == "too_large"


@pytest.mark.parametrize("declared", ["", "-5", "\N{SUPERSCRIPT TWO}", "two", "1e9"])
async def test_a_length_that_is_no_number_counts_for_nothing(declared: str):
    assert (
        await read_body(request(JSON | {"Content-Length": declared}, chunks=(b"{}",)), 10) == b"{}"
    )

"""Texts that the service has are named by digests, wherever a request has a source."""

from __future__ import annotations

from typing import Any

import pytest
from tritonc.exchange import Request
from tritonc.packages.sent_texts import MIN_CHARS, SentTexts, digest_of

LONG, SHORT = "#" * (MIN_CHARS + 1), "#"
SOURCE = {"source": "k", "module": "pkg.k", "files": {"a.py": LONG, "b.py": SHORT}}
BODIES: dict[str, Any] = {
    "a compilation": SOURCE,
    "a launch": {"compilation": SOURCE, "grid": [1]},
    "a sweep": {"base": SOURCE},
    "a sweep of launches": {"base": {"compilation": SOURCE}},
    "a batch": {"kind": "compilations", "requests": [SOURCE]},
    "a batch of launches": {"requests": [{"compilation": SOURCE}]},
    "a comparison": {"equivalent": [SOURCE, "key"]},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_only_what_was_sent_is_named_by_its_digest(body: dict[str, Any]) -> None:
    request, texts = Request("POST", "/v1", body), SentTexts()
    unsent = texts.shortened(request)

    texts.note(request)
    sent = texts.shortened(request)

    short = {**SOURCE, "files": {"a.py": {"digest": digest_of(LONG)}, "b.py": SHORT}}
    assert unsent.body == body
    assert repr(sent.body) == repr(body).replace(repr(SOURCE), repr(short))


def test_a_source_without_a_module_keeps_its_texts() -> None:
    body = {"source": "k", "files": {"a.py": LONG}}
    texts = SentTexts()
    texts.note(Request("POST", "/v1", body))

    assert texts.shortened(Request("POST", "/v1", body)).body == body


def test_forgotten_texts_are_sent_again() -> None:
    request, texts = Request("POST", "/v1", SOURCE), SentTexts()
    texts.note(request)
    texts.forget()

    assert texts.shortened(request).body == SOURCE

"""Cached answers: least recently used ones go first, and bytes are bounded."""

import pytest

from service.compilations.answer import RenderedAnswer
from service.compilations.response_cache import ResponseCache, request_digest


def remembered(key: str, size_bytes: int = 10) -> RenderedAnswer:
    return RenderedAnswer(
        key, 200, b"x" * size_bytes, [(b"location", f"/v1/compilations/{key}".encode())]
    )


def test_an_answer_is_found_under_its_digest():
    cache = ResponseCache(100)
    cache.put(b"1", remembered("a"))

    assert cache.get(b"1") == remembered("a")
    assert cache.get(b"2") is None


def test_the_least_recently_used_go_first():
    cache = ResponseCache(20)
    cache.put(b"1", remembered("a"))
    cache.put(b"2", remembered("b"))
    cache.get(b"1")
    cache.put(b"3", remembered("c"))

    assert [digest for digest in (b"1", b"2", b"3") if cache.get(digest)] == [b"1", b"3"]


def test_an_answer_that_is_put_again_counts_once():
    cache = ResponseCache(20)
    for _ in range(5):
        cache.put(b"1", remembered("a"))
    cache.put(b"2", remembered("b"))

    assert cache.get(b"1") is not None
    assert cache.get(b"2") is not None


def test_an_answer_that_can_never_fit_pushes_nothing_out():
    cache = ResponseCache(20)
    cache.put(b"1", remembered("a"))
    cache.put(b"2", remembered("b", size_bytes=21))

    assert cache.get(b"1") is not None
    assert cache.get(b"2") is None


def test_an_answer_that_has_grown_too_large_does_not_stay_in_its_old_form():
    cache = ResponseCache(20)
    cache.put(b"1", remembered("a"))
    cache.put(b"1", remembered("a", size_bytes=21))

    assert cache.get(b"1") is None


def test_every_answer_about_a_key_is_forgotten():
    cache = ResponseCache(100)
    cache.put(b"1", remembered("a"))
    cache.put(b"2", remembered("a"))
    cache.put(b"3", remembered("b"))
    cache.forget("a")

    assert [digest for digest in (b"1", b"2", b"3") if cache.get(digest)] == [b"3"]


def test_a_key_that_is_not_there_can_be_forgotten():
    cache = ResponseCache(100)
    cache.put(b"1", remembered("a"))
    cache.forget("b")

    assert cache.get(b"1") is not None


def test_what_was_forgotten_leaves_room():
    cache = ResponseCache(20)
    cache.put(b"1", remembered("a", size_bytes=20))
    cache.forget("a")
    cache.put(b"2", remembered("b"))
    cache.put(b"3", remembered("c"))

    assert cache.get(b"2") is not None
    assert cache.get(b"3") is not None


def test_nothing_is_left_after_clear():
    cache = ResponseCache(20)
    cache.put(b"1", remembered("a", size_bytes=20))
    cache.clear()
    cache.forget("a")
    cache.put(b"2", remembered("b", size_bytes=20))

    assert cache.get(b"1") is None
    assert cache.get(b"2") is not None


def test_a_memory_without_bytes_keeps_nothing():
    cache = ResponseCache(0)
    cache.put(b"1", remembered("a"))

    assert cache.get(b"1") is None


@pytest.mark.parametrize(
    "other", [("team", "t", b"{}"), ("", "u", b"{}"), ("", "t", b"{ }"), ("t", "", b"{}")]
)
def test_namespace_toolchain_and_body_have_their_own_digest(other: tuple[str, str, bytes]):
    assert request_digest(*other) != request_digest("", "t", b"{}")

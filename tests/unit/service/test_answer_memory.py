"""Answers kept in the process: the least recently used go first, and bytes are bounded."""

import pytest

from service.compilations.answer import RenderedAnswer
from service.compilations.answer_memory import AnswerMemory, request_digest


def remembered(key: str, size_bytes: int = 10) -> RenderedAnswer:
    return RenderedAnswer(
        key, 200, b"x" * size_bytes, [(b"location", f"/v1/compilations/{key}".encode())]
    )


def test_an_answer_is_found_under_its_digest():
    memory = AnswerMemory(100)
    memory.put(b"1", remembered("a"))

    assert memory.get(b"1") == remembered("a")
    assert memory.get(b"2") is None


def test_the_least_recently_used_go_first():
    memory = AnswerMemory(20)
    memory.put(b"1", remembered("a"))
    memory.put(b"2", remembered("b"))
    memory.get(b"1")
    memory.put(b"3", remembered("c"))

    assert [digest for digest in (b"1", b"2", b"3") if memory.get(digest)] == [b"1", b"3"]


def test_an_answer_that_is_put_again_counts_once():
    memory = AnswerMemory(20)
    for _ in range(5):
        memory.put(b"1", remembered("a"))
    memory.put(b"2", remembered("b"))

    assert memory.get(b"1") is not None
    assert memory.get(b"2") is not None


def test_an_answer_that_can_never_fit_pushes_nothing_out():
    memory = AnswerMemory(20)
    memory.put(b"1", remembered("a"))
    memory.put(b"2", remembered("b", size_bytes=21))

    assert memory.get(b"1") is not None
    assert memory.get(b"2") is None


def test_an_answer_that_has_grown_too_large_does_not_stay_in_its_old_form():
    memory = AnswerMemory(20)
    memory.put(b"1", remembered("a"))
    memory.put(b"1", remembered("a", size_bytes=21))

    assert memory.get(b"1") is None


def test_every_answer_about_a_key_is_forgotten():
    memory = AnswerMemory(100)
    memory.put(b"1", remembered("a"))
    memory.put(b"2", remembered("a"))
    memory.put(b"3", remembered("b"))
    memory.forget("a")

    assert [digest for digest in (b"1", b"2", b"3") if memory.get(digest)] == [b"3"]


def test_a_key_that_is_not_there_can_be_forgotten():
    memory = AnswerMemory(100)
    memory.put(b"1", remembered("a"))
    memory.forget("b")

    assert memory.get(b"1") is not None


def test_what_was_forgotten_leaves_room():
    memory = AnswerMemory(20)
    memory.put(b"1", remembered("a", size_bytes=20))
    memory.forget("a")
    memory.put(b"2", remembered("b"))
    memory.put(b"3", remembered("c"))

    assert memory.get(b"2") is not None
    assert memory.get(b"3") is not None


def test_nothing_is_left_after_clear():
    memory = AnswerMemory(20)
    memory.put(b"1", remembered("a", size_bytes=20))
    memory.clear()
    memory.forget("a")
    memory.put(b"2", remembered("b", size_bytes=20))

    assert memory.get(b"1") is None
    assert memory.get(b"2") is not None


def test_a_memory_without_bytes_keeps_nothing():
    memory = AnswerMemory(0)
    memory.put(b"1", remembered("a"))

    assert memory.get(b"1") is None


@pytest.mark.parametrize(
    "other", [("team", "t", b"{}"), ("", "u", b"{}"), ("", "t", b"{ }"), ("t", "", b"{}")]
)
def test_namespace_toolchain_and_body_have_their_own_digest(other: tuple[str, str, bytes]):
    assert request_digest(*other) != request_digest("", "t", b"{}")

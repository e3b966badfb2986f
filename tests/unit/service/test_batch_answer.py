"""The part of a batch that one answer includes."""

import orjson
import pytest

from compiler.problem import Problem
from service.batches.batch_answer import AnsweredItem
from service.compilations.answer import Answer, AnswerTooLarge, check_included
from service.http.answer_parts import AnswerRoom
from store.byte_limits import MAX_ANSWER_BYTES

RECORD = b'{"state":"succeeded","artifacts":{"ptx":{"size_bytes":70},"cubin":{"size_bytes":40}}}'


def item() -> AnsweredItem:
    return AnsweredItem(0, "succeeded", "/v1/compilations/0", result=b'{"key":"k"}')


def test_what_fits_is_counted_and_what_does_not_leaves_the_room_as_it_was():
    room = AnswerRoom(100)

    assert [room.take(size) for size in (40, 61, 60, 1)] == [True, False, True, False]
    assert room.left_bytes == 0


def test_a_result_beyond_the_limit_is_a_problem_that_says_where_it_is():
    large = item()

    large.refuse_for_size(100)

    problem = orjson.loads(large.problem)
    assert (large.status, large.result) == (413, b"null")
    assert (problem["slug"], problem["limit"]) == ("too_large", 100)
    assert problem.keys() == Problem.model_fields.keys()
    assert problem["detail"].endswith("GET this one at /v1/compilations/0")


def test_an_item_is_json_whatever_it_holds():
    assert orjson.loads(b"".join(item().parts())) == {
        "index": 0,
        "status": 200,
        "state": "succeeded",
        "url": "/v1/compilations/0",
        "result": {"key": "k"},
        "problem": None,
    }


def test_stages_that_do_not_fit_are_refused_before_they_are_read():
    assert check_included(RECORD, ["ptx", "ttir"], 70).keys() == {"ptx", "cubin"}
    with pytest.raises(AnswerTooLarge, match="take 110 bytes, more than the 109 left"):
        check_included(RECORD, ["ptx", "cubin"], 109)


@pytest.mark.parametrize("character", ["x", "\x01"])
def test_an_answer_with_its_stages_is_no_larger_than_any_may_be(character):
    text = character.encode() * (MAX_ANSWER_BYTES // (len(orjson.dumps(character)) - 2))

    with pytest.raises(AnswerTooLarge):
        Answer("k", "succeeded", RECORD, included={"ptx": text}).body  # noqa: B018

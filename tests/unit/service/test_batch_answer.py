"""The part of a batch that one answer includes."""

import orjson

from compiler.problem import Problem
from service.batches.batch_answer import AnsweredItem, limit_results


def answered(*sizes: int) -> list[AnsweredItem]:
    """Return succeeded items whose results have these sizes."""
    return [
        AnsweredItem(index, "succeeded", f"/v1/compilations/{index}", result=b"x" * size)
        for index, size in enumerate(sizes)
    ]


def test_results_within_the_limit_stay():
    items = answered(40, 60)

    limit_results(items, 100)

    assert [item.status for item in items] == [200, 200]
    assert [len(item.result) for item in items] == [40, 60]


def test_results_beyond_the_limit_are_problems_that_say_where_they_are():
    items = answered(90, 20, 5)

    limit_results(items, 100)

    assert [item.status for item in items] == [200, 413, 413]
    problem = orjson.loads(items[1].problem)
    assert (problem["slug"], problem["limit"]) == ("too_large", 100)
    assert problem.keys() == Problem.model_fields.keys()
    assert problem["detail"].endswith("GET this one at /v1/compilations/1")
    assert items[1].result == b"null"


def test_an_item_is_json_whatever_it_holds():
    [item] = answered(0)
    item.result = b'{"key":"k"}'

    assert orjson.loads(item.to_json()) == {
        "index": 0,
        "status": 200,
        "state": "succeeded",
        "url": "/v1/compilations/0",
        "result": {"key": "k"},
        "problem": None,
    }

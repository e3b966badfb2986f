"""Orders reach their task unchanged; errors name a malformed header."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compiler.messages import autotuning, orders
from compiler.messages.reports import BlockLocations
from compiler.messages.wire import header_of, task_of
from compiler.target import Target

FRONT = orders.FrontOrder(
    kernel="k",
    signature={"x": "*fp32"},
    constexprs={"N": {"int": "4"}},
    options={"num_warps": 4},
    target=Target("cuda", 90, 32),
)
BACK = orders.BackOrder(
    locations=BlockLocations(table=["loc(unknown)"], blocks=[[0]]),
    options={},
    target=Target("hip", "gfx942", 64),
)
KINDS = [*vars(orders).values(), *vars(autotuning).values()]
KINDS = list({kind for kind in KINDS if isinstance(kind, type)})
KINDS = [kind for kind in KINDS if issubclass(kind, orders.Order) and kind is not orders.Order]


def received(order: orders.Order, **more: Any) -> Any:
    """Return what a child's task receives of an order."""
    found: list[orders.Order] = []

    def run(taken: orders.Order, body: bytes, send: object) -> None:
        found.append(taken)

    name, task = task_of(type(order), run)
    header = json.loads(json.dumps(header_of(order)))
    assert header.pop("task") == name
    task(header | more, b"", lambda *_: None)
    return found[0]


@pytest.mark.parametrize("order", [FRONT, BACK], ids=["front", "back"])
def test_an_order_arrives_as_it_was_sent(order: orders.Order) -> None:
    assert received(order) == order


def test_an_order_within_an_order_arrives_too() -> None:
    order = orders.CacheKeyOrder(front=FRONT)

    assert received(order).front == FRONT


def test_a_member_that_no_task_knows_is_named() -> None:
    with pytest.raises(ValueError, match=r"not FrontOrder: .*'num_warps'"):
        received(FRONT, num_warps=4)


def test_a_member_that_is_missing_is_named() -> None:
    _, task = task_of(orders.DerivedTextOrder, lambda *_: None)

    with pytest.raises(ValueError, match=r"not DerivedTextOrder: .*'sizes'"):
        task({}, b"", lambda *_: None)


def test_every_kind_of_order_has_its_own_task() -> None:
    tasks = [kind.task for kind in KINDS]

    assert len(set(tasks)) == len(tasks) == 21

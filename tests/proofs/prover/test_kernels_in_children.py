"""A kernel that ends its child, or takes too long or too much memory, is lost alone."""

import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.proofs.kernels_in_children import Children

LONG_S = 600.0


def double(number: int) -> int:
    return 2 * number


def end_at_2(number: int) -> int:
    if number == 2:
        os._exit(101)
    return number


def wait_at_2(number: int) -> int:
    if number == 2:
        time.sleep(LONG_S)
    return number


def take_memory(_: int) -> str:
    try:
        return str(len(bytearray(1 << 40)))
    except MemoryError:
        return "no memory"


def process_id(_: int) -> int:
    return os.getpid()


def fail(_: int) -> int:
    message = "a fault of the fuzz itself"
    raise ValueError(message)


def tried(each: Callable[[int], Any], count: int, most_s: float = LONG_S, **more: Any) -> list[Any]:
    """Return the results of numbers in order, or why a number has none."""
    children = Children(each, 2, most_s, more.get("is_spoilt", lambda _: False))
    results = sorted(children.results(range(count), time.monotonic() + LONG_S))
    return [result if lost is None else lost for _, result, lost in results]


def test_results_come_with_the_places_of_their_items() -> None:
    assert tried(double, 5) == [0, 2, 4, 6, 8]


def test_a_child_that_ends_loses_one_item() -> None:
    assert tried(end_at_2, 5) == [0, 1, "ended its child", 3, 4]


def test_a_child_that_takes_too_long_is_killed() -> None:
    assert tried(wait_at_2, 4, most_s=10) == [0, 1, "took too long", 3]


def test_memory_is_bounded() -> None:
    assert tried(take_memory, 1) == ["no memory"]


def test_a_child_ends_after_a_result_that_spoils_it() -> None:
    assert len(set(tried(process_id, 6, is_spoilt=lambda _: True))) == 6


def test_nothing_begins_when_the_time_is_over() -> None:
    children = Children(double, 2, LONG_S, lambda _: False)
    assert list(children.results(range(3), time.monotonic() - 1)) == []


def test_an_exception_in_a_child_ends_all() -> None:
    with pytest.raises(RuntimeError, match="raised an exception"):
        tried(fail, 3)

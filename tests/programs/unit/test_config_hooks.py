"""Hooks of autotuner configs are equal only if they certainly do the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from programs.recorder.launch_collection import have_equal_hooks

Hook = Any


class FillingHook:
    """Fills an argument with its own number."""

    def __init__(self, number: int) -> None:
        self._number = number

    def fill(self, arguments: dict[str, Any]) -> None:
        arguments["out"].fill_(self._number)


def by_default(number: int) -> Hook:
    def fill(arguments: dict[str, Any], number: int = number) -> None:
        arguments["out"].fill_(number)

    return fill


def by_keyword(number: int) -> Hook:
    def fill(arguments: dict[str, Any], *, number: int = number) -> None:
        arguments["out"].fill_(number)

    return fill


def by_closure(number: int) -> Hook:
    def fill(arguments: dict[str, Any]) -> None:
        arguments["out"].fill_(number)

    return fill


def calling_itself(number: int) -> Hook:
    def fill(arguments: dict[str, Any], depth: int = 0) -> None:
        if depth:
            arguments["out"].fill_(number)
        else:
            fill(arguments, 1)

    return fill


def not_made_yet() -> Hook:
    def fill(arguments: dict[str, Any]) -> None:
        arguments["out"].fill_(number)

    if fill is None:
        number = 1
    return fill


def are_alike(one: Hook, other: Hook) -> bool:
    return have_equal_hooks(SimpleNamespace(pre_hook=one), SimpleNamespace(pre_hook=other))


MAKERS = [by_default, by_keyword, by_closure, calling_itself]


@pytest.mark.parametrize("made", MAKERS)
def test_hooks_of_one_text_and_state_are_alike(made: Hook) -> None:
    assert are_alike(made(1), made(1))


@pytest.mark.parametrize("made", MAKERS)
def test_hooks_of_one_text_and_other_numbers_are_not(made: Hook) -> None:
    assert not are_alike(made(1), made(2))


def test_methods_are_alike_where_they_are_of_one_object() -> None:
    one, other = FillingHook(1), FillingHook(2)

    assert are_alike(one.fill, one.fill)
    assert not are_alike(one.fill, other.fill)


def test_a_name_that_a_hook_does_not_have_yet_is_alike_in_both() -> None:
    assert are_alike(not_made_yet(), not_made_yet())


def test_whatever_else_is_a_hook_is_like_itself_alone() -> None:
    assert are_alike(None, None)
    assert are_alike(print, print)
    assert not are_alike(print, None)
    assert not are_alike(print, by_default(1))

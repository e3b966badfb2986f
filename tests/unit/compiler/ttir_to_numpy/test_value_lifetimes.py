"""Batched code deletes values after their last use, and not before."""

from __future__ import annotations

from compiler.ttir_to_numpy.batched.lifetimes import with_deletions
from compiler.ttir_to_numpy.scope import Line


def deleted(text: str) -> list[str]:
    """Return the lines that delete values."""
    lines = [
        Line((len(line) - len(line.lstrip())) // 4, line.strip()) for line in text.splitlines()
    ]
    return ["    " * line.depth + line.text for line in with_deletions(lines)]


def test_a_value_is_forgotten_after_its_last_use() -> None:
    text = "def f(p):\n    a = load(p)\n    store(p, a)\n    b = load(p)\n    g(b)\n    h(p)"

    assert deleted(text) == [
        "def f(p):",
        "    a = load(p)",
        "    store(p, a)",
        "    del a",
        "    b = load(p)",
        "    g(b)",
        "    del b",
        "    h(p)",
    ]  # fmt: skip


def test_a_parameter_that_a_loop_carries_is_kept() -> None:
    text = (
        "def f(right):\n    while True:\n        if right:\n            break\n"
        "        right = g(right)\n    h(1)"
    )

    assert deleted(text) == text.splitlines()


def test_a_loop_s_number_that_another_loop_carries_is_kept() -> None:
    text = (
        "def f(p):\n    for i in loop(0, 4, 1):\n        while True:\n            if i:\n"
        "                break\n            i = g(i)\n        h(1)"
    )

    assert deleted(text) == text.splitlines()

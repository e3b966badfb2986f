"""Counters of a real cubin's instructions are assigned to the user's lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from compiler.lines.hot_lines import CountedInstruction, counters_json
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, Compiled, compile_kernel, read

HELPERS = KERNELS / "good" / "helpers.py"
Instructions = list[tuple[int, str]]


@pytest.fixture(scope="module")
def compiled(children: Children) -> Compiled:
    return compile_kernel(children, read(HELPERS))


@pytest.fixture(scope="module")
def disassembled(children: Children, compiled: Compiled) -> Instructions:
    body = compiled.stages["cubin"]
    order = {"task": "derived_text", "stage": "sass", "sizes": {"cubin": len(body)}}
    text = children.run(order, body).stages["derived_text"].decode()
    found = re.findall(r"^\s*/\*([0-9a-f]{4,})\*/\s+(\S.*) ;", text, re.MULTILINE)
    return [(int(offset, 16), words) for offset, words in found]


def folded(
    children: Children, compiled: Compiled, rows: Iterable[CountedInstruction], entry: str
) -> dict[str, Any]:
    parts = {name: compiled.stages[name] for name in ("cubin", "ptx")}
    parts["counters"] = counters_json(rows)
    sizes = {name: len(data) for name, data in parts.items()}
    order = {"task": "hot_lines", "sizes": sizes, "entry": entry}
    ended = children.run(order, b"".join(parts.values()))
    assert ended.result
    answer: dict[str, Any] = json.loads(ended.stages["hot_lines"])
    return answer


def test_every_instruction_that_does_something_has_a_line(
    children: Children, compiled: Compiled, disassembled: Instructions
) -> None:
    assert compiled.reading is not None
    rows = [CountedInstruction(at, text, 1, 32, {"wait": 1}) for at, text in disassembled]

    found = folded(children, compiled, rows, compiled.reading["kernel"])

    executed = [row for row in found["sass"] if not row["text"].startswith(("NOP", "BRA"))]
    mapped = [row for row in executed if row["line"] is not None]
    assert len(mapped) > 0.95 * len(executed) > 10
    assert {row["file"] for row in mapped} <= {"user.py", *read(HELPERS).request.get("files", {})}
    assert found["samples"] == len(rows)


def test_a_store_is_hot_on_the_line_that_stores(
    children: Children, compiled: Compiled, disassembled: Instructions
) -> None:
    assert compiled.reading is not None
    rows = [
        CountedInstruction(at, text, 10 * text.startswith("STG"), 1, {"lg_throttle": 10})
        for at, text in disassembled
    ]

    hottest = folded(children, compiled, rows, compiled.reading["kernel"])["lines"][0]

    assert "tl.store" in read(HELPERS).text.splitlines()[hottest["line"] - 1]
    assert (hottest["samples_percent"], hottest["top_stall"]) == (100.0, "lg_throttle")


def test_of_another_entry_no_line_is_made_up(
    children: Children, compiled: Compiled, disassembled: Instructions
) -> None:
    rows = [CountedInstruction(at, text, 1, 1, {}) for at, text in disassembled]

    (row,) = folded(children, compiled, rows, "another")["lines"]

    assert row["line"] is None

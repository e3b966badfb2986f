"""The examples run unchanged, and print what their texts promise."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from tests.integration.service.running import ROOT, Deployment


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_vector_add_passes_and_without_its_mask_does_not(
    system: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    example("run_vector_add").main(system.url)

    first, finding, excerpt, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("verdict: passed on the CPU device")
    assert finding.startswith("vector_add.py:20: out_of_bounds: ")
    assert excerpt == "    x = tl.load(x_ptr + offsets)"
    assert last.startswith("verdict: out_of_bounds")


def test_softmax_passes_on_every_shape(
    system: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    example("run_softmax").main(system.url)

    first, *cases, last = capsys.readouterr().out.splitlines()
    assert first.startswith("passed; the rows add up to [1. 1.")
    assert cases == ["case 0 (4 x 64): passed", "case 1 (3 x 50): passed", "case 2 (1 x 1): passed"]
    assert last.endswith("3 passed")


def test_the_puzzle_is_marked(system: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    example("puzzle").main(system.url)

    without, masked = capsys.readouterr().out.split("--- with masks")
    assert "answer.py:11: out_of_bounds: " in without
    assert "verdict: passed" in masked


def test_the_sweep_shows_the_resources_of_each_configuration(
    system: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    example("sweep").main(system.url, sizes=(32,), warps=(2, 4))

    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head[:2] == ["block", "warps"]
    assert [row[:4] for row in rows] == [["32", "x", "32", "2"], ["32", "x", "32", "4"]]
    assert all(row[-1].endswith("%") for row in rows)

"""Triton's own autotuner loads our file of autotuning results, and times nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compiler.target import parse_target
from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.front.autotuned import WINNER, cached, run_autotuned

TARGETS = ["cuda:90", "hip:gfx942"]


@pytest.mark.parametrize("name", slow_except(["cuda:90"], TARGETS))
def test_triton_chooses_the_winner_without_a_benchmark(
    children: Children, tmp_path: Path, name: str
) -> None:
    target = parse_target(name)
    cached(children, target, tmp_path / "cache")

    answer = run_autotuned(tmp_path, target)

    assert answer["chosen"] == WINNER
    assert answer["launched"]["BM"] == "32"
    assert answer["launched"]["EVEN"] == "True"  # Triton evaluates its heuristics


def test_the_winner_is_first_whatever_others_measured_in_a_round(
    children: Children, tmp_path: Path
) -> None:
    said = cached(children, parse_target("cuda:90"), tmp_path / "cache")

    times = {
        (config["kwargs"]["BM"], config["num_warps"]): ms for config, ms in said["configs_timings"]
    }
    assert times == {(32, 8): [0.009, 0.0085, 0.0095], (16, 4): [0.012, 0.0115, 0.0125]}


OTHERWISE: dict[str, dict[str, Any]] = {
    "another value of the key": {"N": 513},
    "another type of a tensor": {"y": {"tensor": "torch.bfloat16"}},
}


@pytest.mark.parametrize("name", slow_except(["another value of the key"], OTHERWISE))
def test_another_call_is_benchmarked(children: Children, tmp_path: Path, name: str) -> None:
    target = parse_target("cuda:90")
    cached(children, target, tmp_path / "cache")

    assert run_autotuned(tmp_path, target, **OTHERWISE[name]) == {"benchmarked": True}


@pytest.mark.slow
def test_what_is_not_in_the_key_changes_nothing(children: Children, tmp_path: Path) -> None:
    target = parse_target("cuda:90")
    cached(children, target, tmp_path / "cache")

    assert run_autotuned(tmp_path, target, ACT="gelu")["chosen"] == WINNER


@pytest.mark.slow
def test_another_target_is_benchmarked(children: Children, tmp_path: Path) -> None:
    cached(children, parse_target("cuda:90"), tmp_path / "cache")

    assert run_autotuned(tmp_path, parse_target("cuda:80")) == {"benchmarked": True}

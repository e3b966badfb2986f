"""The file of an autotuner's results, written by and loaded into every installed version."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.target import parse_target
from tests.integration.compiler.children import Children
from tests.integration.compiler.front.autotuned import WINNER, cached, run_autotuned
from tests.toolchains.test_other_tritons import VERSIONS


@pytest.mark.parametrize("name", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("version", VERSIONS)
def test_that_version_chooses_the_winner_without_a_benchmark(
    pythons: dict[str, str], tmp_path: Path, version: str, name: str
) -> None:
    target = parse_target(name)
    children = Children(pythons[version])
    try:
        cached(children, target, tmp_path / "cache")
    finally:
        children.close()

    assert run_autotuned(tmp_path, target, pythons[version])["chosen"] == WINNER
    assert run_autotuned(tmp_path, target, pythons[version], M=1) == {"benchmarked": True}


@pytest.mark.parametrize("version", VERSIONS)
def test_another_versions_file_is_not_taken_for_its_own(
    pythons: dict[str, str], tmp_path: Path, version: str
) -> None:
    target = parse_target("cuda:90")
    children = Children(pythons[version])
    try:
        cached(children, target, tmp_path / "cache")
    finally:
        children.close()

    assert run_autotuned(tmp_path, target) == {"benchmarked": True}

"""A held-out draw of the oracle has new guesses and no kernel from earlier draws."""

from pathlib import Path

import pytest

from tests.gpu.oracle.candidates import Candidate, of_package

PACKAGE = "flashslice"
NAMES = {f"kernel_{number}" for number in range(12)}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "sources" / PACKAGE / PACKAGE
    folder.mkdir(parents=True)
    lines = ["import triton", "import triton.language as tl"]
    for name in sorted(NAMES):
        lines += ["@triton.jit", f"def {name}(x_ptr, n: tl.constexpr):"]
        lines += ["    at = x_ptr + tl.arange(0, n)", "    tl.store(at, tl.load(at) + 1)"]
    (folder / "kernels.py").write_text("\n".join(lines))
    return tmp_path


def by_name(found: list[Candidate]) -> dict[str, Candidate]:
    return {one.kernel: one for one in found}


def test_a_draw_is_always_the_same(cache: Path) -> None:
    once, again = (list(of_package(PACKAGE, cache, draw=1)) for _ in range(2))

    assert once == again
    assert {one.kernel for one in once} == NAMES


def test_another_draw_takes_kernels_in_another_order_from_other_seeds(cache: Path) -> None:
    first, other = (list(of_package(PACKAGE, cache, draw)) for draw in (0, 1))

    assert [one.kernel for one in first] != [one.kernel for one in other]
    seeds = [{name: one.seed for name, one in by_name(draw).items()} for draw in (first, other)]
    assert all(seeds[0][name] != seeds[1][name] for name in NAMES)
    guesses = [{name: one.guesses[0] for name, one in by_name(d).items()} for d in (first, other)]
    assert guesses[0] != guesses[1]


def test_kernels_with_names_that_were_tried_are_left_out(cache: Path) -> None:
    without = frozenset({"kernel_3", "kernel_7"})

    found = of_package(PACKAGE, cache, draw=1, without=without)

    assert {one.kernel for one in found} == NAMES - without

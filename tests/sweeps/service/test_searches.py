"""Searches on a fake GPU: winners, losers with reasons, and skipped variants."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from benchmarks.gpu.launch_bodies import ADD, matmuls
from tests.sweeps.service.searching import (
    BLOCKS,
    PROGRAMS_ALONE,
    SHORT,
    TWICE_AS_LARGE,
    base,
)
from tests.sweeps.service.test_sweeps import post_sweep


@pytest.fixture(scope="module")
def searched(gpu: httpx.Client) -> dict[str, Any]:
    answer = post_sweep(gpu, base=base(), space={"product": BLOCKS}, search=SHORT)
    assert answer.status_code == 200, answer.text
    return answer.json()


def row_of(sweep: dict[str, Any], block: int, warps: int) -> dict[str, Any]:
    values = {"constexprs.BLOCK_SIZE": block, "options.num_warps": warps}
    [row] = [row for row in sweep["rows"] if row["values"].items() >= values.items()]
    return row


def test_the_known_best_wins(searched: dict[str, Any]) -> None:
    [winner] = searched["winners"]

    assert searched["state"] == "completed"
    assert winner["values"] == {"constexprs.BLOCK_SIZE": 256, "options.num_warps": 4}
    assert winner["variant"] == row_of(searched, 256, 4)["index"]
    assert winner["verified"] is True
    assert winner["target"] == "cuda:90"
    assert winner["problem_size"] is None


def test_its_lead_is_over_the_second_best(searched: dict[str, Any]) -> None:
    [winner] = searched["winners"]
    low, high = winner["lead"]["interval_percent"]

    assert winner["lead"]["over"] == row_of(searched, 512, 2)["index"]
    assert winner["lead"]["clear"] is True
    assert winner["lead"]["passes"] == 3
    assert low < winner["lead"]["percent"] < high
    assert winner["lead"]["percent"] == pytest.approx(50, abs=2)


def test_the_winners_time_is_that_of_the_launch_it_names(
    searched: dict[str, Any], gpu: httpx.Client
) -> None:
    [winner] = searched["winners"]
    launch = gpu.get(winner["launch_url"]).json()
    row = row_of(searched, 256, 4)

    assert launch["timing"]["median_us"] == winner["median_us"] == row["median_us"]
    assert launch["timing"]["interval_us"] == winner["interval_us"] == row["interval_us"]
    assert launch["verdict"] == row["verdict"] == "passed"
    assert launch["compilation"]["key"] == winner["compilation_key"] == row["compilation_key"]


def test_wrong_and_faulting_variants_are_dropped_with_their_verdict(
    searched: dict[str, Any],
) -> None:
    wrong, faulting = row_of(searched, 64, 2), row_of(searched, 64, 4)

    assert (wrong["verdict"], wrong["pruned"]["reason"]) == ("mismatch", "verdict")
    assert (faulting["verdict"], faulting["pruned"]["reason"]) == ("illegal_access", "verdict")
    assert faulting["median_us"] is None


def test_a_noisy_time_is_in_its_row_and_does_not_win(searched: dict[str, Any]) -> None:
    [winner] = searched["winners"]
    noisy = row_of(searched, 128, 2)

    assert noisy["median_us"] < winner["median_us"]
    assert winner["note"] == (
        f"variant {noisy['index']} was faster, and may not win: its times are noisy"
    )


def test_a_slower_variant_reports_the_times_of_the_cut(searched: dict[str, Any]) -> None:
    pruned = row_of(searched, 1024, 4)["pruned"]

    assert pruned["reason"] == "slower"
    assert pruned["detail"].startswith("round 1: ")
    assert "where the slowest of the 4 that went on takes" in pruned["detail"]
    assert searched["pruned"] == {"slower": 5, "verdict": 2}


def test_the_answer_says_what_searching_took(searched: dict[str, Any]) -> None:
    found = searched["search"]

    assert found["launches"] == 10 + 4 + 3 * 3  # two rounds, and three passes of the finalists
    assert 0 < found["timed_ms"] < found["measuring_ms"]
    assert searched["budget_ended"] is False


def test_variants_of_one_machine_code_are_run_once(gpu: httpx.Client) -> None:
    options = {"options.num_warps": [4], "options.num_stages": [2, 3]}
    space = {"constexprs.BLOCK_SIZE": [256], **options}
    rows = post_sweep(gpu, base=base(), space=space, search=SHORT).json()["rows"]
    run, same = sorted(rows, key=lambda row: row["state"])

    assert (run["state"], run["verdict"]) == ("completed", "passed")
    assert (same["state"], same["launch_url"], same["median_us"]) == ("pruned", None, None)
    assert same["pruned"] == {
        "reason": "equal_cubin",
        "detail": f"the same machine code in the same grid as variant {run['index']}, whose times "
        "hold here",
        "variant": run["index"],
    }


def test_spilling_variants_run_only_on_request(gpu: httpx.Client) -> None:
    space = {"constexprs.BLOCK_SIZE": [256, 8192], "options.num_warps": [1]}
    fits, spills = post_sweep(gpu, base=base(), space=space, search=SHORT).json()["rows"]
    every = post_sweep(gpu, base=base(), space=space, search=SHORT | {"spills": "run"}).json()

    assert (fits["verdict"], fits["pruned"]) == ("passed", None)
    assert (spills["state"], spills["launch_url"]) == ("pruned", None)
    assert spills["pruned"]["reason"] == "spills"
    assert f"{spills['spill_store_bytes']} bytes stored" in spills["pruned"]["detail"]
    assert [row["verdict"] for row in every["rows"]] == ["passed"] * 2


def test_variants_that_do_not_fit_do_not_run(gpu: httpx.Client) -> None:
    [matmul] = matmuls(1, 256)
    matmul["compilation"]["constexprs"] |= {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 128}
    sweep = post_sweep(gpu, base=matmul, space={"options.num_stages": [5]}, search=SHORT).json()
    [row] = sweep["rows"]

    assert row["pruned"] == {
        "reason": "does_not_fit",
        "detail": "a block takes 327680 bytes of shared memory, and may have 232448",
    }
    assert sweep["winners"][0]["note"] == "no variant was timed to the end (does_not_fit: 1)"


def test_one_machine_code_in_two_grids_is_run_in_both(gpu: httpx.Client) -> None:
    whole = base(PROGRAMS_ALONE, grid=["PROGRAMS"])
    space = {"constexprs": {"BLOCK_SIZE": [1024], "PROGRAMS": [1, 2]}}
    rows = post_sweep(gpu, base=whole, space=space, search=SHORT).json()["rows"]

    assert [row["verdict"] for row in rows] == ["passed", "passed"], rows
    assert all(row["launch_url"] for row in rows)


def test_each_problem_size_has_its_winner_and_what_is_wrong_at_one_wins_at_none(
    gpu: httpx.Client,
) -> None:
    sizes = {"one": {}, "two": TWICE_AS_LARGE}
    space = {"arguments": sizes, "constexprs": {"BLOCK_SIZE": [64, 128, 256, 512]}}
    whole = base()
    whole["compilation"]["options"] = {"num_warps": 4}
    sweep = post_sweep(gpu, base=whole, space=space, search=SHORT).json()
    one, two = sweep["winners"]

    # BLOCK_SIZE 64 is the fastest of "two" (32 programs) and faults with "one" (16)
    assert (one["problem_size"], one["values"]["constexprs.BLOCK_SIZE"]) == ("one", 256)
    assert (two["problem_size"], two["values"]["constexprs.BLOCK_SIZE"]) == ("two", 512)
    assert "illegal_access with one on cuda:90" in two["note"]


def test_rows_of_a_search_have_their_instruction_mix_where_that_is_asked_for(
    gpu: httpx.Client,
) -> None:
    space = {"constexprs": {"BLOCK_SIZE": [256]}, "options.num_warps": [4]}
    asked = {"search": SHORT, "include": ["instruction_mix"]}
    [row] = post_sweep(gpu, base=base(), space=space, **asked).json()["rows"]

    assert row["verdict"] == "passed"
    assert row["instruction_mix"]["total"] > 0


def test_a_variant_that_does_not_compile_is_a_row(gpu: httpx.Client) -> None:
    space = {"constexprs": {"BLOCK_SIZE": [100, 256]}, "options.num_warps": [4]}
    sweep = post_sweep(gpu, base=base(), space=space, search=SHORT).json()
    failed, passed = sweep["rows"]

    assert (failed["state"], failed["problem"]["slug"]) == ("failed", "compile_error")
    assert (passed["state"], sweep["winners"][0]["variant"]) == ("completed", 1)


def test_on_the_cpu_device_there_are_verdicts_and_no_winner(gpu: httpx.Client) -> None:
    whole = base(device="cpu")
    space = {"constexprs": {"BLOCK_SIZE": [128, 256]}}
    sweep = post_sweep(gpu, base=whole, space=space, search=SHORT).json()

    assert [row["verdict"] for row in sweep["rows"]] == ["passed", "passed"]
    assert sweep["winners"] == []
    assert sweep["note"] == (
        "The CPU device has no times, so there is no winner: the rows have verdicts alone."
    )


@pytest.mark.parametrize(
    ("changes", "pointer", "said"),
    [
        ({"search": {"kind": "genetic"}}, "/search/kind", "'halving' or 'exhaustive'"),
        ({"search": {"repeat": 3}}, "/search/repeat", "Did you mean `repeats`?"),
        ({"search": {"spills": True}}, "/search/spills", "'prune' or 'run'"),
        ({"search": 7}, "/search", "must be a JSON object"),
        ({"budget_s": 0}, "/budget_s", "greater than 0"),
        ({"base": base(cases=[{}])}, "/base/cases", "an axis `arguments`"),
    ],
)
def test_nonsense_is_refused_at_its_pointer(
    gpu: httpx.Client, changes: dict[str, Any], pointer: str, said: str
) -> None:
    body = {"base": base(), "space": {"constexprs": {"BLOCK_SIZE": [256]}}, "search": {}} | changes
    answer = post_sweep(gpu, **body)

    assert answer.status_code == 422, answer.text
    faults = {fault["pointer"]: fault["message"] for fault in answer.json()["errors"]}
    assert said in faults[pointer]


def test_a_search_among_compilations_is_refused(gpu: httpx.Client) -> None:
    whole = {"source": ADD, "target": "cuda:90", "signature": {"x_ptr": "*fp32"}}
    answer = post_sweep(gpu, base=whole, space={"constexprs": {"BLOCK_SIZE": [256]}}, search={})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/search"

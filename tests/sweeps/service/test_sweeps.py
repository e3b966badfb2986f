"""Sweeps over compilations: one request, a row for each variant."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service import bodies

SWEEPS = "/v1/sweeps"


def base(mark: str, **changes: Any) -> dict[str, Any]:
    """A kernel that no other test compiles, without the parameters that the sweeps set."""
    return bodies.vector_add(mark) | changes


def post_sweep(http: httpx.Client, wait: float = 60, **body: Any) -> httpx.Response:
    return http.post(SWEEPS, params={"wait": wait}, json=body)


@pytest.fixture(scope="module")
def swept(http: httpx.Client) -> httpx.Response:
    """Three block sizes by two numbers of warps, without the largest block on few warps."""
    space = {"product": {"constexprs.BLOCK_SIZE": [128, 256, 1024], "options.num_warps": [2, 4]}}
    return post_sweep(
        http, base=base("swept"), space=space, where=["BLOCK_SIZE <= 256 * num_warps"]
    )


def test_every_variant_that_stays_is_a_row(swept: httpx.Response) -> None:
    sweep = swept.json()

    assert swept.status_code == 200, sweep
    assert swept.headers["location"] == sweep["url"] == f"{SWEEPS}/{sweep['id']}"
    assert (sweep["state"], sweep["kind"]) == ("completed", "compilations")
    assert sweep["axes"] == [
        {"name": "constexprs.BLOCK_SIZE", "values": [128, 256, 1024]},
        {"name": "options.num_warps", "values": [2, 4]},
    ]
    assert [tuple(row["values"].values()) for row in sweep["rows"]] == [
        (128, 2), (128, 4), (256, 2), (256, 4), (1024, 4),
    ]  # fmt: skip
    assert sweep["counts"] == {"succeeded": 5}
    assert (sweep["total"], sweep["matched"]) == (5, 5)


def test_a_sweep_that_is_posted_again_under_its_key_is_the_first_one(http: httpx.Client) -> None:
    body = {"base": base("under a key"), "space": {"options.num_warps": [2, 4]}}
    named = {"headers": {"Idempotency-Key": "sweep"}}

    first, again = [http.post(SWEEPS, json=body, **named).json() for _ in range(2)]
    other = http.post(SWEEPS, json=body | {"space": {"options.num_warps": [2]}}, **named)

    assert again["id"] == first["id"]
    assert (other.status_code, other.json()["parameter"]) == (422, "Idempotency-Key")


def test_a_sweep_is_listed_and_the_compilations_of_its_rows_are_not(
    swept: httpx.Response, http: httpx.Client
) -> None:
    sweep = swept.json()
    listed = {item["id"]: item for item in http.get(SWEEPS).json()["items"]}
    compiled = http.get("/v1/compilations", params={"limit": 100}).json()["items"]

    item = listed[sweep["id"]]
    assert (item["state"], item["kind"], item["target"]) == ("completed", "compilations", "cuda:90")
    assert item["counts"] == {"over": 5, "succeeded": 5, "total": 5}
    assert not {row["compilation_key"] for row in sweep["rows"]} & {one["id"] for one in compiled}


def test_a_sweep_that_is_over_is_immutable(swept: httpx.Response, http: httpx.Client) -> None:
    url = swept.json()["url"]
    for query in ({}, {"format": "csv"}):
        answer = http.get(url, params=query)
        assert "immutable" in answer.headers["cache-control"]
        known = {"If-None-Match": answer.headers["etag"]}
        assert http.get(url, params=query, headers=known).status_code == 304


def test_a_row_says_what_its_compilation_says(swept: httpx.Response, http: httpx.Client) -> None:
    row = swept.json()["rows"][-1]

    compilation = http.get(row["compilation_url"]).json()

    assert compilation["key"] == row["compilation_key"]
    assert compilation["options"]["num_warps"] == 4
    constexprs = {p["name"]: p["value"] for p in compilation["parameters"] if p["value"]}
    assert constexprs["BLOCK_SIZE"] == {"int": "1024"} or constexprs["BLOCK_SIZE"] == 1024
    resources = compilation["resources"]
    for name in ("registers", "spill_store_bytes", "spill_load_bytes", "shared_bytes"):
        assert row[name] == resources[name]
    assert row["occupancy"] == resources["occupancy"]["ratio"]
    assert row["code_bytes"] == compilation["artifacts"]["cubin"]["size_bytes"]
    assert row["compile_ms"] == compilation["timings_ms"]["total"]


def test_conditions_know_the_defaults_of_options(http: httpx.Client) -> None:
    space = {"targets": ["cuda:90", "hip:gfx942"]}

    sweep = post_sweep(http, base=base("swept"), space=space, where=["num_stages == 3"]).json()

    [row] = sweep["rows"]
    options = http.get(row["compilation_url"]).json()["options"]
    assert (row["values"]["target"], options["num_stages"]) == ("cuda:90", 3)


def test_the_same_sweep_again_is_all_hits(swept: httpx.Response, http: httpx.Client) -> None:
    space = {"constexprs": {"BLOCK_SIZE": [128, 256]}, "options": {"num_warps": [2, 4]}}

    again = post_sweep(http, base=base("swept"), space=space).json()

    assert [row["cache"] for row in again["rows"]] == ["hit"] * 4
    found = {row["compilation_key"] for row in again["rows"]}
    assert found < {row["compilation_key"] for row in swept.json()["rows"]}


def test_rows_have_the_instruction_mix_that_is_asked_for(http: httpx.Client) -> None:
    space = {"targets": ["cuda:90", "hip:gfx942"]}

    sweep = post_sweep(http, base=base("swept"), space=space, include=["instruction_mix"]).json()

    for row in sweep["rows"]:
        mix = row["instruction_mix"]
        whole = http.get(f"{row['compilation_url']}/instructions").json()
        assert (mix["total"], mix["by_opcode"]) == (whole["total"], whole["by_opcode"])
        assert sum(mix["by_class"].values()) == mix["total"] > 0
        assert row["code_bytes"] == whole["code_bytes"]


def test_a_base_with_refresh_is_compiled_again(http: httpx.Client) -> None:
    space = {"options.num_warps": [2, 4]}
    old = post_sweep(http, base=base("again"), space=space).json()

    again = post_sweep(http, base=base("again", refresh=True), space=space).json()

    assert [row["cache"] for row in again["rows"]] == ["miss", "miss"]
    same = [row["compilation_key"] for row in old["rows"]]
    assert [row["compilation_key"] for row in again["rows"]] == same

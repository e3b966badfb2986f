"""Callers of one namespace share a cache; other namespaces learn nothing from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.integration.service import bodies

Teams = Callable[[str], httpx.Client]
BACK_END = ("ttgir", "llir", "ptx", "cubin")


def compiled(client: httpx.Client, comment: str, **changes: Any) -> dict[str, Any]:
    body = bodies.vector_add(comment, **changes)
    made: dict[str, Any] = client.post("/v1/compilations?wait=60", json=body).json()
    assert made["state"] == "succeeded", made
    return made


@pytest.fixture(scope="module")
def made_by_alice(teams: Teams) -> dict[str, Any]:
    return compiled(teams("alice"), "alice's")


def test_a_team_shares_what_it_compiled(teams: Teams, made_by_alice: dict[str, Any]) -> None:
    for_bob = compiled(teams("bob"), "alice's")

    assert (for_bob["cache"], for_bob["key"]) == ("hit", made_by_alice["key"])


def test_a_team_shares_slices_and_ttir(teams: Teams, made_by_alice: dict[str, Any]) -> None:
    for_bob = compiled(teams("bob"), "bob's")

    assert for_bob["cache"] == "miss"
    assert [for_bob["timings_ms"][stage] for stage in BACK_END] == [
        made_by_alice["timings_ms"][stage] for stage in BACK_END
    ]


@pytest.mark.parametrize("comment", ["alice's", "eve's"])
def test_another_team_cannot_tell_what_was_compiled_before(
    teams: Teams, made_by_alice: dict[str, Any], comment: str
) -> None:
    """A cached time would reveal that the compilation was not eve's."""
    for_eve = compiled(teams("eve"), comment, options={"num_warps": 4})

    assert for_eve["cache"] == "miss"
    assert for_eve["key"] != made_by_alice["key"]
    assert for_eve["artifacts"]["ttir"]["digest"] == made_by_alice["artifacts"]["ttir"]["digest"]
    eve_ms, alice_ms = for_eve["timings_ms"], made_by_alice["timings_ms"]
    assert eve_ms["frontend"] != alice_ms["frontend"]
    # a single one may take as many microseconds again
    assert [eve_ms[stage] for stage in BACK_END] != [alice_ms[stage] for stage in BACK_END]


def test_a_digest_opens_a_blob_to_the_team_that_made_it(teams: Teams) -> None:
    made = compiled(teams("alice"), "only alice's", options={"num_warps": 2})
    path = "/v1/blobs/" + made["artifacts"]["ptx"]["digest"]

    assert teams("alice").get(path).status_code == teams("bob").get(path).status_code == 200
    assert teams("eve").get(path).status_code == teams("eve").head(path).status_code == 404
    anything = {"If-None-Match": "*"}
    assert teams("eve").get(path, headers=anything).status_code == 404


def test_callers_who_made_the_same_bytes_may_read_them(teams: Teams) -> None:
    compiled(teams("alice"), "made twice", options={"num_warps": 1})
    made = compiled(teams("eve"), "made twice", options={"num_warps": 1})

    answer = teams("eve").get("/v1/blobs/" + made["artifacts"]["ptx"]["digest"])

    assert answer.status_code == 200


@pytest.mark.parametrize("below", ["", "/request", "/events", "/artifacts/ptx", "/lines",
                                   "/artifacts/sass", "/exports/c"])  # fmt: skip
def test_a_finished_compilation_of_another_team_is_not_found(
    teams: Teams, made_by_alice: dict[str, Any], below: str
) -> None:
    url = made_by_alice["url"] + below

    assert teams("eve").get(url).status_code == 404
    assert teams("eve").delete(made_by_alice["url"]).status_code == 404

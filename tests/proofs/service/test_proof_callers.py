"""A proof belongs to the key that posted it."""

from collections.abc import Callable

import httpx

from proofs.proof_request import EXAMPLE


def test_a_proof_is_its_callers_alone(teams: Callable[[str], httpx.Client]) -> None:
    alice, bob = teams("alice"), teams("bob")
    url = alice.post("/v1/proofs", json=EXAMPLE).json()["url"]

    others = [bob.get(url), bob.delete(url), bob.get(f"{url}/events")]

    assert [answer.status_code for answer in others] == [404] * 3
    proof = alice.get(url, params={"wait": 60}).json()
    assert proof["verdict"] == "proved"
    [item] = alice.get("/v1/proofs", params={"limit": 1}).json()["items"]
    assert (item["id"], item["verdict"]) == (proof["id"], "proved")
    assert (item["kernel"], item["target"]) == ("add_kernel", proof["target"])
    assert bob.get("/v1/proofs").json() == {"items": [], "next": None}

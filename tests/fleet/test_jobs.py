"""A whole fleet: what each machine asks of the others, with nothing broken."""

from __future__ import annotations

from tests.fleet.fleet import Fleet
from tests.integration.service import bodies


def test_a_compilation_passes_through_all_machines(fleet: Fleet) -> None:
    with fleet.client("service-1") as http:
        made = http.post("/v1/compilations", params={"wait": 60}, json=bodies.large(1)).json()
    with fleet.client("service-2") as http:
        again = http.post("/v1/compilations", params={"wait": 60}, json=bodies.large(1)).json()

    assert (made["state"], again["cache"]) == ("succeeded", "hit")
    assert again["included"] == made["included"]
    assert fleet.finishes([made["key"]]) == [1]
    assert any(fleet.bucket.folder.rglob("sha256/*/*")), "its IR is in the bucket"

"""A few hundred cases of `tests.raw_fuzz`, the same each time."""

from __future__ import annotations

import httpx

from tests.integration.service.running import Deployment
from tests.raw_fuzz.cases import case
from tests.raw_fuzz.sending import send_all

CASES = range(200)


async def test_bytes_by_chance_are_no_error_of_the_service(
    system: Deployment, http: httpx.Client
) -> None:
    port = int(system.url.rpartition(":")[2])

    answered = await send_all(port, (case(7, number) for number in CASES))

    assert answered.errors == {}
    assert answered.refused == 0
    assert answered.statuses.total() > len(CASES) / 2
    assert {200, 400, 404, 422} <= answered.statuses.keys()
    assert http.get("/readyz").status_code == 200


def test_a_case_is_made_again_from_its_seed_and_number() -> None:
    assert case(7, 3) == case(7, 3) != case(7, 4)

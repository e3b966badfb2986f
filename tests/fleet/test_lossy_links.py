"""A link that is slow and loses frames: slower work, and the same results."""

from __future__ import annotations

import time

import pytest

from tests.fleet.fleet import RECOVERY_S, Fleet, Record
from tests.fleet.load import Load


@pytest.mark.parametrize("place", ["worker-1", "service-1", "master"])
def test_a_link_that_delays_and_loses_frames(
    fleet: Fleet, load: Load, record_property: Record, place: str
) -> None:
    machine = fleet.machines.get(place) or fleet.machine_of(fleet.servers.master())
    began_at = time.monotonic()
    with fleet.network.lossy(machine, 30, 0.03, fleet.folder / f"lossy-{place}.log"):
        load.recovery_s(began_at)
        if place.startswith("worker"):
            fleet.wait_for_jobs_of(place)
    ended_at = time.monotonic()
    recovery_s = load.recovery_s(ended_at)
    record_property("recovery_s", recovery_s)

    assert recovery_s < RECOVERY_S

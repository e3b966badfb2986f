"""Machines whose link goes down for a while, and comes back."""

from __future__ import annotations

import time

from tests.fleet.fleet import RECOVERY_S, Fleet, Record
from tests.fleet.load import Load


def test_a_worker_is_cut_off(fleet: Fleet, load: Load, record_property: Record) -> None:
    fleet.wait_for_jobs_of("worker-1")
    cut_at = time.monotonic()
    fleet.network.cut(fleet.machines["worker-1"])
    recovery_s = load.recovery_s(cut_at)
    record_property("recovery_s", recovery_s)

    fleet.network.join(fleet.machines["worker-1"])
    fleet.wait_for_jobs_of("worker-1")
    assert recovery_s < RECOVERY_S


def test_the_master_of_the_stores_is_cut_off(
    fleet: Fleet, load: Load, record_property: Record
) -> None:
    master = fleet.servers.master()
    cut_at = time.monotonic()
    fleet.network.cut(fleet.machine_of(master))
    recovery_s = load.recovery_s(cut_at)
    record_property("recovery_s", recovery_s)

    fleet.network.join(fleet.machine_of(master))
    fleet.wait_until_whole()
    assert fleet.servers.master() is not master
    assert recovery_s < RECOVERY_S

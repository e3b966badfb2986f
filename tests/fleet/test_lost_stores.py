"""Stores and a bucket that end, or can keep nothing more."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.fleet.fleet import FILLER, RECOVERY_S, Fleet, Record
from tests.fleet.load import Load
from tests.integration.service import bodies
from tests.waiting import wait_until


def compiled(fleet: Fleet, seed: int) -> dict[str, Any]:
    """Return a compilation whose IR is too large for the store's own memory."""
    with fleet.client("service-1", 90) as http:
        answer = http.post("/v1/compilations", params={"wait": 60}, json=bodies.large(seed))
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found


def fill(folder: Path) -> Path:
    """Leave no byte on the disk of a folder, and return the file that takes it all."""
    filler = folder / FILLER
    try:
        with filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 12))
    except OSError:
        return filler


def test_the_master_is_killed(fleet: Fleet, load: Load, record_property: Record) -> None:
    master = fleet.servers.master()
    master.kill()
    killed_at = time.monotonic()
    recovery_s = load.recovery_s(killed_at)
    record_property("recovery_s", recovery_s)

    assert fleet.servers.master() is not master
    assert recovery_s < RECOVERY_S


def test_the_disk_of_the_master_is_full(fleet: Fleet, load: Load, record_property: Record) -> None:
    master = fleet.servers.master()
    filler = fill(master.folder)
    filled_at = time.monotonic()
    recovery_s = load.recovery_s(filled_at)
    record_property("recovery_s", recovery_s)

    filler.unlink()
    fleet.wait_until_whole()
    assert recovery_s < RECOVERY_S


def test_the_bucket_is_gone(fleet: Fleet, load: Load, record_property: Record) -> None:
    made = compiled(fleet, 2)
    fleet.bucket.kill()
    killed_at = time.monotonic()
    recovery_s = load.recovery_s(killed_at)
    record_property("recovery_s", recovery_s)
    again, new = compiled(fleet, 2), compiled(fleet, 3)
    fleet.bucket.start()

    assert again["included"] == made["included"]
    assert (new["state"], list(new["included"])) == ("succeeded", ["ttir"])
    wait_until(lambda: compiled(fleet, 4)["cache"] == "hit", "the bucket is used again")
    assert recovery_s < RECOVERY_S

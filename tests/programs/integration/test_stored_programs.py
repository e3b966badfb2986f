"""Stored programs: private to their caller, with their tapes' blobs, for a day."""

from programs.stored_programs import Programs
from store import keys
from store.connection import StoreClient
from store.launches import LIFE_S
from store.workers import Worker, Workers


async def test_a_program_is_only_its_callers(redis: StoreClient) -> None:
    programs = Programs(redis)
    await programs.create("program", "alice")

    mine, others = await programs.find("program", "alice"), await programs.find("program", "bob")

    assert mine is not None
    assert mine.tapes == {}
    assert others is None
    assert await programs.find("no program", "alice") is None
    assert 0 < await redis.ttl(keys.PROGRAM + "program") <= LIFE_S


async def test_tapes_may_be_noted_before_the_program_is(redis: StoreClient) -> None:
    programs = Programs(redis)
    await programs.keep_tapes("program", {"candidate": "sha256:1"})

    assert await programs.find("program", "alice") is None
    await programs.create("program", "alice")
    found = await programs.find("program", "alice")
    assert found is not None
    assert found.tapes == {"candidate": "sha256:1"}


async def test_where_programs_were_ever_recorded_stays_known(redis: StoreClient) -> None:
    workers = Workers(redis)
    worker = Worker("w", "compile", "t1", None, "full", 2, 0, programs=["t1", "t2"])
    await workers.beat(worker)
    await workers.unregister("w")

    assert await workers.known_programs() == {"t1", "t2"}
    assert await workers.list() == []


async def test_programs_on_a_gpu_are_offered_for_its_class_alone(redis: StoreClient) -> None:
    workers = Workers(redis)
    gpus = ["cuda:90 NVIDIA H200", "cuda:100 NVIDIA B200"]
    for number, gpu in enumerate(gpus):
        await workers.beat(
            Worker(f"w-gpu{number}", "launch", None, gpu, "launcher", 16, 0, programs=["t1"])
        )
    await workers.unregister("w-gpu0")

    assert await workers.known_programs() == frozenset()
    assert await workers.known_program_devices() == {"t1": sorted(gpus)}

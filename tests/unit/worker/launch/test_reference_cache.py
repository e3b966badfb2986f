"""Cached expected outputs: per caller, within bytes, for as long as the store keeps them."""

from launch.messages import ReferenceReport
from worker.launch.reference_cache import (
    LIFE_S,
    OVERHEAD_BYTES,
    SHARED_FROM_BYTES,
    ReferenceAnswer,
    ReferenceCache,
)
from worker.pool.shared_bytes import SharedBytes

KIB = 1 << 10


def answer(size_bytes=KIB):
    return ReferenceAnswer(ReferenceReport(outputs={}), {"y": bytes(size_bytes)})


def memory_for(answers, size_bytes=KIB, **how):
    """Return a cache with room for this many answers per caller, and twice as many in all."""
    return ReferenceCache(2 * answers * (size_bytes + OVERHEAD_BYTES), **how)


def test_an_answer_is_found_by_its_own_caller_alone():
    memory = memory_for(4)
    memory.keep("ada", "key", answer())

    assert memory.find("ada", "key") is not None
    assert memory.find("bob", "key") is None


def test_the_least_recently_used_of_a_caller_gives_way_to_its_own_new_ones():
    memory = memory_for(2)
    memory.keep("bob", "his", answer())
    for key in ("first", "second"):
        memory.keep("ada", key, answer())
    memory.find("ada", "first")
    memory.keep("ada", "third", answer())

    assert memory.find("ada", "first") is not None
    assert memory.find("ada", "second") is None
    assert memory.find("bob", "his") is not None


def test_all_callers_together_keep_no_more_than_there_is_room_for():
    memory = memory_for(2)
    callers = ("ada", "bob", "cyd")
    for caller in callers:
        for key in ("one", "two"):
            memory.keep(caller, key, answer())

    kept = [caller for caller in callers if memory.find(caller, "two") is not None]
    assert kept == ["bob", "cyd"]


def test_what_would_take_too_much_is_not_kept():
    memory = memory_for(2)
    given = answer(64 * KIB)

    assert memory.keep("ada", "key", given) is given
    assert memory.find("ada", "key") is None


def test_an_answer_is_gone_after_an_hour():
    now = [0.0]
    memory = memory_for(4, clock=lambda: now[0])
    memory.keep("ada", "key", answer())
    now[0] = LIFE_S + 1

    assert memory.find("ada", "key") is None


def test_large_elements_are_kept_where_a_child_can_map_them():
    memory = memory_for(8, size_bytes=SHARED_FROM_BYTES)
    kept = memory.keep("ada", "key", answer(SHARED_FROM_BYTES))

    assert isinstance(kept.outputs["y"], SharedBytes)
    assert bytes(kept.outputs["y"]) == bytes(SHARED_FROM_BYTES)


def test_nothing_is_kept_of_a_memory_of_nothing():
    memory = ReferenceCache(0)
    memory.keep("ada", "key", answer(0))

    assert memory.find("ada", "key") is None


async def test_what_one_launch_calculates_is_waited_for_by_others_of_its_caller():
    memory = memory_for(4)
    with memory.calculating("ada", "key"):
        over = memory.awaited("ada", "key")
        assert over is not None
        assert memory.awaited("bob", "key") is None
        with memory.calculating("ada", "key"):  # one that did not wait
            pass
        assert not over.is_set()

    assert over.is_set()
    assert memory.awaited("ada", "key") is None

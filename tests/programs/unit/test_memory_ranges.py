"""Memory that the replay overwrites before each run of a program's call."""

from programs.gpu.memory_ranges import MemoryRange, to_overwrite


def block(address: int, size: int, state: str, requested: int = 0) -> dict[str, object]:
    return {"address": address, "size": size, "state": state, "requested_size": requested}


def segment(*blocks: dict[str, object]) -> dict[str, object]:
    size = sum(int(str(one["size"])) for one in blocks)
    return {"address": blocks[0]["address"], "total_size": size, "blocks": list(blocks)}


def test_free_memory_and_what_is_left_over_behind_a_tensor_is_overwritten() -> None:
    kept = segment(block(1000, 512, "active_allocated", 500), block(1512, 512, "inactive"))

    assert to_overwrite([kept], []) == [MemoryRange(1500, 524)]


def test_memory_that_is_still_in_use_is_left_alone() -> None:
    kept = segment(block(0, 512, "active_allocated", 512), block(512, 512, "active_pending_free"))

    assert to_overwrite([kept], []) == []


def test_what_runs_made_is_overwritten_with_what_lies_beside_it() -> None:
    kept = segment(block(0, 512, "active_allocated", 512), block(512, 512, "inactive"))

    assert to_overwrite([kept], [MemoryRange(0, 512)]) == [MemoryRange(0, 1024)]
    assert to_overwrite([kept], [MemoryRange(0, 64), MemoryRange(32, 64)]) == [
        MemoryRange(0, 96),
        MemoryRange(512, 512),
    ]


def test_memory_of_two_segments_is_overwritten_apart() -> None:
    both = [segment(block(0, 512, "inactive")), segment(block(512, 512, "inactive"))]

    assert to_overwrite(both, []) == [MemoryRange(0, 512), MemoryRange(512, 512)]


def test_memory_that_was_given_back_is_left_alone() -> None:
    kept = segment(block(0, 512, "active_allocated", 512))

    assert to_overwrite([kept], [MemoryRange(4096, 512)]) == []

"""A worker's cache of recent kernels, within a size."""

from worker.compile.lru_cache import LRUCache


def test_what_was_kept_is_known() -> None:
    cache = LRUCache[str](100)

    cache.put("a", "first", 40)

    assert cache.get("a") == "first"
    assert cache.get("b") is None


def test_the_longest_unasked_is_forgotten_when_there_is_no_room() -> None:
    cache = LRUCache[str](100)
    cache.put("a", "first", 40)
    cache.put("b", "second", 40)
    cache.get("a")

    cache.put("c", "third", 40)

    assert [cache.get(key) for key in "abc"] == ["first", None, "third"]


def test_what_is_kept_again_counts_once() -> None:
    cache = LRUCache[str](100)
    for _ in range(5):
        cache.put("a", "first", 60)
    cache.put("b", "second", 40)

    assert cache.get("a") == "first"


def test_what_is_too_large_is_not_kept() -> None:
    cache = LRUCache[str](100)

    cache.put("a", "first", 101)

    assert cache.get("a") is None

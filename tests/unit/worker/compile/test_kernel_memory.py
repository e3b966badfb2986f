"""What a worker remembers of kernels that were launched before, within a size."""

from worker.compile.kernel_memory import KernelMemory


def test_what_was_kept_is_known() -> None:
    memory = KernelMemory[str](100)

    memory.keep("a", "first", 40)

    assert memory.get("a") == "first"
    assert memory.get("b") is None


def test_the_longest_unasked_is_forgotten_when_there_is_no_room() -> None:
    memory = KernelMemory[str](100)
    memory.keep("a", "first", 40)
    memory.keep("b", "second", 40)
    memory.get("a")

    memory.keep("c", "third", 40)

    assert [memory.get(key) for key in "abc"] == ["first", None, "third"]


def test_what_is_kept_again_counts_once() -> None:
    memory = KernelMemory[str](100)
    for _ in range(5):
        memory.keep("a", "first", 60)
    memory.keep("b", "second", 40)

    assert memory.get("a") == "first"


def test_what_is_too_large_is_not_kept() -> None:
    memory = KernelMemory[str](100)

    memory.keep("a", "first", 101)

    assert memory.get("a") is None

"""Errors of a full queue name its owner and a remedy."""

from store.errors import CallerQueueFull, QueueFull


def test_a_full_lane():
    error = QueueFull("compile:a", 50)

    assert str(error) == (
        "The queue 'compile:a' already holds 50 jobs. Try again when some have finished."
    )
    assert (error.lane, error.limit) == ("compile:a", 50)


def test_a_full_queue_of_one_caller_is_a_full_queue():
    error = CallerQueueFull("compile:a", 20)

    assert isinstance(error, QueueFull)
    assert str(error).startswith("You already have 20 jobs in the queue 'compile:a'")
    assert (error.lane, error.limit) == ("compile:a", 20)

"""The moment by which a launch must be over, however many cases it has."""

import time


class DeadlinePassed(Exception):
    """There was no time left, or not enough for what was under way."""

    def __init__(self, deadline_s: float) -> None:
        super().__init__(
            f"The launch was not over within deadline_s = {deadline_s:g} s, which counts from its "
            "submission. Ask for more, or for fewer cases at a time."
        )


class Deadline:
    """`deadline_s` after the submission; `spent_s` of them had passed when a worker began."""

    def __init__(self, deadline_s: float, spent_s: float = 0.0) -> None:
        self._deadline_s = deadline_s
        self._end = time.monotonic() + deadline_s - spent_s

    def limit_s(self, timeout_s: float) -> float:
        """Return what a step may take that is allowed `timeout_s`. Raises DeadlinePassed."""
        self.check()
        return min(timeout_s, self._end - time.monotonic())

    def check(self) -> None:
        """Raise DeadlinePassed when it has."""
        if time.monotonic() >= self._end:
            raise self.passed

    @property
    def passed(self) -> DeadlinePassed:
        """What to raise where it is known to have."""
        return DeadlinePassed(self._deadline_s)

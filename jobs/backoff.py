"""Pauses between attempts, each twice as long as the one before."""


class Backoff:
    """The lengths of pauses, from `first_s` to `longest_s` seconds."""

    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def next_s(self) -> float:
        """Return the seconds to wait before the next attempt."""
        pause_s = self._next_s
        self._next_s = min(2 * pause_s, self._longest_s)
        return pause_s

    def reset(self) -> None:
        """Begin with the first again: an attempt succeeded."""
        self._next_s = self._first_s

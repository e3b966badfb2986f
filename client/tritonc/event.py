"""Server-sent events: reading their lines, and following a stream through lost connections.

Nothing here opens a connection; `Connection` and `AsyncConnection` do.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tritonc.conversation import LONGEST_PAUSE_S
from tritonc.service_errors import ServerUnavailable

FINISHED = "finished"
MAX_LOSSES = 6  # in a row, without an event between


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: `kind` is `queued`, `started`, `stage`, `finished` or a newer one.

    `id` is where to go on after it; `data` is what the service says of it.
    """

    id: str
    kind: str
    data: Mapping[str, Any]


class Following:
    """How far a stream has been followed; `over` once there is no more to come."""

    def __init__(self, after: str | None = None) -> None:
        self.over = False
        self.pause_s = 0.0
        self._after = after
        self._losses = 0
        self._heard = False
        self._fields: dict[str, str] = {}

    def begin(self) -> dict[str, str]:
        """Begin a connection: return the headers that ask for what was not heard yet."""
        self._heard, self._fields = False, {}
        resumed = {"Last-Event-ID": self._after} if self._after else {}
        return {"Accept": "text/event-stream"} | resumed

    def hear(self, line: str) -> Event | None:
        """Take one line, without its end; return the event that it completes.

        Comments, which keep idle connections open, complete none.
        """
        if line:
            name, _, value = line.partition(":")
            if name:
                self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "event" not in fields:
            return None
        self._after = fields.get("id") or self._after
        self._heard, self._losses = True, 0
        self.over = fields["event"] == FINISHED
        return Event(self._after or "", fields["event"], _data(fields.get("data", "")))

    def ended(self) -> None:
        """Take note of the stream's end: with nothing heard, there is nothing more to tell."""
        self.over = self.over or not self._heard
        self.pause_s = 0.0

    def lost(self, error: ServerUnavailable) -> None:
        """Take note of a lost connection. Raises `error` after several in a row."""
        self._losses += 1
        if self._losses >= MAX_LOSSES:
            raise error
        self.pause_s = min(LONGEST_PAUSE_S, error.retry_after_s or 0.25 * 2**self._losses)


def _data(written: str) -> Mapping[str, Any]:
    try:
        read = json.loads(written or "{}")
    except ValueError:
        return {"text": written}
    return read if isinstance(read, dict) else {"value": read}

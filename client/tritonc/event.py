"""Server-sent events: parsing, and resuming after a lost connection.

Nothing here opens a connection. The text is untrusted, so its kept parts are bounded.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tritonc.exchange import MAX_PAUSE_S, refused_pause_s
from tritonc.service_errors import ProblemError, ServerUnavailable, UnexpectedAnswer

FINISHED = "finished"
MAX_LOSSES = 6  # in a row, without an event between them
MAX_EVENT_CHARS = 1 << 20  # of one event or line; tritond's have a few hundred


@dataclass(frozen=True, slots=True)
class Event:
    """An event: `kind` is `queued`, `started`, `stage`, `finished` or a newer one.

    `id` is where to resume; `data` has the details, as the service sends them.
    """

    id: str
    kind: str
    data: Mapping[str, Any]


class EventDecoder:
    r"""Decodes the events in the text of one connection, following the HTML standard.

    Lines end with \n, \r\n or \r only: JSON may contain characters that Python's `splitlines`
    treats as line ends. `last_id` is the id of events without one.
    """

    def __init__(self, last_id: str = "") -> None:
        self._id = last_id
        self._kind = ""
        self._data: list[str] = []
        self._data_chars = 0
        self._line: list[str] = []  # pieces of an incomplete line
        self._line_chars = 0
        self._after_cr = False

    def feed(self, text: str) -> Iterator[Event]:
        """Take the next piece of the text; yield the events that it completes.

        Comments, which keep idle connections open, complete no event. Raises UnexpectedAnswer for
        an event of more than MAX_EVENT_CHARS, and for an id that no header can send back.
        """
        if self._after_cr:
            text = text.removeprefix("\n")
        self._after_cr = text.endswith("\r")
        *ended, unfinished = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for piece in ended:
            self._add(piece)
            line = "".join(self._line)
            self._line, self._line_chars = [], 0
            if line:
                self._read_field(line)
            elif event := self._complete():
                yield event
        self._add(unfinished)

    def _add(self, piece: str) -> None:
        self._line.append(piece)
        self._line_chars += len(piece) + 1  # an empty piece takes memory, too
        if self._line_chars + self._data_chars > MAX_EVENT_CHARS:
            raise UnexpectedAnswer(f"an event has more than {MAX_EVENT_CHARS} characters")

    def _read_field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._kind = value
            case "data":
                self._data.append(value)
                self._data_chars += len(value) + 1
            case "id":
                if not _fits_header(value):
                    raise UnexpectedAnswer(f"{value[:80]!r} is not a valid event id")
                self._id = value

    def _complete(self) -> Event | None:
        kind, data = self._kind, "\n".join(self._data)
        self._kind, self._data, self._data_chars = "", [], 0
        return Event(self._id, kind, _data(data)) if kind else None


class EventStream:
    """Reads the events of one subject, over as many connections as needed.

    Until it is `over`: pause for `pause_s`, connect with `headers()`, `feed()` the text, and call
    `ended()` or `lost()` when the connection ends. Raises ValueError for an invalid `after`.
    """

    def __init__(self, after: str | None = None) -> None:
        if after and not _fits_header(after):
            raise ValueError(f"after: {after!r} is not a valid event id")
        self.over = False
        self.pause_s = 0.0
        self._last_id = after or ""
        self._losses = 0
        self._had_events = False
        self._decoder = EventDecoder()

    def headers(self) -> dict[str, str]:
        """Return the headers of a new connection, which request the unseen events."""
        self._had_events, self._decoder = False, EventDecoder(self._last_id)
        resumed = {"Last-Event-ID": self._last_id} if self._last_id else {}
        return {"Accept": "text/event-stream"} | resumed

    def feed(self, text: str) -> Iterator[Event]:
        """Take the next piece of the text; yield its events. Raises UnexpectedAnswer."""
        for event in self._decoder.feed(text):
            self._last_id = event.id
            self._had_events, self._losses = True, 0
            self.over = event.kind == FINISHED
            yield event

    def ended(self) -> None:
        """Note that the service closed the stream; if it sent no event, there are no more."""
        self.over = self.over or not self._had_events
        self.pause_s = 0.0

    def lost(self, error: ServerUnavailable | ProblemError) -> None:
        """Note that a connection was lost, or refused with 429.

        Raises `error` after several in a row, and for other refusals.
        """
        self._losses += 1
        if self._losses >= MAX_LOSSES:
            raise error
        if isinstance(error, ProblemError):
            self.pause_s = refused_pause_s(error, MAX_PAUSE_S)
            return
        self.pause_s = min(MAX_PAUSE_S, error.retry_after_s or 0.25 * 2**self._losses)


def _fits_header(event_id: str) -> bool:
    return event_id.isascii() and event_id.isprintable()


def _data(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {"text": text}
    return value if isinstance(value, dict) else {"value": value}

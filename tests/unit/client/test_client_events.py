"""Event streams: parsing, lost connections and resuming."""

from itertools import repeat

import httpx
import pytest
from tritonc import (
    AsyncClient,
    Client,
    Event,
    ProblemError,
    ServerUnavailable,
    UnexpectedAnswer,
)
from tritonc.event import MAX_EVENT_CHARS, MAX_LOSSES, EventDecoder, EventStream

from tests.unit.client.fake_tritond import KEY, FakeTritond

QUEUED = b'id: 1-0\nevent: queued\ndata: {"priority":"interactive"}\n\n'
STARTED = b'id: 2-0\nevent: started\ndata: {"attempt":1}\n\n'
FINISHED = b'id: 3-0\nevent: finished\ndata: {"ending":"finished"}\n\n'


class TruncatedBody(httpx.SyncByteStream):
    """A body that breaks off, as when a proxy restarts."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self):
        yield self._content
        raise httpx.RemoteProtocolError("peer closed connection")


def test_events_are_reported_until_the_last_one(client: Client, tritond: FakeTritond):
    tritond.will_send(QUEUED + b": still here\n\n" + STARTED + FINISHED)

    events = list(client.launches.events("ab12"))

    assert [event.kind for event in events] == ["queued", "started", "finished"]
    assert events[0].data == {"priority": "interactive"}
    assert tritond.requests[0].url.path == "/v1/launches/ab12/events"
    assert "last-event-id" not in tritond.requests[0].headers


def test_a_lost_connection_goes_on_behind_the_last_event(client: Client, tritond: FakeTritond):
    tritond.answers.append(httpx.Response(200, stream=TruncatedBody(QUEUED + STARTED[:20])))
    tritond.will_send(STARTED + FINISHED)

    events = list(client.events(KEY))

    assert [event.id for event in events] == ["1-0", "2-0", "3-0"]
    assert tritond.requests[1].headers["last-event-id"] == "1-0"


def test_a_caller_may_go_on_where_it_was(client: Client, tritond: FakeTritond):
    tritond.will_send(FINISHED)

    list(client.batches.events("b1", after="2-0"))

    assert tritond.requests[0].headers["last-event-id"] == "2-0"


def test_a_caller_cannot_go_on_behind_what_is_no_id(client: Client, tritond: FakeTritond):
    with pytest.raises(ValueError, match="after: '2-0\\\\n' is not a valid event id"):
        next(client.events(KEY, after="2-0\n"))

    assert tritond.requests == []


def test_a_stream_that_ends_early_is_asked_for_the_rest(client: Client, tritond: FakeTritond):
    tritond.will_send(QUEUED)
    tritond.will_send(b"")

    assert [event.kind for event in client.events(KEY)] == ["queued"]
    assert len(tritond.requests) == 2


def test_a_stream_that_is_refused_for_now_is_asked_for_again(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    problem = {"slug": "too_many_requests", "detail": "slow down"}
    tritond.will_answer(problem, status=429, headers={"Retry-After": "2"})
    tritond.will_send(FINISHED)

    assert [event.kind for event in client.events(KEY)] == ["finished"]
    assert pauses == [0, 2]


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "3600"}])
def test_a_stream_that_is_refused_for_long_is_given_up(
    client: Client, tritond: FakeTritond, headers: dict[str, str]
):
    tritond.will_answer({"slug": "too_many_requests"}, status=429, headers=headers)

    with pytest.raises(ProblemError, match="too_many_requests"):
        next(client.events(KEY))


def test_the_losses_in_a_row_are_bounded():
    stream = EventStream()
    pauses = []
    for _ in range(MAX_LOSSES - 1):
        stream.lost(ServerUnavailable("gone"))
        pauses.append(stream.pause_s)

    assert pauses == [0.5, 1, 2, 4, 8]
    with pytest.raises(ServerUnavailable, match="gone"):
        stream.lost(ServerUnavailable("gone"))


def test_an_event_makes_up_for_the_losses_before_it():
    stream = EventStream()
    for _ in range(3 * MAX_LOSSES):
        stream.lost(ServerUnavailable("gone"))
        list(stream.feed(QUEUED.decode()))

    assert not stream.over


def decoded(*pieces: str) -> list[Event]:
    decoder = EventDecoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


def test_an_event_that_is_no_json_is_reported_as_text():
    (event,) = decoded("event: note\ndata: hello\n\n")

    assert event.data == {"text": "hello"}


def test_json_too_deep_to_read_is_reported_as_text():
    (event,) = decoded("event: note\ndata: " + 100_000 * "[" + "\n\n")

    assert list(event.data) == ["text"]


def test_only_the_line_ends_of_the_standard_end_a_line():
    (event,) = decoded('event: note\ndata: {"text": "one\u2028two\x85three"}\n\n')

    assert event.data == {"text": "one\u2028two\x85three"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_arrive_in_any_pieces(end: str):
    text = 'id: 1-0\nevent: stage\n: a comment\ndata: {"stage":\ndata: "ptx"}\n\n'.replace(
        "\n", end
    )

    assert decoded(text) == decoded(*text) == [Event("1-0", "stage", {"stage": "ptx"})]


def test_an_event_without_an_id_has_that_of_the_event_before_it():
    first, second = decoded("id: 1-0\nevent: a\n\n", "event: b\n\n")

    assert (first.id, second.id) == ("1-0", "1-0")


@pytest.mark.parametrize("endless", ["x" * 4096, "data: x\n" * 512, "\ndata: x\ndata" * 64])
def test_an_endless_event_is_refused(endless: str):
    with pytest.raises(UnexpectedAnswer, match="more than 1048576 characters"):
        decoded(*repeat(endless, MAX_EVENT_CHARS))


def test_a_connection_that_is_kept_open_with_comments_is_not_refused():
    decoder = EventDecoder()

    for _ in range(MAX_EVENT_CHARS // 512):
        assert list(decoder.feed(": still here\n" * 512)) == []


@pytest.mark.parametrize("name", ["\u00fc", "1-0\t", "1\0"])
def test_an_id_that_no_header_can_hold_is_refused(name: str):
    with pytest.raises(UnexpectedAnswer, match="is not a valid event id"):
        decoded(f"id: {name}\n")


def test_an_endless_event_is_not_asked_for_again(client: Client, tritond: FakeTritond):
    tritond.will_send(b"data: " + 2 * MAX_EVENT_CHARS * b"x")

    with pytest.raises(UnexpectedAnswer):
        list(client.events(KEY))

    assert len(tritond.requests) == 1


async def test_the_async_client_follows_too(tritond: FakeTritond):
    tritond.answers.append(httpx.ConnectError("refused"))
    tritond.will_send(QUEUED + FINISHED)

    async with AsyncClient(transport=tritond) as client:
        kinds = [event.kind async for event in client.launches.events("ab12")]

    assert kinds == ["queued", "finished"]

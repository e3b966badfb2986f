"""Following events: their lines, lost connections, and where it goes on."""

import httpx
import pytest
from fake_tritond import KEY, FakeTritond
from tritonc import AsyncClient, Client, ServerUnavailable
from tritonc.event import MAX_LOSSES, Following

QUEUED = b'id: 1-0\nevent: queued\ndata: {"priority":"interactive"}\n\n'
STARTED = b'id: 2-0\nevent: started\ndata: {"attempt":1}\n\n'
FINISHED = b'id: 3-0\nevent: finished\ndata: {"ending":"finished"}\n\n'


class BrokenOff(httpx.SyncByteStream):
    """A body that ends in the middle, as that of a proxy that is restarted."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def __iter__(self):
        yield self._content
        raise httpx.RemoteProtocolError("peer closed connection")


def test_events_are_told_until_the_last_one(client: Client, tritond: FakeTritond):
    tritond.will_send(QUEUED + b": still here\n\n" + STARTED + FINISHED)

    events = list(client.launches.events("ab12"))

    assert [event.kind for event in events] == ["queued", "started", "finished"]
    assert events[0].data == {"priority": "interactive"}
    assert tritond.requests[0].url.path == "/v1/launches/ab12/events"
    assert "last-event-id" not in tritond.requests[0].headers


def test_a_lost_connection_goes_on_behind_the_last_event(client: Client, tritond: FakeTritond):
    tritond.answers.append(httpx.Response(200, stream=BrokenOff(QUEUED + STARTED[:20])))
    tritond.will_send(STARTED + FINISHED)

    events = list(client.events(KEY))

    assert [event.id for event in events] == ["1-0", "2-0", "3-0"]
    assert tritond.requests[1].headers["last-event-id"] == "1-0"


def test_a_caller_may_go_on_where_it_was(client: Client, tritond: FakeTritond):
    tritond.will_send(FINISHED)

    list(client.batches.events("b1", after="2-0"))

    assert tritond.requests[0].headers["last-event-id"] == "2-0"


def test_a_stream_that_ends_early_is_asked_for_the_rest(client: Client, tritond: FakeTritond):
    tritond.will_send(QUEUED)
    tritond.will_send(b"")

    assert [event.kind for event in client.events(KEY)] == ["queued"]
    assert len(tritond.requests) == 2


def test_the_losses_in_a_row_are_bounded():
    following = Following()
    pauses = []
    for _ in range(MAX_LOSSES - 1):
        following.lost(ServerUnavailable("gone"))
        pauses.append(following.pause_s)

    assert pauses == [0.5, 1, 2, 4, 8]
    with pytest.raises(ServerUnavailable, match="gone"):
        following.lost(ServerUnavailable("gone"))


def test_an_event_makes_up_for_the_losses_before_it():
    following = Following()
    for _ in range(3 * MAX_LOSSES):
        following.lost(ServerUnavailable("gone"))
        for line in QUEUED.decode().split("\n")[:-1]:
            following.hear(line)

    assert not following.over


def test_an_event_that_is_no_json_is_told_as_text():
    following = Following()
    following.hear("event: note")
    following.hear("data: hello")

    event = following.hear("")

    assert event is not None
    assert event.data == {"text": "hello"}


async def test_the_async_client_follows_too(tritond: FakeTritond):
    tritond.answers.append(httpx.ConnectError("refused"))
    tritond.will_send(QUEUED + FINISHED)

    async with AsyncClient(transport=tritond) as client:
        kinds = [event.kind async for event in client.launches.events("ab12")]

    assert kinds == ["queued", "finished"]

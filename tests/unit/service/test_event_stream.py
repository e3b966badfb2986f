"""Events as the service sends them."""

from collections.abc import AsyncIterator

from service.routes.events import render_events
from store.events import Event


async def reported() -> AsyncIterator[Event | None]:
    yield Event("1-0", "queued", b"{}")
    yield None
    yield Event("2-0", "finished", b'{"ending":"finished"}')


async def test_an_event_has_its_id_kind_and_data_and_a_silence_is_a_comment():
    assert [block async for block in render_events(reported())] == [
        b"id: 1-0\nevent: queued\ndata: {}\n\n",
        b": still here\n\n",
        b'id: 2-0\nevent: finished\ndata: {"ending":"finished"}\n\n',
    ]

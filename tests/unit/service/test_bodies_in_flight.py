"""Bodies in flight: the bytes held for each caller, and bodies dropped over the limit."""

from __future__ import annotations

import pytest

from service.http.bodies_in_flight import QUICK_S, BodiesInFlight, BodyInFlight

KIB, MIB = 1 << 10, 1 << 20


class Sending:
    """Bodies of at most 100 MiB, 60 MiB per caller, on a clock that a test sets."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.bodies = BodiesInFlight(100 * MIB, 60 * MIB, lambda: self.now_s)
        self.dropped: dict[str, str] = {}

    def begin(self, name: str, size_bytes: int, caller: str = "alice") -> BodyInFlight:
        body = self.bodies.expect(caller, lambda reason: self.dropped.update({name: reason}))
        body.add(size_bytes)
        return body


@pytest.fixture
def sending() -> Sending:
    return Sending()


def test_bytes_count_until_their_request_ends(sending: Sending):
    body = sending.begin("batch", 10 * MIB)
    body.add(5 * MIB)
    body.has_arrived()

    assert sending.bodies.held_bytes == {"alice": 15 * MIB}

    body.release()

    assert sending.bodies.held_bytes == {}


def test_one_caller_has_a_limit(sending: Sending):
    sending.begin("stalled", 30 * MIB)
    sending.now_s = 10
    sending.begin("another caller's", 20 * MIB, "bob")
    sending.begin("quick", 31 * MIB)

    assert list(sending.dropped) == ["stalled"]
    assert sending.dropped["stalled"] == f"Your request bodies exceed {60 * MIB} bytes in total"
    assert sending.bodies.held_bytes == {"alice": 31 * MIB, "bob": 20 * MIB}


def test_all_callers_have_a_limit_together(sending: Sending):
    sending.begin("stalled", 50 * MIB, "alice")
    sending.now_s = 10
    sending.begin("quick", 40 * MIB, "bob")
    sending.begin("quicker", 11 * MIB, "carol")

    assert list(sending.dropped) == ["stalled"]
    assert "The bodies of all requests" in sending.dropped["stalled"]


def test_as_many_are_dropped_as_must_be(sending: Sending):
    for number in range(5):
        sending.begin(f"stalled {number}", 10 * MIB)
        sending.now_s += 1
    sending.begin("quick", 35 * MIB)

    assert list(sending.dropped) == ["stalled 0", "stalled 1", "stalled 2"]


def test_a_small_body_is_not_dropped_while_there_are_large_ones(sending: Sending):
    """It may be slower than large ones, but dropping it would free little."""
    sending.begin("small and slow", KIB)
    sending.now_s = 10
    sending.begin("large", 50 * MIB)
    sending.now_s = 20
    sending.begin("large and quick", 20 * MIB)

    assert list(sending.dropped) == ["large"]


def test_a_small_quick_body_is_taken_whatever_is_held(sending: Sending):
    for number in range(6):
        sending.begin(f"being worked at {number}", 10 * MIB).has_arrived()
    sending.begin("small and quick", KIB)

    assert not sending.dropped


def test_small_bodies_that_stall_are_dropped(sending: Sending):
    for _ in range(960):
        sending.begin("stalled", 64 * KIB)
    assert not sending.dropped
    sending.now_s = 2

    sending.begin("quick", KIB)

    assert list(sending.dropped) == ["stalled"]


def test_what_has_arrived_is_not_dropped(sending: Sending):
    sending.begin("there", 50 * MIB).has_arrived()
    sending.now_s = 10
    sending.begin("too much", 20 * MIB)

    assert list(sending.dropped) == ["too much"]


def test_a_body_is_counted_for_the_key_that_sends_it(sending: Sending):
    first, second = (sending.begin("one", 25 * MIB, "192.0.2.7") for _ in range(2))
    first.belongs_to("alice")
    first.add(5 * MIB)

    assert sending.bodies.held_bytes == {"192.0.2.7": 25 * MIB, "alice": 30 * MIB}
    second.release()
    first.release()
    assert sending.bodies.held_bytes == {}


def test_a_body_that_is_dropped_is_held_no_more(sending: Sending):
    body = sending.begin("too large", 61 * MIB)
    body.release()

    assert list(sending.dropped) == ["too large"]
    assert sending.bodies.held_bytes == {}
    assert not sending.bodies.arriving


def test_many_bodies_are_dropped_in_linear_time(monkeypatch: pytest.MonkeyPatch):
    """A single byte may evict all slow bodies; the event loop serves nothing else meanwhile."""
    looked_at = []
    is_small_and_quick = BodyInFlight.is_small_and_quick
    monkeypatch.setattr(
        BodyInFlight,
        "is_small_and_quick",
        lambda body, now_s: looked_at.append(body) or is_small_and_quick(body, now_s),
    )
    now_s = 0.0
    bodies = BodiesInFlight(10_000, 10_000, lambda: now_s)
    dropped = []
    for _ in range(1000):
        bodies.expect("alice", dropped.append).add(1)
    arrived = bodies.expect("alice", dropped.append)
    arrived.add(9000)
    arrived.has_arrived()
    now_s = 2 * QUICK_S

    bodies.expect("alice", dropped.append).add(1000)

    assert len(dropped) == 1000
    assert len(looked_at) < 3000

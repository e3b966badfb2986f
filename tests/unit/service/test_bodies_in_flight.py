"""Bodies have room until there is none; then the slowest large one that is still sent goes."""

import pytest

from service.http.bodies_in_flight import SMALL_BYTES, BodiesInFlight
from service.http.problems import ProblemRaised

PART = 4 * SMALL_BYTES


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def sending(bodies, caller, size=PART):
    """A body of which `size` bytes have come; `dropped` is whether it had to give way."""
    body = bodies.begin(caller)
    body.dropped = False

    def drop():
        body.dropped = True

    body.on_drop(drop)
    body.add(size)
    return body


def test_the_slowest_gives_way(clock):
    bodies = BodiesInFlight(4 * PART, 4 * PART, clock)
    slow = sending(bodies, "a")
    clock.now = 10
    quick = [sending(bodies, "a") for _ in range(3)]
    clock.now = 11

    newest = sending(bodies, "b")

    assert slow.dropped
    assert not any(body.dropped for body in [*quick, newest])
    assert bodies.held_bytes == 4 * PART


def test_a_small_body_never_gives_way(clock):
    bodies = BodiesInFlight(2 * PART, 2 * PART, clock)
    small = sending(bodies, "a", SMALL_BYTES)
    large = sending(bodies, "a")
    clock.now = 100
    small_and_late = sending(bodies, "a", SMALL_BYTES)

    sending(bodies, "b")

    assert large.dropped
    assert not small.dropped
    assert not small_and_late.dropped


def test_a_whole_body_never_gives_way(clock):
    bodies = BodiesInFlight(PART, PART, clock)
    sending(bodies, "a").complete()
    clock.now = 100

    with pytest.raises(ProblemRaised) as refused:
        sending(bodies, "b")

    assert refused.value.slug == "too_many_bodies"


def test_a_caller_beyond_its_share_drops_its_own_alone(clock):
    bodies = BodiesInFlight(10 * PART, 2 * PART, clock)
    others = sending(bodies, "b")
    clock.now = 50
    own = sending(bodies, "a")
    clock.now = 60
    sending(bodies, "a").complete()

    sending(bodies, "a")

    assert own.dropped
    assert not others.dropped


def test_a_caller_whose_bodies_are_all_whole_is_told_to_send_fewer(clock):
    bodies = BodiesInFlight(10 * PART, PART, clock)
    sending(bodies, "a").complete()

    with pytest.raises(ProblemRaised) as refused:
        bodies.begin("a").add(PART)

    assert refused.value.slug == "too_many_requests"


def test_room_is_given_back(clock):
    bodies = BodiesInFlight(PART, PART, clock)
    body = sending(bodies, "a")
    body.release()
    body.release()

    sending(bodies, "a")

    assert bodies.held_bytes == PART


def test_who_is_dropped_has_no_bytes_left(clock):
    bodies = BodiesInFlight(PART, PART, clock)
    body = sending(bodies, "a")
    clock.now = 1
    sending(bodies, "b")
    body.release()

    assert bodies.held_bytes == PART

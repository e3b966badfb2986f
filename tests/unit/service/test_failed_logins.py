"""Guessed API keys: a burst is answered, then one a second; other callers are not slowed down."""

import pytest

from service.caller import FAILURES_AT_ONCE, MAX_ADDRESSES, FailedLogins
from service.http.problems import ProblemRaised
from tests.unit.service.asgi import request
from tests.unit.service.test_callers import COMPILER, FakeApiKeys, callers


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def failed(address: str, times: int = FAILURES_AT_ONCE) -> tuple[FailedLogins, Clock]:
    clock = Clock()
    logins = FailedLogins(clock)
    for _ in range(times):
        logins.note(address)
    return logins, clock


def test_a_few_mistakes_cost_nothing():
    logins, _ = failed("192.0.2.1", FAILURES_AT_ONCE - 1)

    assert logins.wait_s("192.0.2.1") == 0


def test_after_a_burst_there_is_one_try_a_second():
    logins, clock = failed("192.0.2.1")
    assert logins.wait_s("192.0.2.1") == 1

    clock.now_s += 1
    assert logins.wait_s("192.0.2.1") == 0
    logins.note("192.0.2.1")
    assert logins.wait_s("192.0.2.1") == 1


def test_other_addresses_are_not_slowed_down():
    logins, _ = failed("192.0.2.1")

    assert logins.wait_s("192.0.2.2") == 0


def test_the_addresses_of_one_ipv6_site_count_as_one():
    logins, _ = failed("2001:db8::1")

    assert logins.wait_s("2001:db8::ffff") > 0
    assert logins.wait_s("2001:db8:0:1::1") == 0


def test_a_flood_of_addresses_takes_bounded_memory():
    logins, _ = failed("192.0.2.1", 1)
    for n in range(MAX_ADDRESSES):
        logins.note(f"host-{n}")

    assert len(logins._failed) == MAX_ADDRESSES


async def guess(identifying, times):
    """Return the slugs for `times` wrong keys, all different."""
    slugs = []
    for n in range(times):
        with pytest.raises(ProblemRaised) as raised:
            await identifying.identify(request({"Authorization": f"Bearer guess-{n}"}), "compile")
        slugs.append(raised.value.slug)
    return slugs


async def test_a_guesser_has_to_wait_and_its_keys_are_not_looked_up():
    fake = FakeApiKeys(s3cret=COMPILER)
    slugs = await guess(callers(fake), FAILURES_AT_ONCE + 10)

    assert slugs == ["unauthorized"] * FAILURES_AT_ONCE + ["too_many_requests"] * 10
    assert len(fake.look_ups) == FAILURES_AT_ONCE


async def test_a_key_that_was_right_before_works_beside_a_guesser():
    identifying = callers(FakeApiKeys(s3cret=COMPILER))
    good = request({"Authorization": "Bearer s3cret"})
    await identifying.identify(good, "compile")

    await guess(identifying, FAILURES_AT_ONCE + 1)

    assert (await identifying.identify(good, "compile")).id == "k1"


async def test_a_guesser_learns_how_long_to_wait():
    identifying = callers(FakeApiKeys(s3cret=COMPILER))
    await guess(identifying, FAILURES_AT_ONCE)

    with pytest.raises(ProblemRaised) as raised:
        await identifying.identify(request({"Authorization": "Bearer another"}), "compile")

    assert raised.value.headers == {"Retry-After": "1"}

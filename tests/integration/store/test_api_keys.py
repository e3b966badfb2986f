"""API keys: the secret is shown once and never stored."""

import pytest

from store import keys
from store.api_keys import ApiKeys


@pytest.fixture
def api_keys(redis):
    return ApiKeys(redis)


async def test_a_secret_opens_its_key(api_keys):
    key, secret = await api_keys.create("ci", ("compile", "launch"), "team-a")

    assert await api_keys.find(secret) == key
    assert (key.name, key.scopes, key.namespace) == ("ci", ("compile", "launch"), "team-a")
    assert secret.startswith("tritond_")


async def test_a_wrong_secret_opens_nothing(api_keys):
    await api_keys.create("ci", ("compile",))

    assert await api_keys.find("tritond_guessed") is None


async def test_the_secret_is_not_stored(api_keys, redis):
    _, secret = await api_keys.create("ci", ("compile",))

    stored = await redis.hgetall("tritond:api-keys")
    assert secret.encode() not in b"".join([*stored.keys(), *stored.values()])


async def test_a_revoked_key_opens_nothing(api_keys):
    key, secret = await api_keys.create("ci", ("compile",))
    other, _ = await api_keys.create("laptop", ("admin",))

    assert await api_keys.revoke(key.id)

    assert await api_keys.find(secret) is None
    assert await api_keys.list() == [other]
    assert not await api_keys.revoke(key.id)


async def test_there_are_keys_or_there_are_none(api_keys):
    assert not await api_keys.any()
    await api_keys.create("ci", ("compile",))
    assert await api_keys.any()


async def test_a_key_that_is_revoked_while_its_limits_change_stays_revoked(api_keys, redis):
    key, secret = await api_keys.create("ci", ("compile",))
    [digest] = await redis.hkeys(keys.API_KEYS)
    await api_keys.revoke(key.id)

    assert await api_keys._change(digest.decode(), key) is None, "the second half of an update"

    assert await api_keys.find(secret) is None


async def test_a_new_limit_begins_without_what_an_old_one_left(api_keys, redis):
    key, _ = await api_keys.create("ci", ("compile",), requests_per_s=0.01)
    await redis.set(keys.REQUEST_RATE + key.id, 2**60)

    await api_keys.update(key.id, {"requests_per_s": 100.0})

    assert not await redis.exists(keys.REQUEST_RATE + key.id)


async def test_an_expired_key_opens_nothing_and_is_still_listed(api_keys):
    key, secret = await api_keys.create("ci", ("compile",), expires_at="2020-01-01T00:00:00+00:00")

    assert await api_keys.find(secret) is None
    assert await api_keys.list() == [key]
    assert (key.is_expired(), key.created_at > "2026") == (True, True)

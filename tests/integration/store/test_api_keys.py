"""API keys: the secret is shown once and never stored."""

import hashlib
from dataclasses import replace

import orjson
import pytest

from store import keys
from store.api_keys import ApiKey, ApiKeys


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


EARLIER_MEMBERS = {
    "gpu_seconds_per_hour",
    "id",
    "name",
    "namespace",
    "requests_per_s",
    "scopes",
}
"""All that a service reads which knows no dates; it refuses to start if there are others."""


async def test_an_earlier_service_reads_every_key(api_keys, redis):
    key, _ = await api_keys.create("ci", ("compile",), requests_per_s=2.0)
    await api_keys.create("guest", ("compile",), expires_at="2099-01-01T00:00:00+00:00")
    await api_keys.adopt("chosen elsewhere", "admin", ("admin",))
    await api_keys.update(key.id, {"requests_per_s": 3.0})

    stored = [orjson.loads(value) for value in await redis.hvals(keys.API_KEYS)]

    assert [set(members) for members in stored] == [EARLIER_MEMBERS] * 3


async def test_an_earlier_service_refuses_a_secret_that_expires(api_keys, redis):
    _, secret = await api_keys.create("guest", ("compile",), expires_at="2099-01-01T00:00:00+00:00")

    assert await api_keys.find(secret) is not None
    assert not await redis.hexists(keys.API_KEYS, hashlib.sha256(secret.encode()).hexdigest())
    assert await redis.hlen(keys.API_KEYS) == 1, "else it would take a deployment for an open one"


async def test_a_key_that_expires_is_changed_and_revoked_as_any_other(api_keys, redis):
    at = "2099-01-01T00:00:00+00:00"
    key, secret = await api_keys.create("guest", ("compile",), expires_at=at)

    changed = await api_keys.update(key.id, {"requests_per_s": 3.0})
    assert await api_keys.find(secret) == changed == replace(key, requests_per_s=3.0)

    assert await api_keys.revoke(key.id)
    assert await api_keys.find(secret) is None
    assert not await redis.exists(keys.API_KEYS, keys.API_KEY_DATES)


async def test_a_key_whose_end_was_lost_has_ended(api_keys, redis):
    at = "2099-01-01T00:00:00+00:00"
    _, secret = await api_keys.create("guest", ("compile",), expires_at=at)
    await redis.delete(keys.API_KEY_DATES)

    assert await api_keys.find(secret) is None


async def test_a_key_that_holds_its_dates_itself_is_read(api_keys, redis):
    secret = "tritond_secret-of-a-key-with-dates"
    at = {"created_at": "2026-01-01T00:00:00+00:00", "expires_at": "2099-01-01T00:00:00+00:00"}
    members = {"id": "1", "name": "ci", "scopes": ["compile"], "namespace": "", **at}
    digest = hashlib.sha256(secret.encode()).hexdigest()
    await redis.hset(keys.API_KEYS, digest, orjson.dumps(members))

    assert await api_keys.find(secret) == ApiKey("1", "ci", ("compile",), "", None, None, **at)

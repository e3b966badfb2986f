"""Callers: API keys and scopes, with a fake of the stored keys."""

from typing import cast

import pytest

from service.caller import ANONYMOUS, Caller, Callers, RequestRate
from service.http.bodies_in_flight import IN_SCOPE, BodiesInFlight
from service.http.problems import ProblemRaised
from store.api_keys import ApiKey, ApiKeys
from tests.unit.service.asgi import request

COMPILER = ApiKey("k1", "ci", ("compile",), "team-a")
ADMIN = ApiKey("k2", "operator", ("admin",), "")


class FakeApiKeys:
    """Fakes store.api_keys.ApiKeys: secrets in a dict instead of Redis."""

    def __init__(self, **keys: ApiKey) -> None:
        self.keys = keys
        self.look_ups: list[str] = []

    async def find(self, secret: str) -> ApiKey | None:
        self.look_ups.append(secret)
        return self.keys.get(secret)

    async def any(self) -> bool:
        return bool(self.keys)


def callers(fake: FakeApiKeys, *, is_private: bool = True) -> Callers:
    limits = cast("RequestRate", None)  # no key here has one
    return Callers(cast("ApiKeys", fake), limits, is_private=is_private)


async def identify(fake: FakeApiKeys, authorization: str | None, scope: str = "compile") -> Caller:
    headers = {} if authorization is None else {"Authorization": authorization}
    return await callers(fake).identify(request(headers), scope)


async def refusal(
    fake: FakeApiKeys, authorization: str | None, scope: str = "compile"
) -> ProblemRaised:
    with pytest.raises(ProblemRaised) as raised:
        await identify(fake, authorization, scope)
    return raised.value


@pytest.mark.parametrize("authorization", ["Bearer s3cret", "bearer s3cret", "Bearer  s3cret "])
async def test_a_key_names_its_caller(authorization: str):
    caller = await identify(FakeApiKeys(s3cret=COMPILER), authorization)

    assert caller == Caller("k1", frozenset({"compile"}), "team-a")


@pytest.mark.parametrize("scope", ["compile", "launch", "admin"])
async def test_an_admin_may_do_everything(scope: str):
    assert (await identify(FakeApiKeys(s3cret=ADMIN), "Bearer s3cret", scope)).id == "k2"


async def test_a_key_without_the_scope_is_forbidden():
    raised = await refusal(FakeApiKeys(s3cret=COMPILER), "Bearer s3cret", "launch")

    assert raised.slug == "forbidden"
    assert str(raised) == "The API key 'k1' lacks the scope 'launch'"


@pytest.mark.parametrize("authorization", [None, "Bearer s3cret"])
async def test_without_any_key_everybody_is_anonymous(authorization: str | None):
    assert await identify(FakeApiKeys(), authorization, "admin") == ANONYMOUS


@pytest.mark.parametrize(
    ("authorization", "detail"),
    [
        (None, "This service needs an API key; send `Authorization: Bearer <API key>`"),
        ("", "This service needs an API key; send `Authorization: Bearer <API key>`"),
        ("Bearer", "This service needs an API key; send `Authorization: Bearer <API key>`"),
        ("Bearer wrong", "This API key is not known"),
        ("Basic czNjcmV0", "Write `Authorization: Bearer <API key>`"),
        ("s3cret", "Write `Authorization: Bearer <API key>`"),
    ],
)
async def test_without_a_known_key_no_caller_is_let_in(authorization: str | None, detail: str):
    raised = await refusal(FakeApiKeys(s3cret=COMPILER), authorization)

    assert raised.slug == "unauthorized"
    assert str(raised) == detail
    assert raised.headers == {"WWW-Authenticate": "Bearer"}


async def test_a_refusal_does_not_tell_the_secret():
    assert "wrong" not in str(await refusal(FakeApiKeys(s3cret=COMPILER), "Bearer wrong"))


async def test_a_key_is_looked_up_once_in_a_while():
    fake = FakeApiKeys(s3cret=COMPILER)
    identifying = callers(fake)
    identifying.start_remembering()
    for _ in range(3):
        await identifying.identify(request({"Authorization": "Bearer s3cret"}), "compile")

    assert fake.look_ups == ["s3cret"]


async def test_an_absurdly_long_secret_is_neither_looked_up_nor_kept():
    fake = FakeApiKeys(s3cret=COMPILER)
    raised = await refusal(fake, "Bearer " + "x" * 10_000)

    assert raised.slug == "unauthorized"
    assert fake.look_ups == []


async def test_callers_are_not_cached_while_changes_cannot_be_received():
    fake = FakeApiKeys()
    identifying = callers(fake)
    identifying.start_remembering()
    identifying.stop_remembering()
    assert await identifying.identify(request(), "compile") == ANONYMOUS

    fake.keys["s3cret"] = COMPILER

    with pytest.raises(ProblemRaised, match="needs an API key"):
        await identifying.identify(request(), "compile")


async def test_the_first_key_ends_anonymous_access_at_once():
    fake = FakeApiKeys()
    identifying = callers(fake)
    identifying.start_remembering()
    assert await identifying.identify(request(), "compile") == ANONYMOUS

    fake.keys["s3cret"] = COMPILER
    identifying.forget()

    with pytest.raises(ProblemRaised, match="needs an API key"):
        await identifying.identify(request(), "compile")


async def test_revoking_the_last_key_opens_a_service_only_to_its_own_machine():
    private, public = (callers(FakeApiKeys(), is_private=private) for private in (True, False))

    assert await private.identify(request({}), "admin") == ANONYMOUS
    with pytest.raises(ProblemRaised, match="needs an API key"):
        await public.identify(request({}), "admin")


@pytest.mark.parametrize(
    ("keys", "owner"), [({"s3cret": COMPILER}, "k1"), ({}, "192.0.2.7")], ids=["a key", "no key"]
)
async def test_a_body_counts_for_its_caller(keys: dict[str, ApiKey], owner: str):
    """Bytes read before authentication count for the sender's address."""
    bodies = BodiesInFlight(100, 100)
    asking = request({"Authorization": "Bearer s3cret"} if keys else {})
    asking.scope[IN_SCOPE] = body = bodies.expect("a proxy", pytest.fail)
    body.add(10)

    await callers(FakeApiKeys(**keys)).identify(asking, "compile")

    assert bodies.held_bytes == {owner: 10}

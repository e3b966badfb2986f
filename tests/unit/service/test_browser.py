"""Requests from pages of other origins, recognized by the browser's headers."""

import itertools
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from service.http.browser import BrowserMiddleware
from store.errors import StoreUnavailable

HERE = "127.0.0.1:8000"


class Callers:
    """Fakes service.caller.Callers: only knows whether anyone is accepted."""

    def __init__(self, *, is_open: bool | None) -> None:
        self._is_open = is_open

    async def is_open(self) -> bool:
        if self._is_open is None:
            raise StoreUnavailable("away")
        return self._is_open


async def ask(
    headers: dict[str, str] | list[tuple[str, str]],
    method: str = "GET",
    path: str = "/v1/system",
    *,
    is_open: bool | None = True,
    names: tuple[str, ...] = (),
    framed: bool = False,
) -> httpx.Response:
    """Return the answer of an application that answers 204 to every request let through."""
    here = SimpleNamespace(
        state=SimpleNamespace(service=SimpleNamespace(callers=Callers(is_open=is_open)))
    )

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def with_app(scope: Any, receive: Any, send: Any) -> None:
        guarded = BrowserMiddleware(app, "127.0.0.1", names, may_be_framed=framed)
        await guarded({**scope, "app": here}, receive, send)

    transport = httpx.ASGITransport(with_app)
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{HERE}") as http:
        return await http.request(method, path, headers=headers)


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8000", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:65535", "[::1]",
     "[::1]:8000"],
)  # fmt: skip
async def test_the_names_of_this_machine_are_answered_at_any_port(host: str):
    assert (await ask({"Host": host})).status_code == 204


REBOUND = (
    ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example",
     "0.0.0.0:8000", "", "localhost:", "localhost:x", "localhost:80:90", "[::1]:", "user@localhost",
     "localhost, evil.example", "::1", "[::2]", "localhost.", "xn--localhost-"]
)  # fmt: skip


async def test_a_name_that_was_rebound_is_misdirected(subtests: pytest.Subtests):
    methods = ["GET", "POST", "PUT", "DELETE", "OPTIONS"]
    for host, method in itertools.product(REBOUND, methods):
        with subtests.test(host=host, method=method):
            answer = await ask([("Host", host)], method)
            assert answer.status_code == 421
            assert answer.json()["slug"] == "misdirected"
            assert "TRITOND_ALLOWED_HOSTS" in answer.json()["detail"]


async def test_two_hosts_are_none():
    assert (await ask([("Host", "localhost"), ("Host", "evil.example")])).status_code == 421


async def test_a_name_of_the_settings_is_answered_and_may_be_an_origin():
    behind_a_proxy = {"Host": "gpu-box:8000", "Origin": "https://gpu-box"}

    assert (await ask(behind_a_proxy, names=("gpu-box",))).status_code == 204
    assert (await ask(behind_a_proxy)).status_code == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site", "CROSS-SITE", "x", "", "none, none"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
async def test_what_another_site_asks_is_refused(site: str, method: str):
    answer = await ask({"Sec-Fetch-Site": site}, method)

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")
    assert "Sec-Fetch-Site" in answer.json()["detail"]


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_the_page_of_the_service_and_the_address_bar_are_answered(site: str):
    assert (await ask({"Sec-Fetch-Site": site})).status_code == 204


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:8000",
     "http://127.0.0.1", "file://", f"ftp://{HERE}", HERE, "", f"http://{HERE}.evil.example"],
)  # fmt: skip
async def test_another_origin_is_refused(origin: str):
    answer = await ask({"Host": HERE, "Origin": origin}, "POST")

    assert (answer.status_code, answer.json()["slug"]) == (403, "forbidden")


async def test_the_service_s_own_origin_is_answered():
    own = {"Host": HERE, "Origin": f"http://{HERE}", "Sec-Fetch-Site": "same-origin"}

    assert (await ask(own, "POST")).status_code == 204


LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("path", ["/", "/learn", "/docs", "/redoc"])
async def test_a_link_on_another_page_may_lead_to_the_pages(path: str):
    assert (await ask(LINK, path=path)).status_code == 204
    assert (await ask(LINK, "POST", path=path)).status_code == 403
    assert (await ask(LINK | {"Sec-Fetch-Dest": "iframe"}, path=path)).status_code == 403


@pytest.mark.parametrize("path", ["/", "/e/sha256:0", "/v1/system"])
async def test_a_frame_holds_what_was_shared_where_that_is_set_and_nothing_else(path: str):
    framed = LINK | {"Sec-Fetch-Dest": "iframe"}

    assert (await ask(framed, path=path)).status_code == 403
    assert (await ask(framed, "POST", path=path, framed=True)).status_code == 403
    is_shared = path.startswith("/e/")
    assert (await ask(framed, path=path, framed=True)).status_code == (204 if is_shared else 403)
    assert (await ask(LINK, path=path)).status_code == (403 if path.startswith("/v1") else 204)


async def test_a_link_may_lead_nowhere_else():
    assert (await ask(LINK, path="/v1/system")).status_code == 403


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
async def test_where_a_key_is_needed_anyway_nothing_is_refused_here(header: dict[str, str]):
    assert (await ask(header, is_open=False)).status_code == 204


async def test_a_doubt_is_not_passed_on_while_the_store_is_away():
    answer = await ask({"Host": "evil.example"}, is_open=None)

    assert (answer.status_code, answer.json()["slug"]) == (503, "store_unavailable")


async def test_without_a_doubt_the_store_is_not_asked():
    assert (await ask({"Host": HERE}, path="/healthz", is_open=None)).status_code == 204

"""Proxies that the service trusts for a client's address."""

import pytest
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from service.composition import composed_app
from service.server import HttpServer
from service.settings import ServiceSettings


def served(settings):
    config = HttpServer(composed_app(settings), settings).config
    config.load()
    return config.loaded_app


def test_without_a_setting_no_header_changes_the_address():
    assert not isinstance(served(ServiceSettings()), ProxyHeadersMiddleware)


@pytest.mark.parametrize(("peer", "address"), [("10.0.0.9", "8.8.4.4"), ("10.1.0.9", "10.1.0.9")])
async def test_only_a_proxy_that_is_set_is_believed(peer, address):
    app = served(ServiceSettings(trusted_proxies="10.0.0.0/24"))
    seen = []

    async def note(scope, receive, send):
        seen.append(scope["client"][0])

    app.app = note
    headers = [(b"x-forwarded-for", b"8.8.4.4")]
    await app(
        {"type": "http", "client": (peer, 1), "scheme": "http", "headers": headers}, None, None
    )

    assert seen == [address]

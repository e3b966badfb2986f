"""The web page: all of it is in the package, and its policy lets nothing else in."""

import re
from typing import Any

import httpx
import pytest

from service.application import create_app
from service.routes.page import MEDIA_TYPES
from service.settings import ServiceSettings


async def get(path: str) -> httpx.Response:
    app: Any = create_app(ServiceSettings())
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://tritond") as http:
        return await http.get(path)


async def test_the_page_is_html_that_loads_only_what_is_here():
    page = await get("/")

    assert page.headers["content-type"].startswith("text/html")
    loaded = re.findall(r'(?:src|href)="(/page/[^"]+)"', page.text)
    assert sorted(loaded) == ["/page/script.js", "/page/style.css"]
    assert "://" not in page.text
    for path in loaded:
        assert (await get(path)).status_code == 200


@pytest.mark.parametrize("path", ["/", "/page/script.js", "/page/style.css"])
async def test_the_policy_allows_no_other_origin_and_nothing_inline(path: str):
    policy = (await get(path)).headers["content-security-policy"]

    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy


async def test_the_script_never_makes_markup_of_text():
    script = (await get("/page/script.js")).text

    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script)


async def test_other_files_are_not_served():
    assert (await get("/page/..%2fsettings.py")).status_code == 404
    assert (await get("/page/__init__.py")).status_code == 404
    assert set(MEDIA_TYPES) == {"index.html", "style.css", "script.js"}

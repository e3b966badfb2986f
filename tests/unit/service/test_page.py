"""The web page: all of it is in the package, and its policy lets nothing else in."""

import re
from typing import Any

import httpx
import pytest

from service.application import create_app
from service.routes.pages import PAGE_FILES
from service.settings import ServiceSettings


async def get(path: str) -> httpx.Response:
    app: Any = create_app(ServiceSettings())
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
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
    assert set(PAGE_FILES) == {"index.html", "style.css", "script.js"}


DOCUMENTATION = ["/docs", "/redoc"]


@pytest.mark.parametrize("path", DOCUMENTATION)
async def test_the_documentation_loads_only_what_is_here(path: str):
    page = await get(path)

    assert page.headers["content-type"].startswith("text/html")
    loaded = re.findall(r'(?:src|href|spec-url)="([^"]+)"', page.text)
    assert loaded
    for address in loaded:
        assert address == "data:," or (await get(address)).status_code == 200, address
    assert "://" not in page.text
    assert not re.search(r"<script(?![^>]* src=)", page.text), "an inline script"


@pytest.mark.parametrize("path", [*DOCUMENTATION, "/docs/docs.js", "/docs/swagger-ui-bundle.js"])
async def test_the_documentation_runs_no_script_from_elsewhere(path: str):
    headers = (await get(path)).headers
    policy = dict(
        directive.strip().split(" ", 1)
        for directive in headers["content-security-policy"].split(";")
    )

    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert "http" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


async def test_other_files_of_the_package_are_not_served():
    assert (await get("/docs/favicon.png")).status_code == 404
    assert (await get("/docs/..%2f__init__.py")).status_code == 404

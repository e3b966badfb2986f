"""Requests results that are derived from compilations from a running system."""

from __future__ import annotations

from typing import Any

import httpx

from tests.integration.service import bodies
from tests.integration.service.conftest import Post


def compiled(post: Post, name: str, **changes: Any) -> dict[str, Any]:
    """Return the compilation of tests/kernels/good/<name>.py."""
    made: dict[str, Any] = post(bodies.good(name, **changes)).json()
    assert made["state"] == "succeeded", made["problem"]
    return made


def get(http: httpx.Client, compilation: dict[str, Any], path: str, wait: float = 60) -> Any:
    """GET a result derived from `compilation`, and wait for it."""
    return http.get(f"{compilation['url']}/{path}", params={"wait": wait})


def line_of(source: str, words: str) -> int:
    """Return the number of the one line of `source` with `words` in it."""
    (number,) = [n for n, line in enumerate(source.splitlines(), 1) if words in line]
    return number

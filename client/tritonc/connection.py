"""How both clients are connected: headers and timeouts, in one place."""

from typing import Any

import httpx

from tritonc.conversation import Question
from tritonc.version import __version__

DEFAULT_URL = "http://127.0.0.1:8000"


def settings(url: str, api_key: str | None, timeout_s: float) -> dict[str, Any]:
    """Return the arguments of `httpx.Client` and `httpx.AsyncClient`."""
    headers = {"User-Agent": f"tritonc/{__version__}"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    return {"base_url": url, "headers": headers, "timeout": timeout_s}


def arguments(question: Question, timeout_s: float) -> dict[str, Any]:
    """Return the arguments of `.request()`; reading may take the time that the service waits."""
    return {
        "method": question.method,
        "url": question.path,
        "params": question.params,
        "json": question.body,
        "timeout": httpx.Timeout(timeout_s, read=timeout_s + question.wait_s),
    }

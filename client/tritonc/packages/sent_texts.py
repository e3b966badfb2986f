"""The texts that the service has from this client: requests name them by their digests.

A service that has lost one answers `unknown_digest`, and gets all texts of the request again.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tritonc.exchange import Request

UNKNOWN = "unknown_digest"
MAX_KNOWN = 100_000
MIN_CHARS = 100  # a shorter text is no longer than its digest
_MEMBERS = ("compilation", "base")
_LISTS = ("requests", "equivalent")


class SentTexts:
    """The digests of the texts that one service has."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def shortened(self, request: Request) -> Request:
        """Return the request with digests instead of the texts that the service has."""
        if request.body is None or not self._known:
            return request
        return replace(request, body=self._shortened(request.body))

    def note(self, request: Request) -> None:
        """Note that the service has accepted a request, and so has its texts."""
        if request.body is None:
            return
        if len(self._known) > MAX_KNOWN:
            self._known.clear()
        for files in _files(request.body):
            self._known |= {digest_of(text) for text in files.values() if _is_long(text)}

    def forget(self) -> None:
        """Forget all: the service has lost some."""
        self._known.clear()

    def _shortened(self, body: Any) -> Any:
        if not isinstance(body, Mapping):
            return body
        changed = dict(body)
        if _has_module(body):
            changed["files"] = {name: self._file(text) for name, text in body["files"].items()}
        for name in _MEMBERS:
            if name in body:
                changed[name] = self._shortened(body[name])
        for name in _LISTS:
            if isinstance(body.get(name), list):
                changed[name] = [self._shortened(item) for item in body[name]]
        return changed

    def _file(self, text: Any) -> Any:
        if not _is_long(text):
            return text
        digest = digest_of(text)
        return {"digest": digest} if digest in self._known else text


def digest_of(text: str) -> str:
    """Return the name that the service gives a text."""
    return "sha256:" + hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _is_long(text: Any) -> bool:
    return isinstance(text, str) and len(text) > MIN_CHARS


def _has_module(body: Mapping[str, Any]) -> bool:
    return body.get("module") is not None and isinstance(body.get("files"), Mapping)


def _files(body: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the files of the sources in a request that are modules: only those are kept."""
    if not isinstance(body, Mapping):
        return
    if _has_module(body):
        yield body["files"]
    for name in _MEMBERS:
        yield from _files(body.get(name))
    for name in _LISTS:
        for item in body[name] if isinstance(body.get(name), list) else ():
            yield from _files(item)

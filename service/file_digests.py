"""Files of a request by their digests: filled in from what the caller's namespace posted before.

The texts of a source that is a `module` are stored when it is posted. A request with digests is
bounded as if it had the texts: what a body may hold, all texts of it together may take.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compiler.rejection import FieldError, RequestRejected, pointer
from compiler.request.compile_request import DIGEST_PATTERN, MAX_FILES
from compiler.request.limits import RequestTooLarge
from service.caller import Caller
from service.http.body import parse_json
from service.large_bodies import IN_LOOP_BYTES
from service.state import ServiceState
from store.errors import BucketUnavailable
from store.frames import content_bytes_of, digest_of

READ_AT_ONCE = 16
THREAD_BYTES = 256 << 10
"""Texts from this size on are hashed in a thread."""
_DIGEST = re.compile(DIGEST_PATTERN)
_MEMBERS = ("compilation", "base")
_PAIR = "equivalent"


class UnknownDigest(RequestRejected):
    """Files are named by digests of texts that the namespace never posted, or that are gone."""

    slug = "unknown_digest"


class FileDigests:
    """The texts that one body names by digests; `limit_bytes` bounds all its uses of them."""

    def __init__(self, state: ServiceState, caller: Caller, limit_bytes: int) -> None:
        self._blobs = state.blobs
        self._namespace = caller.namespace
        self._most_files = state.settings.max_module_files
        self._limit_bytes = limit_bytes
        self._used_bytes = 0
        self._known: dict[str, str] = {}

    async def filled(self, body: Any) -> Any:
        """Return a posted body with texts for all digests in the `files` of its sources.

        Raises UnknownDigest with a pointer to each unknown one, RequestTooLarge, RequestRejected.
        """
        named = {at: files for at, files in _files(body) if any(map(_is_named, files.values()))}
        if not named:
            return body
        unknown: list[FieldError] = []
        texts = {}
        for at, files in named.items():
            digests = _digests(files, at, self._most_files)
            await self._read([*digests.values()])
            unknown += [
                FieldError(
                    at + pointer(path), f"no text with the digest {digest} was posted before"
                )
                for path, digest in digests.items()
                if digest not in self._known
            ]
            if not unknown:
                filled = {path: self._known[digest] for path, digest in digests.items()}
                self._use(filled, at)
                texts[at] = {**files, **filled}
        if unknown:
            raise UnknownDigest(*unknown)
        return _with_files(body, texts)

    def _use(self, texts: Mapping[str, str], at: str) -> None:
        """Count texts that a body uses; one that it uses twice counts twice. Raises."""
        self._used_bytes += sum(len(text.encode()) for text in texts.values())
        if self._used_bytes > self._limit_bytes:
            raise self._too_large(at)

    def _too_large(self, at: str) -> RequestTooLarge:
        message = (
            f"with the texts of its digests the body has more than {self._limit_bytes:,} bytes"
        )
        return RequestTooLarge(FieldError(at, message))

    async def _read(self, digests: Sequence[str]) -> None:
        """Read the texts that are not known yet and that the namespace has posted."""
        wanted = [digest for digest in dict.fromkeys(digests) if digest not in self._known]
        readable = await self._blobs.readable(wanted, self._namespace)
        left_bytes = self._limit_bytes - self._used_bytes
        for first in range(0, len(readable), READ_AT_ONCE):
            part = readable[first : first + READ_AT_ONCE]
            frames = await asyncio.gather(*map(self._frame, part))
            there = {d: frame for d, frame in zip(part, frames, strict=True) if frame is not None}
            left_bytes -= sum(max(0, content_bytes_of(frame)) for frame in there.values())
            if left_bytes < 0:
                raise self._too_large("/files")
            for digest, frame in there.items():
                data = await self._blobs.verify(frame, digest)
                if data is not None and (text := _text(data)) is not None:
                    self._known[digest] = text

    async def _frame(self, digest: str) -> bytes | None:
        """Return the frame of a text; one in a bucket that is away counts as unknown."""
        try:
            return await self._blobs.get_frame(digest)
        except BucketUnavailable:
            return None


async def with_texts(state: ServiceState, caller: Caller, body: bytes, limit_bytes: int) -> bytes:
    """Return a posted body with texts for all digests of files; raises as `FileDigests.filled`.

    A body that names none, as most, is returned as it is, without being parsed.
    """
    if b'"digest"' not in body:
        return body
    large = len(body) > IN_LOOP_BYTES
    value = await state.threads.run(parse_json, body) if large else parse_json(body)
    filled = await FileDigests(state, caller, limit_bytes).filled(value)
    if filled is value:
        return body
    return await state.threads.run(_encoded, filled)


def _encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


async def keep_texts(
    state: ServiceState, caller: Caller, module: str | None, files: Mapping[str, str]
) -> None:
    """Store the texts of a source that is a `module`, for its namespace to name by digest."""
    if module is None or not files:
        return
    data = [text.encode(errors="surrogatepass") for text in files.values()]
    is_large = sum(map(len, data)) > THREAD_BYTES
    by_digest = await state.threads.run(_named, data) if is_large else _named(data)
    there = set(await state.blobs.readable(by_digest, caller.namespace))
    missing = {digest: text for digest, text in by_digest.items() if digest not in there}
    if missing:
        await state.blobs.put_many([*missing.values()])
        await state.blobs.allow(missing, caller.namespace)


def _named(data: Sequence[bytes]) -> dict[str, bytes]:
    return {digest_of(text): text for text in data}


def _text(data: bytes) -> str | None:
    """Return the text in a blob, None if it is not text."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _files(body: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the `files` of each source in a body, with their pointers.

    A source is the body itself, or that of a launch, of a sweep, or of a comparison.
    """
    if not isinstance(body, dict):
        return
    files = body.get("files")
    if isinstance(files, dict) and len(files) <= MAX_FILES:
        yield f"{at}/files", files
    for name in _MEMBERS:
        yield from _files(body.get(name), f"{at}/{name}")
    pair = body.get(_PAIR)
    if isinstance(pair, list):
        for index, item in enumerate(pair[:2]):
            yield from _files(item, f"{at}/{_PAIR}/{index}")


def _is_named(file: Any) -> bool:
    return isinstance(file, dict) and file.keys() == {"digest"}


def _digests(files: Mapping[str, Any], at: str, most: int) -> dict[str, str]:
    """Return the digests by path. Raises RequestRejected for malformed ones, and too many."""
    digests = {path: file["digest"] for path, file in files.items() if _is_named(file)}
    if len(files) > most:
        raise RequestRejected(FieldError(at, f"{len(files)} files; the limit is {most}"))
    errors = [
        FieldError(at + pointer(path, "digest"), 'must be "sha256:" and 64 hexadecimal digits')
        for path, digest in digests.items()
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest)
    ]
    if errors:
        raise RequestRejected(*errors)
    return digests


def _with_files(body: Any, texts: Mapping[str, Any], at: str = "") -> Any:
    """Return a body with other `files`, by their pointers."""
    changed = dict(body)
    if f"{at}/files" in texts:
        changed["files"] = texts[f"{at}/files"]
    for name in _MEMBERS:
        if any(where.startswith(f"{at}/{name}/") for where in texts):
            changed[name] = _with_files(body[name], texts, f"{at}/{name}")
    if any(where.startswith(f"{at}/{_PAIR}/") for where in texts):
        changed[_PAIR] = [
            _with_files(item, texts, f"{at}/{_PAIR}/{index}") if isinstance(item, dict) else item
            for index, item in enumerate(body[_PAIR])
        ]
    return changed

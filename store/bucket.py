"""Frames of large blobs in object storage: S3, Google Cloud, Azure, or a folder, through obstore.

An object is found by the digest of its blob. What is in it is verified by its reader. No request
is conditional, since some servers accept what they should refuse. Credentials come from the
environment of the process, by the names that its cloud uses.
"""

import asyncio
import importlib.util
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote, urlsplit

from store.errors import BucketUnavailable

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES: Final = ("s3", "gs", "az", "file")
ANSWER_S: Final = 5.0
"""Within this time a request is answered, its body aside."""
SLOWEST_BYTES_PER_S: Final = 4 << 20
"""A body has as much more time as it takes at this rate."""
REQUESTS_AT_ONCE: Final = 64
FAILURES_TO_OPEN: Final = 3
OPEN_S: Final = 5.0
_READ_BYTES: Final = 1 << 20
_RETRIES: Final = 1
LISTED_AT_ONCE: Final = 1000
_LISTED_BYTES: Final = 64 << 10
"""Listing or deleting an object has as much more time as this many bytes."""
SIGNED_FOR: Final = timedelta(seconds=60)
_ATTRIBUTES: Final = {"Content-Encoding": "zstd", "Content-Type": "application/octet-stream"}
_NO_BUCKET: Final = "NoSuchBucket"  # in the body of a 404 of S3
logger = logging.getLogger(__name__)


def checked_url(url: str) -> str:
    """Return `url`. Raises ValueError, which states the form, where it cannot name a bucket."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ValueError(
            "it must begin with s3://, gs://, az:// or file:///, such as s3://my-bucket/tritond"
        )
    if parts.username or parts.query or parts.fragment:
        raise ValueError(
            "it must be a bucket and a prefix alone, such as s3://my-bucket/tritond; put "
            "credentials and the endpoint into the variables of your cloud, such as "
            "AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL"
        )
    if importlib.util.find_spec("obstore") is None:
        raise ValueError("it needs the package obstore: pip install 'tritond[blobs]'")
    _opened(url)
    return url


def _opened(url: str) -> "ObjectStore":
    """Return the client of a bucket, which connects later. Raises ValueError."""
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc and not Path(unquote(parts.path)).is_dir():
        raise ValueError("there is no such folder; make it first, or mount its volume")
    try:
        if parts.scheme == "file":
            return from_url(url)
        return from_url(
            url,
            # the endpoint is the operator's own choice; deadlines are ours
            client_options={"allow_http": True, "connect_timeout": "2s", "timeout": "10m"},
            retry_config={
                "max_retries": _RETRIES,
                "retry_timeout": timedelta(seconds=ANSWER_S),
                "backoff": {"init_backoff": timedelta(milliseconds=100), "base": 2},
            },
        )
    except (BaseError, OSError) as error:
        why = _first(error)
        if why.endswith("builder error"):  # of the client, before any request
            why += "; are CA certificates installed, and SSL_CERT_DIR and SSL_CERT_FILE right?"
        raise ValueError(f"it cannot be used: {why}") from None


class Circuit:
    """Stops requests to a server that fails: after several in a row, one is let through at times.

    It is open while requests are stopped.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._next_try = 0.0

    @property
    def is_open(self) -> bool:
        """True while the last requests failed."""
        return self._failures >= FAILURES_TO_OPEN

    def admits(self) -> bool:
        """Return whether a request may be made now."""
        if not self.is_open:
            return True
        now = time.monotonic()
        if now < self._next_try:
            return False
        self._next_try = now + OPEN_S  # whatever becomes of this one, the next comes no sooner
        return True

    def note_success(self) -> None:
        """Close it."""
        self._failures = 0

    def note_failure(self) -> None:
        """Open it if this is one of several in a row."""
        self._failures += 1
        self._next_try = time.monotonic() + OPEN_S


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of the bucket; `written_s` is when, in seconds since 1970."""

    path: str
    size_bytes: int
    written_s: float


class Bucket:
    """The frames under one URL. Every request has a deadline, and fails as BucketUnavailable.

    `failures` counts the requests that failed.
    """

    def __init__(self, url: str) -> None:
        self.scheme = urlsplit(url).scheme
        self.circuit = Circuit()
        self.failures = 0
        self._store = _opened(url)
        self._slots = asyncio.Semaphore(REQUESTS_AT_ONCE)

    def state(self) -> dict[str, Any]:
        """Return how this process gets on with the bucket, as `GET /v1/system` answers it."""
        circuit = "open" if self.circuit.is_open else "closed"
        return {"scheme": self.scheme, "circuit": circuit, "failures": self.failures}

    async def put(self, digest: str, frame: bytes | bytearray) -> None:
        """Store a frame, over one that may be there. Raises BucketUnavailable."""
        import obstore

        async with self._request() as limit:
            _extend(limit, len(frame))
            try:
                # in one part, so that nothing of a cut upload remains
                await obstore.put_async(
                    self._store,
                    path_of(digest),
                    memoryview(frame),
                    use_multipart=False,
                    attributes=None if self.scheme == "file" else _ATTRIBUTES,
                )
            except FileNotFoundError:
                raise OSError("the bucket does not exist") from None

    async def get(self, digest: str, most_bytes: int) -> bytes | None:
        """Return a frame, None if it is not there, or is larger than that.

        Raises BucketUnavailable.
        """
        import obstore

        try:
            async with self._request() as limit:
                response = await obstore.get_async(self._store, path_of(digest))
                size_bytes = response.meta["size"]
                if size_bytes <= most_bytes:
                    _extend(limit, size_bytes)
                    frame = bytearray()
                    # a server may send more than it announced
                    async for part in response.stream(min_chunk_size=_READ_BYTES):
                        frame += part
                        size_bytes = max(size_bytes, len(frame))
                        if size_bytes > most_bytes:
                            break
                    else:
                        return bytes(frame)
        except FileNotFoundError:
            return None
        logger.error("%s in the bucket is not a blob: %d bytes or more", digest, size_bytes)
        return None

    async def signed_url(self, digest: str) -> str:
        """Return a URL at which anyone may get the frame for a minute. Raises BucketUnavailable."""
        import obstore

        async with self._request():
            store = cast("Any", self._store)  # folders cannot sign, and have no setting for it
            return await obstore.sign_async(store, "GET", path_of(digest), SIGNED_FOR)

    async def list(self) -> AsyncIterator[Sequence[StoredObject]]:
        """Yield all objects under the URL, some at a time. Raises BucketUnavailable."""
        import obstore

        objects = obstore.list(self._store, chunk_size=LISTED_AT_ONCE)
        while True:
            async with self._request() as limit:
                _extend(limit, LISTED_AT_ONCE * _LISTED_BYTES)
                some = await anext(objects, None)
            if some is None:
                return
            yield [
                StoredObject(each["path"], each["size"], each["last_modified"].timestamp())
                for each in some
            ]

    async def delete(self, digests: Sequence[str]) -> None:
        """Delete frames that are there. Raises BucketUnavailable."""
        import obstore

        async with self._request() as limit:
            _extend(limit, len(digests) * _LISTED_BYTES)
            await obstore.delete_async(self._store, [path_of(digest) for digest in digests])

    @asynccontextmanager
    async def _request(self) -> AsyncIterator[asyncio.Timeout]:
        """Bound a request in time, and note what becomes of it.

        Raises BucketUnavailable, and FileNotFoundError for an object that is not there.
        """
        from obstore.exceptions import BaseError

        async with self._slots:
            if not self.circuit.admits():
                raise BucketUnavailable
            try:
                async with asyncio.timeout(ANSWER_S) as limit:
                    yield limit
            except (BaseError, OSError, ValueError) as error:
                if isinstance(error, FileNotFoundError) and _NO_BUCKET not in str(error):
                    self._note_success()
                    raise
                self._note_failure(error)
                raise BucketUnavailable from error
            self._note_success()

    def _note_success(self) -> None:
        if self.circuit.is_open:
            logger.warning("the bucket of large blobs answers again")
        self.circuit.note_success()

    def _note_failure(self, error: Exception) -> None:
        self.failures += 1
        self.circuit.note_failure()
        why = f"no answer in {ANSWER_S:g} s" if isinstance(error, TimeoutError) else _first(error)
        then = "; requests pause" if self.circuit.is_open else ""
        logger.warning("the bucket of large blobs fails%s: %s", then, why)


def path_of(digest: str) -> str:
    """Return where the frame of a blob is, below the URL."""
    algorithm, _, name = digest.partition(":")
    return f"{algorithm}/{name[:2]}/{name[2:]}"


def _extend(limit: asyncio.Timeout, size_bytes: int) -> None:
    """Give a request the time that a body of this size may take."""
    loop = asyncio.get_running_loop()
    limit.reschedule(loop.time() + ANSWER_S + size_bytes / SLOWEST_BYTES_PER_S)


def _first(error: Exception) -> str:
    """Return the line with the error; those below are places in obstore."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__

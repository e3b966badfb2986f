"""Deletes from the bucket what the cache has forgotten, where no rule of the bucket does."""

import re
import time
from dataclasses import dataclass, field
from typing import Final

from store.blobs import MARKER, Blobs
from store.bucket import Bucket
from store.errors import StoreError
from store.keys import BLOB

DELETED_AT_ONCE: Final = 500
_NAME: Final = re.compile(r"(sha256)/([0-9a-f]{2})/([0-9a-f]{62})")


class NothingMarked(StoreError):
    """The bucket has objects, and the cache has no marker of any: it may be another's."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"The cache has a marker of none of the bucket's {count} objects, so all of them would "
            "be deleted. Are TRITOND_REDIS_URL and TRITOND_CACHE_URL those of the services? If the "
            "cache was emptied, add --all."
        )


@dataclass(slots=True)
class Forgotten:
    """The objects of a bucket: how many there are, and which have no marker and are old."""

    objects: int = 0
    marked: int = 0
    size_bytes: int = 0
    digests: list[str] = field(default_factory=list)


async def find_forgotten(blobs: Blobs, bucket: Bucket, older_than_s: float) -> Forgotten:
    """Return the objects without a marker that are older than that.

    A new object may be waiting for its marker. Raises StoreUnavailable.
    """
    forgotten, oldest = Forgotten(), time.time() - older_than_s
    async for stored in bucket.list():
        named = {digest: each for each in stored if (digest := _digest_of(each.path))}
        pipeline = blobs.cache.pipeline(transaction=False)
        for digest in named:
            pipeline.getrange(BLOB + digest, 0, len(MARKER) - 1)
        for each, begins in zip(named.items(), await pipeline.execute(), strict=True):
            digest, blob = each
            forgotten.objects += 1
            if begins == MARKER:
                forgotten.marked += 1
            elif blob.written_s < oldest:
                forgotten.digests.append(digest)
                forgotten.size_bytes += blob.size_bytes
    return forgotten


async def delete_forgotten(bucket: Bucket, forgotten: Forgotten, *, even_all: bool) -> None:
    """Delete what was found. Raises NothingMarked and StoreUnavailable.

    A blob that is put again at this moment may be deleted too, and is a miss when it is read.
    """
    if forgotten.digests and not forgotten.marked and not even_all:
        raise NothingMarked(forgotten.objects)
    for start in range(0, len(forgotten.digests), DELETED_AT_ONCE):
        await bucket.delete(forgotten.digests[start : start + DELETED_AT_ONCE])


def _digest_of(path: str) -> str | None:
    """Return the digest that an object is called after, None for an object that is not ours."""
    parts = _NAME.fullmatch(path)
    return f"{parts[1]}:{parts[2]}{parts[3]}" if parts else None

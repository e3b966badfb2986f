"""Large blobs in a bucket, here a folder: the cache keeps markers, and every read is verified."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zstandard

from store import keys
from store.blobs import LARGE_BYTES, MARKER, MARKER_BYTES, Blobs
from store.bucket import Bucket, path_of
from store.bucket_sweep import NothingMarked, delete_forgotten, find_forgotten
from store.budget import Budget
from store.compilations import Compilations
from store.errors import BucketUnavailable
from store.frames import ArrivingBlob, digest_of
from store.records import Miss

LARGE = os.urandom(2 * LARGE_BYTES)
SMALL = os.urandom(LARGE_BYTES // 2)
DIGEST = digest_of(LARGE)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "bucket"


@pytest.fixture
def bucket(folder):
    folder.mkdir()
    return Bucket(f"file://{folder}")


@pytest.fixture
def blobs(cache, bucket):
    return Blobs(cache, bucket=bucket)


@pytest.fixture
def gone(folder, bucket):
    """Return a function that takes the bucket away, by a file in its place."""

    def gone():
        folder.rename(folder.with_name("elsewhere"))
        folder.write_text("no folder")

    return gone


async def test_a_large_blob_is_in_the_bucket_and_a_small_one_in_the_cache(blobs, cache, folder):
    large, small = await blobs.put_many([LARGE, SMALL])

    assert zstandard.decompress((folder / path_of(large)).read_bytes()) == LARGE
    assert await cache.strlen(keys.BLOB + large) < 20
    assert not (folder / path_of(small)).exists()
    assert [await blobs.get(digest) for digest in (large, small)] == [LARGE, SMALL]
    assert await blobs.exists(large)


async def test_a_file_that_came_in_parts_is_in_the_bucket_too(blobs, folder):
    blob = ArrivingBlob(len(LARGE))
    await blob.add(LARGE)
    digest = await blob.finish()

    await blobs.put_frame(digest, blob.frame)

    assert (folder / path_of(digest)).exists()
    assert await blobs.get(digest) == LARGE


async def test_a_hit_includes_what_is_in_the_bucket(blobs):
    ptx, cubin = await blobs.put_many([SMALL, LARGE])
    compilations = Compilations(blobs)
    await compilations.write("key", b"{}", b"{}", {"ptx": ptx, "cubin": cubin})

    hit = await compilations.hit("key", ["ptx", "cubin"])

    assert hit.included == {"ptx": SMALL, "cubin": LARGE}


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(zstandard.compress(b"other bytes"), id="bytes of another blob"),
        pytest.param(b"", id="empty"),
        pytest.param(zstandard.compress(LARGE)[:-1], id="cut off"),
    ],
)
async def test_a_damaged_object_is_a_miss_and_written_again(blobs, folder, damaged):
    compilations = Compilations(blobs)
    await compilations.write("key", b"{}", b"{}", {"cubin": await blobs.put(LARGE)})
    (folder / path_of(DIGEST)).write_bytes(damaged)

    assert await compilations.hit("key", ["cubin"]) is None

    assert compilations.misses == {Miss.DAMAGED_BLOB: 1}
    assert blobs.mismatches == 1
    assert not await blobs.exists(DIGEST)
    await blobs.put(LARGE)
    assert (await compilations.hit("key", ["cubin"])).included == {"cubin": LARGE}


async def test_an_object_that_is_gone_is_a_miss_and_so_is_its_marker(blobs, folder):
    compilations = Compilations(blobs)
    await compilations.write("key", b"{}", b"{}", {"cubin": await blobs.put(LARGE)})
    (folder / path_of(DIGEST)).unlink()

    assert await compilations.hit("key", ["cubin"]) is None

    assert compilations.misses == {Miss.NO_BLOB: 1}
    assert not await blobs.exists(DIGEST)


async def test_a_bucket_that_is_away_is_a_miss_of_the_cache_and_its_marker_stays(blobs, gone):
    compilations = Compilations(blobs)
    await compilations.write("key", b"{}", b"{}", {"cubin": await blobs.put(LARGE)})
    gone()

    assert await compilations.hit("key", ["cubin"]) is None
    with pytest.raises(BucketUnavailable, match="Try again later"):
        await blobs.get(DIGEST)

    assert compilations.misses == {Miss.BUCKET_AWAY: 1}
    assert await blobs.exists(DIGEST)
    assert await compilations.hit("key")


async def test_while_the_bucket_is_away_the_cache_keeps_large_blobs(blobs, cache, gone):
    gone()

    assert await blobs.put(LARGE) == DIGEST

    assert await cache.strlen(keys.BLOB + DIGEST) > LARGE_BYTES
    assert await blobs.get(DIGEST) == LARGE


async def test_without_a_bucket_a_marker_is_a_miss(blobs, cache):
    await blobs.put(LARGE)

    assert await Blobs(cache).get(DIGEST) is None

    assert not await blobs.exists(DIGEST)


async def test_the_budget_counts_a_marker_and_not_what_is_in_the_bucket(cache, bucket):
    budget = Budget(cache, 1 << 20)

    await Blobs(cache, budget, bucket).put(LARGE)

    assert int(await cache.get(keys.CACHE_BYTES)) == MARKER_BYTES


async def test_a_marker_takes_no_more_memory_than_is_booked(cache, bucket):
    blobs, count = Blobs(cache, Budget(cache, 1 << 30), bucket), 500
    before = (await cache.info("memory"))["used_memory_dataset"]

    for number in range(count):
        await blobs.allow([await blobs.put(LARGE + bytes([number % 256, number // 256]))], "team")

    used_bytes = (await cache.info("memory"))["used_memory_dataset"] - before
    assert used_bytes < count * MARKER_BYTES


async def test_the_books_follow_a_blob_into_the_cache_and_back(cache, bucket, gone, folder):
    blobs = Blobs(cache, Budget(cache, 1 << 20), bucket)
    await blobs.put(LARGE)
    gone()

    await blobs.put(LARGE)

    assert int(await cache.get(keys.CACHE_BYTES)) > LARGE_BYTES
    assert not (await cache.get(keys.BLOB + DIGEST)).startswith(MARKER)


@pytest.mark.slow
def test_without_a_url_neither_service_nor_worker_loads_obstore():
    code = "import service.__main__, worker.__main__, sys; sys.exit('obstore' in sys.modules)"
    root = Path(__file__).parents[3]

    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0


def days_old(folder, digest, days):
    written = time.time() - days * 24 * 3600
    os.utime(folder / path_of(digest), (written, written))


async def test_a_sweep_deletes_old_objects_without_a_marker(blobs, bucket, cache, folder):
    used, forgotten, new = await blobs.put_many([LARGE, LARGE + b"forgotten", LARGE + b"new"])
    await cache.delete(keys.BLOB + forgotten, keys.BLOB + new)
    for digest in (used, forgotten):
        days_old(folder, digest, days=2)
    (folder / "foreign").write_text("of somebody else")

    found = await find_forgotten(blobs, bucket, older_than_s=24 * 3600)
    await delete_forgotten(bucket, found, even_all=False)

    assert (found.objects, found.marked, found.digests) == (3, 1, [forgotten])
    there = {path.name for path in folder.rglob("*") if path.is_file()}
    assert there == {Path(path_of(used)).name, Path(path_of(new)).name, "foreign"}


async def test_an_object_whose_frame_is_in_the_cache_again_is_forgotten(blobs, bucket, cache):
    digest = await blobs.put(LARGE)
    await Blobs(cache).put(LARGE)

    assert (await find_forgotten(blobs, bucket, older_than_s=-60)).digests == [digest]


async def test_a_sweep_beside_another_cache_is_refused(blobs, bucket, cache, folder):
    await blobs.put(LARGE)
    await cache.flushall()
    found = await find_forgotten(blobs, bucket, older_than_s=-60)

    with pytest.raises(NothingMarked, match=r"TRITOND_REDIS_URL .* --all"):
        await delete_forgotten(bucket, found, even_all=False)

    assert (folder / path_of(DIGEST)).exists()
    await delete_forgotten(bucket, found, even_all=True)
    assert not (folder / path_of(DIGEST)).exists()

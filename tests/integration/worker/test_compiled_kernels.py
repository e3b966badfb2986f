"""A worker's cache of kernels with the real store: a purge empties it."""

import asyncio
import contextlib

from compiler.compilation import Compilation
from store import keys
from store.blobs import Blobs
from store.compilations import Compilations
from store.subscription import invalidate
from tests.waiting import comes_true
from worker.launch.gpu.compiled_kernels import CompiledKernels

KEY = "a" * 64
CUBIN = b"\x7fELF and so on"


def record_of(artifacts):
    nothing = dict.fromkeys(
        ("kernel", "abi", "metadata", "resources", "timings_ms", "problem"), None
    )  # fmt: skip
    return Compilation(
        key=KEY,
        url=f"/v1/compilations/{KEY}",
        state="succeeded",
        target="cuda:90",
        stop_after="cubin",
        options={},
        toolchain={"id": "t", "triton": "3.9.0", "ptxas": "", "sandbox": "strict"},
        artifacts=artifacts,
        parameters=[],
        diagnostics=[],
        stdout="",
        **nothing,
    )


async def compiled(redis, cubin=CUBIN):
    """Store a compilation; return its cubin's digest."""
    digest = await Blobs(redis).put(cubin)
    artifact = {"digest": digest, "size_bytes": len(cubin), "media_type": "m", "url": "/"}
    record = record_of({"cubin": artifact}).model_dump_json().encode()
    await Compilations(Blobs(redis)).write(KEY, record, b"{}", {"cubin": digest})
    return digest


@contextlib.asynccontextmanager
async def memory(redis, blocking):
    kernels = CompiledKernels(Compilations(Blobs(redis)), Blobs(redis), blocking)
    listening = asyncio.create_task(kernels.run())
    await comes_true(lambda: kernels._invalidations.connected)
    try:
        yield kernels
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def test_a_kernel_is_read_once(redis, blocking):
    digest = await compiled(redis)
    async with memory(redis, blocking) as kernels:
        first = await kernels.find(KEY)
        await redis.delete(keys.BLOB + digest)

        assert first.cubin == CUBIN
        assert await kernels.find(KEY) is first


async def test_a_purge_empties_the_cache(redis, blocking):
    await compiled(redis)
    async with memory(redis, blocking) as kernels:
        await kernels.find(KEY)
        await Compilations(Blobs(redis)).forget(KEY)
        await invalidate(redis, KEY)

        async def is_gone():
            return await kernels.find(KEY) is None

        await comes_true(is_gone)


async def test_what_is_compiled_anew_takes_the_place_of_the_old(redis, blocking):
    await compiled(redis)
    async with memory(redis, blocking) as kernels:
        await kernels.find(KEY)
        await compiled(redis, b"another")
        await invalidate(redis, KEY)

        async def is_new():
            return (await kernels.find(KEY)).cubin == b"another"

        await comes_true(is_new)


async def test_nothing_is_kept_while_invalidations_may_be_missed(redis, blocking):
    digest = await compiled(redis)
    # without a listener
    kernels = CompiledKernels(Compilations(Blobs(redis)), Blobs(redis), blocking)
    assert (await kernels.find(KEY)).cubin == CUBIN
    await redis.delete(keys.BLOB + digest)

    assert await kernels.find(KEY) is None


async def test_a_damaged_cubin_is_none(redis, blocking):
    digest = await compiled(redis)
    await redis.set(keys.BLOB + digest, b"rubbish")
    async with memory(redis, blocking) as kernels:
        assert await kernels.find(KEY) is None


async def test_the_least_recently_used_gives_way(redis, blocking):
    await compiled(redis)
    kernels = CompiledKernels(Compilations(Blobs(redis)), Blobs(redis), blocking, most_bytes=100)
    listening = asyncio.create_task(kernels.run())
    await comes_true(lambda: kernels._invalidations.connected)

    assert await kernels.find(KEY) is not await kernels.find(KEY)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)

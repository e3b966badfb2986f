"""A launcher's channel: its messages, and attempts of a broken or hostile launcher."""

import array
import asyncio
import fcntl
import gc
import os
import socket
from pathlib import Path

import pytest

from worker.gpu.supervisor.result_channel import ResultChannel
from worker.pool import frame
from worker.pool.shared_bytes import SharedBytes

NONCE = b"n" * frame.NONCE_BYTES
LONG_S = 60


def open_files():
    return list(Path("/proc/self/fd").iterdir())


@pytest.fixture
async def channel():
    """Yield a channel; when it is closed, no descriptor of it may be open."""
    gc.collect()  # otherwise descriptors that earlier tests left open may be closed meanwhile
    before = open_files()
    channel = ResultChannel()
    yield channel
    channel.close()
    assert len(open_files()) == len(before)


def header_of(**more):
    return {"kind": "stage", "stage": "output:y", "ms": 0.0, "offset": 0, **more}


def sealed(content):
    """Return a descriptor of sealed memory, like a launcher's."""
    shared = SharedBytes([content])
    descriptor = os.dup(shared.descriptor)
    shared.close()
    return descriptor


def unsealed(content, seals=0):
    descriptor = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(descriptor, content)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def say(channel, *descriptors, body=b"", **more):
    """Send a frame like a launcher, with descriptors that are then closed on its side."""
    data = frame.encode(NONCE, header_of(**more), body)
    socket.send_fds(channel.theirs, [data], descriptors)
    for descriptor in descriptors:
        os.close(descriptor)


async def heard(channel):
    async with asyncio.timeout(LONG_S):
        return await channel.next()


async def test_a_frame_brings_its_own_body(channel):
    say(channel, body=b"abc")

    assert (await heard(channel)).body == b"abc"


async def test_a_shared_body_is_the_memory_that_was_sent(channel):
    say(channel, sealed(b"elements"), shared=8)

    body = (await heard(channel)).body
    assert isinstance(body, SharedBytes)
    assert bytes(body) == b"elements"


async def test_each_shared_frame_has_its_own_memory(channel):
    for number in range(6):
        say(channel, sealed(b"%d" % number), shared=1)
        say(channel, body=b"inline")

    bodies = [bytes((await heard(channel)).body) for _ in range(12)]
    assert bodies == [part for number in range(6) for part in (b"%d" % number, b"inline")]


async def test_a_frame_in_pieces_has_its_memory_with_the_first(channel):
    data = frame.encode(NONCE, header_of(shared=3))
    descriptor = sealed(b"abc")
    socket.send_fds(channel.theirs, [data[:5]], [descriptor])
    os.close(descriptor)
    waiting = asyncio.create_task(heard(channel))
    await asyncio.sleep(0)
    channel.theirs.send(data[5:])

    assert bytes((await waiting).body) == b"abc"


async def test_the_end_of_a_launcher_is_an_end(channel):
    channel.theirs.close()

    with pytest.raises(EOFError):
        await heard(channel)


ALL = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


@pytest.mark.parametrize(
    ("bring", "more", "message"),
    [
        (list, {"shared": 3}, "without its descriptor"),
        (lambda: [sealed(b"abc")], {"shared": 4}, "of 3 bytes, not the 4 announced"),
        (lambda: [sealed(b"abc")], {"shared": 2}, "of 3 bytes, not the 2 announced"),
        (lambda: [unsealed(b"abc")], {"shared": 3}, "can still be changed"),
        (lambda: [unsealed(b"abc", ALL & ~fcntl.F_SEAL_WRITE)], {"shared": 3}, "still be changed"),
        (lambda: [unsealed(b"abc", ALL & ~fcntl.F_SEAL_SHRINK)], {"shared": 3}, "still be changed"),
        (lambda: [os.open("/dev/zero", os.O_RDONLY)], {"shared": 0}, "not memory that can be"),
        (lambda: [sealed(b"abc")], {}, "that no frame announced"),
        (lambda: [sealed(b"a"), sealed(b"b")], {"shared": 1}, "that no frame announced"),
        (lambda: [sealed(b"a") for _ in range(9)], {"shared": 1}, "more descriptors than"),
        (lambda: [sealed(b"abc")], {"shared": "3"}, "needs a size"),
        (lambda: [sealed(b"abc")], {"shared": True}, "needs a size"),
        (lambda: [sealed(b"abc")], {"shared": -3}, "needs a size"),
        (lambda: [sealed(b"abc")], {"shared": 3, "body": b"more"}, "nothing else"),
    ],
)  # fmt: skip
async def test_what_a_broken_launcher_sends_is_one_named_error(channel, bring, more, message):
    say(channel, *bring(), **more)

    with pytest.raises(frame.FrameError, match=message):
        await heard(channel)


async def test_unread_descriptors_are_closed_with_the_channel(channel):
    for _ in range(3):
        say(channel, sealed(b"abc"), shared=3)
    channel.theirs.close()


async def test_a_descriptor_after_all_frames_is_surplus(channel):
    say(channel, body=b"abc")
    await heard(channel)
    rights = array.array("i", [sealed(b"late")])
    data = frame.encode(NONCE, header_of(), b"x")
    channel.theirs.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    os.close(rights[0])

    with pytest.raises(frame.FrameError, match="that no frame announced"):
        await heard(channel)


async def test_waiters_learn_that_the_channel_is_closed(channel):
    waiting = asyncio.create_task(heard(channel))
    await asyncio.sleep(0)
    channel.close()

    with pytest.raises(EOFError):
        await waiting

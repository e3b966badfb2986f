"""`python -m tests.fleet.lossy_link DEVICE DEVICE DELAY_MS LOSS`: a bad wire between two devices.

It passes frames in both directions, all of them late. It loses a share of them, the same ones for
the same traffic.
"""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import sys
from contextlib import suppress

_ALL_PROTOCOLS = 3
_PACKET_SOCKETS, _IGNORE_OUTGOING = 263, 23  # SOL_PACKET, PACKET_IGNORE_OUTGOING of packet(7)
_MAX_BYTES = 1 << 16


def _open(device: str) -> socket.socket:
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL_PROTOCOLS))
    found.setsockopt(_PACKET_SOCKETS, _IGNORE_OUTGOING, 1)
    found.bind((device, 0))
    found.setblocking(False)
    return found


async def main(one: str, other: str, delay_ms: float, loss: float) -> None:
    """Pass frames until killed."""
    loop, chance = asyncio.get_running_loop(), random.Random(1)
    sockets = _open(one), _open(other)

    def send(target: socket.socket, frame: bytes) -> None:
        try:
            target.send(frame)
        except OSError as error:  # a full queue loses frames, as it does anywhere
            if error.errno not in {errno.ENOBUFS, errno.EAGAIN}:
                raise

    def receive(source: socket.socket, target: socket.socket) -> None:
        with suppress(BlockingIOError):
            frame = source.recv(_MAX_BYTES)
            if chance.random() >= loss:
                loop.call_later(delay_ms / 1000, send, target, frame)

    loop.add_reader(sockets[0], receive, *sockets)
    loop.add_reader(sockets[1], receive, *reversed(sockets))
    sys.stdout.write("passes\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3], *map(float, sys.argv[3:])))

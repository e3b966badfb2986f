"""No child opens a socket: it reaches neither the network nor a local service."""

import pytest

from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

EVERY_FAMILY = """
import socket
opened = []
for family in range(46):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind)
        except PermissionError:
            continue
        opened.append((family, kind))
try:
    socket.socketpair()
except PermissionError:
    pass
else:
    opened.append("pair")
answer = opened
"""


@pytest.mark.parametrize("profile", ["front", "record", "prove", "back"])
async def test_every_socket_family_is_refused(attack, profile):
    outcome = await attack(EVERY_FAMILY, profile)
    assert outcome.ending is Ending.OK
    assert outcome.result["answer"] == []

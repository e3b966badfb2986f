"""A zygote whose worker ended ends silently."""

import subprocess
import sys

import pytest

PREPARED = """
import socket
from worker.pool import zygote

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
theirs.close()
zygote._send(ours, {"ready": {}})
print("still here")
"""
SERVING = """
import socket
from worker.pool import zygote, zygote_start
from worker.pool.child import ProcessTitle

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server = zygote.ForkServer(ours, {}, None, ProcessTitle())
zygote_start.send(ours, {"born": 1})  # which the worker does not read any more
theirs.close()
server._report({"born": 2})
assert server.serve() is None
"""


@pytest.mark.parametrize("at", [PREPARED, SERVING], ids=["while it prepares", "while it serves"])
def test_it_ends_in_silence(at: str) -> None:
    ended = subprocess.run([sys.executable, "-c", at], capture_output=True, text=True)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")

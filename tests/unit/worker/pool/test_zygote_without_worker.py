"""A zygote whose worker ended while it prepared ends without a word."""

import subprocess
import sys

ALONE = """
import socket
from worker.pool import zygote

ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
theirs.close()
zygote._tell(ours, {"ready": {}})
print("still here")
"""


def test_it_ends_in_silence() -> None:
    ended = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")

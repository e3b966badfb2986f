"""No child reads, writes, lists or sees a file outside its toolchain."""

import pytest

from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

REFUSED = """
answer = []
for attempt in attempts:
    try:
        attempt()
    except OSError:
        answer.append("refused")
    else:
        answer.append("DONE")
"""

READS = """
import os
paths = ["/etc/passwd", "/proc/self/environ", "/proc/self/maps", "/proc/1/environ",
         "/proc/self/mem", "/proc/self/cmdline", "/proc/sys/kernel/hostname", "/etc/shadow"]
attempts = [lambda path=path: os.read(os.open(path, os.O_RDONLY), 1) for path in paths]
"""

WRITES = """
import os
attempts = [
    lambda: os.open("/tmp/escaped", os.O_WRONLY | os.O_CREAT),
    lambda: os.open("/dev/shm/escaped", os.O_WRONLY | os.O_CREAT),
    lambda: os.open(os.path.dirname(os.__file__) + "/escaped.pth", os.O_WRONLY | os.O_CREAT),
    lambda: os.mkdir("/tmp/escaped"),
    lambda: os.mkfifo("/tmp/escaped"),
    lambda: os.symlink("/etc", "/tmp/escaped"),
    lambda: os.unlink("/etc/hostname"),
    lambda: os.rename("/etc/hostname", "/etc/escaped"),
    lambda: os.chmod("/etc/hostname", 0o666),
    lambda: os.utime("/etc/hostname"),
    lambda: os.truncate("/etc/hostname", 0),
    lambda: os.setxattr("/etc/hostname", "user.escaped", b""),
    lambda: os.chdir("/tmp"),
    lambda: os.chroot("/tmp"),
]
"""

METADATA = """
import os
attempts = [lambda: os.stat("/etc/shadow"), lambda: os.listdir("/"), lambda: os.getcwd(),
            lambda: os.open("/", os.O_PATH), lambda: os.readlink("/proc/self/exe")]
"""

TOOLCHAIN = """
import os
answer = bool(os.read(os.open(header["path"], os.O_RDONLY), 4))
try:
    os.open(header["path"], os.O_WRONLY)
except OSError:
    pass
else:
    answer = "WRITABLE"
"""


@pytest.mark.parametrize("profile", ["parse", "front", "record", "prove", "back"])
@pytest.mark.parametrize("attempts", [READS, WRITES], ids=["read", "write"])
async def test_no_file_is_read_or_changed(attack, profile, attempts):
    outcome = await attack(attempts + REFUSED, profile)
    assert outcome.ending is Ending.OK, outcome
    assert set(outcome.result["answer"]) == {"refused"}


@pytest.mark.parametrize("profile", ["parse", "front", "record"])
async def test_user_code_does_not_even_see_that_a_file_exists(attack, profile):
    outcome = await attack(METADATA + REFUSED, profile)
    assert set(outcome.result["answer"]) == {"refused"}


async def test_the_back_end_reads_its_tool_chain_and_cannot_write_it(attack, ptxas):
    outcome = await attack(TOOLCHAIN, "back", path=ptxas)
    assert outcome.result["answer"] is True


async def test_user_code_cannot_read_the_tool_chain(attack, ptxas):
    outcome = await attack(TOOLCHAIN, "front", path=ptxas)
    assert outcome.failure["message"].startswith("PermissionError")

"""No child holds data of the worker or of another job."""

import os
from pathlib import Path

import pytest

from tests.security.conftest import CANARY
from tests.security.tree import zygote_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

SEARCH = """
import gc, os, sys
needle = header["reversed"][::-1]
places = []
if any(needle in value for value in os.environ.values()):
    places.append("environment")
frame = sys._getframe().f_back
while frame:
    for name, value in frame.f_locals.items():
        if name != "scope" and needle in repr(value):
            places.append(f"frame {frame.f_code.co_name}: {name}")
    frame = frame.f_back
for thing in gc.get_objects():
    if isinstance(thing, (list, tuple, set)) and needle in map(str, filter(
            lambda item: isinstance(item, (str, bytes)), thing)):
        places.append(f"heap: {type(thing).__name__}")
answer = places
"""


async def test_the_environment_of_a_child_is_empty_but_for_the_hash_seed(attack):
    outcome = await attack("import os\nanswer = sorted(os.environ)")
    assert set(outcome.result["answer"]) <= {"PYTHONHASHSEED", "LC_CTYPE"}


async def test_the_zygote_was_started_without_the_worker_s_environment(pool):
    assert os.environ["TRITOND_TEST_SECRET"] == CANARY
    for pid in zygote_of(pool):
        assert CANARY.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
        assert CANARY.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_the_zygote_has_one_thread_and_only_its_own_descriptors(pool):
    for pid in zygote_of(pool):
        assert len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
    *_, zygote = zygote_of(pool)
    targets = [str(link.readlink()) for link in Path(f"/proc/{zygote}/fd").iterdir()]
    foreign = [
        name for name in targets if not name.startswith(("/dev/null", "pipe:", "anon_inode"))
    ]
    assert sum(name.startswith("socket:") for name in foreign) == 1


async def test_nothing_of_the_last_job_is_found_in_the_next(attack, pool):
    secret = "last-job-" + os.urandom(8).hex()
    await pool.run("front", {"task": "execute", "x": secret}, b"answer = 1", deadline_s=60)
    outcome = await attack(SEARCH, reversed=secret[::-1])
    assert outcome.result["answer"] == []


async def test_a_child_holds_no_descriptor_but_its_own_five(attack):
    source = """
import errno, os
answer = []
for number in range(4096):
    try:
        os.lseek(number, 0, os.SEEK_CUR)
    except OSError as error:
        if error.errno == errno.EBADF:
            continue
    answer.append(number)
"""
    outcome = await attack(source)
    assert outcome.result["answer"] == [0, 1, 2, 4]  # the job's pipe, 3, is closed by then

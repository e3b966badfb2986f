"""A child exhausts only its own memory, time, descriptors and output, with a named failure."""

import pytest

from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOOPS = {
    "endless": "while True: pass",
    "signals blocked": """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
while True: pass
""",
    "regular expression": "import re; re.match('(a*)*b', 'a' * 64)",
    "big integer": "answer = str(3 ** (10 ** 9))[:1]",
    "exceptions swallowed": """
while True:
    try:
        while True: pass
    except BaseException: pass
""",
}


@pytest.mark.parametrize("source", LOOPS.values(), ids=LOOPS)
async def test_a_loop_ends_at_its_deadline(attack, source):
    outcome = await attack(source, deadline_s=0.4)
    assert outcome.ending is Ending.DEADLINE
    assert outcome.detail == "still running after 0.4 s"
    assert outcome.usage.cpu_s > 0


@pytest.mark.parametrize("profile", ["front", "record", "back"])
async def test_a_memory_bomb_is_a_named_failure(attack, profile):
    outcome = await attack("answer = b'x' * (16 << 30)", profile)
    assert outcome.ending is Ending.FAILURE
    assert outcome.failure["slug"] == "memory_exceeded"


async def test_growing_step_by_step_ends_at_the_limit(attack):
    source = "kept = []\nwhile True: kept.append(bytes(64 << 20))"
    outcome = await attack(source)
    assert outcome.failure["slug"] == "memory_exceeded"


async def test_anonymous_memory_beside_the_heap_counts_too(attack):
    outcome = await attack("import mmap\nmmap.mmap(-1, 8 << 30)")
    assert "Cannot allocate memory" in outcome.failure["message"]


async def test_deep_recursion_ends_only_its_own_child(attack):
    source = "import sys\nsys.setrecursionlimit(10**9)\nf = lambda: f()\nf()"
    outcome = await attack(source, deadline_s=2)
    assert outcome.ending in (Ending.DEADLINE, Ending.SIGNAL, Ending.FAILURE)


async def test_descriptors_run_out_for_the_child_alone(attack):
    source = """
import os
answer = 0
try:
    while True:
        os.memfd_create("x")
        answer += 1
except OSError:
    pass
"""
    outcome = await attack(source, "back")
    assert outcome.result["answer"] < 64


async def test_a_memfd_grows_to_its_limit_only(attack):
    source = """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fd = os.memfd_create("x")
written = 0
try:
    while True:
        written += os.write(fd, bytes(1 << 20))
except OSError:
    answer = written
"""
    outcome = await attack(source, "back")
    assert outcome.result["answer"] == 64 << 20


async def test_endless_output_is_a_flood_and_its_beginning_is_kept(attack):
    outcome = await attack("import os\nwhile True: os.write(1, b'spam ' * 1000)")
    assert outcome.ending is Ending.FLOOD
    assert outcome.stdout[:10] == b"spam spam "
    assert outcome.stdout[64 << 10 :].endswith(b"more bytes were not kept]\n")


async def test_endless_errors_are_a_flood_too(attack):
    outcome = await attack("import sys\nwhile True: print('spam' * 100, file=sys.stderr)")
    assert outcome.ending is Ending.FLOOD
    assert outcome.stderr[64 << 10 :].endswith(b"more bytes were not kept]\n")


async def test_stages_of_many_bytes_are_a_flood(attack):
    source = "for n in range(99): send({'kind': 'stage', 'stage': str(n), 'ms': 1}, bytes(8 << 20))"
    outcome = await attack(source, stages=tuple(map(str, range(99))))
    assert outcome.ending is Ending.FLOOD
    assert sum(len(stage.body) for stage in outcome.stages) <= 64 << 20

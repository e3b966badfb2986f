"""Optional layers (own user, empty root, OOM priority), observed from outside on live children."""

import os
from pathlib import Path

import pytest

from tests.security.tree import descendants, zygote_of
from tests.waiting import comes_true
from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.sandbox_report import self_test
from worker.sandbox import optional_layers
from worker.sandbox.optional_layers import OptionalLayers, first_user, tried
from worker.sandbox.profile import PROFILES

pytestmark = pytest.mark.asyncio(loop_scope="session")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


def field(pid, name):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{name}:")).split()[1:]


def names_in_root(pid):
    return [path.name for path in Path(f"/proc/{pid}/root/").iterdir()]


def is_walled_in(pid):
    try:
        return field(pid, "Seccomp") == ["2"]
    except (FileNotFoundError, ProcessLookupError, StopIteration):  # it has just ended
        return False


async def children_of(pool):
    """Wait until the spares are ready; return their pids."""
    zygotes = zygote_of(pool)

    def both_ready():
        found = descendants(zygotes[0]) - set(zygotes)
        ready = [pid for pid in found if is_walled_in(pid)]
        return ready if len(ready) == 2 else None

    return await comes_true(both_ready)


@pytest.fixture
async def waiting(toolchain):
    """Yield the pids of two children that wait for a job in a separate pool."""
    pool = Pool(toolchain(), spares={"front": 2})
    await pool.start()
    yield pool, await children_of(pool)
    await pool.close()


@needs_root
async def test_each_child_is_a_separate_user(waiting):
    _, pids = waiting
    users = [field(pid, "Uid") for pid in pids]
    assert all(len(set(uids)) == 1 and int(uids[0]) >= first_user(0) for uids in users)
    assert all(field(pid, "Gid") == uids for pid, uids in zip(pids, users, strict=True))
    assert users[0] != users[1]
    assert [field(pid, "Groups") for pid in pids] == [[], []]


async def test_children_are_the_first_to_die_for_memory(waiting):
    pool, pids = waiting
    scores = {Path(f"/proc/{pid}/oom_score_adj").read_text() for pid in pids}
    own = Path(f"/proc/{pool.zygote_pid}/oom_score_adj").read_text()
    assert scores == {"1000\n"}
    assert own == Path("/proc/self/oom_score_adj").read_text()


@needs_root
async def test_children_that_open_nothing_have_nothing_to_open(waiting):
    pool, pids = waiting
    found = [names_in_root(pid) for pid in pids]
    if pool.facts["namespaces"]:
        assert found == [[], []]
        assert "proc" in names_in_root(zygote_of(pool)[-1])
    else:
        assert all("proc" in names for names in found)


@needs_root
async def test_the_assembler_may_start_only_so_many_processes(attack):
    source = """
import os, signal
answer = 0
try:
    while answer < 300:
        if os.fork() == 0:
            while True:
                os.read(0, 1) or os.sched_yield()
        answer += 1
except OSError:
    pass
"""
    outcome = await attack(source, "back")
    assert outcome.ending is Ending.OK
    assert 0 < outcome.result["answer"] < optional_layers.MAX_PROCESSES


async def test_the_report_names_what_holds_for_whom_and_what_is_absent(pool):
    report = (await self_test(pool)).to_dict()
    layers, absent = report["layers"], report["absent"]
    assert layers["oom_score_adj"] == ["parse", "front", "record", "prove", "back"]
    assert layers["cgroup"] is None
    assert absent["cgroup"] == "none was made"
    if os.geteuid() == 0:
        assert layers["uid_per_slot"] == ["parse", "front", "record", "prove", "back"]
    if pool.facts["namespaces"]:
        assert layers["empty_root"] == ["parse", "front", "record"]
        assert "empty_root" not in absent
    else:
        assert layers["empty_root"] == []
        assert absent["empty_root"] == "this machine allows no namespaces"


@needs_root
@pytest.mark.parametrize("layer", ["empty_root", "uid_per_slot"])
async def test_one_that_fails_in_the_child_ends_it(toolchain, layer):
    pool = Pool(toolchain(f"tests.security.faults.{layer}"), spares={})
    await pool.start()
    if not pool.facts["optional_layers"][layer]:
        await pool.close()
        pytest.skip("not on this machine")
    outcome = await pool.run("front", {"task": "execute"}, b"", deadline_s=60)
    await pool.close()
    assert (outcome.ending, outcome.result) == (Ending.SANDBOX, None)
    assert layer in outcome.detail


@needs_root
async def test_a_tool_chain_that_others_cannot_read_is_compiled_with_as_root(tmp_path, monkeypatch):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    monkeypatch.setattr(optional_layers, "file_rules", lambda _: [(str(private), 0)])
    works, reasons = tried(PROFILES["back"], OptionalLayers(user=first_user(7), score=True))
    assert works == OptionalLayers(user=None, score=True)
    assert reasons == {"uid_per_slot": reasons["uid_per_slot"]}
    assert f"other users cannot read {private}" in reasons["uid_per_slot"]


async def test_a_trial_that_dies_leaves_every_layer_out(monkeypatch):
    monkeypatch.setattr(optional_layers, "_note", lambda *_: os._exit(3))
    works, reasons = tried(PROFILES["front"], OptionalLayers(user=first_user(7), score=True))
    assert works == OptionalLayers()
    assert set(reasons.values()) == {"it died"}


async def test_no_two_zygotes_share_users():
    ranges = [
        range(first_user(pid), first_user(pid) + optional_layers.SLOTS) for pid in (1, 2, 4_194_303)
    ]
    assert len(set().union(*ranges)) == 3 * optional_layers.SLOTS
    assert max(map(max, ranges)) < 2**31

"""One limit for all children of a worker, with and without a cgroup."""

import os
from pathlib import Path

import pytest

from worker.pool.child_outcome import Ending
from worker.pool.pool import Pool
from worker.pool.sandbox_report import self_test
from worker.sandbox import cgroup
from worker.sandbox.cgroup import NoCgroup

MIB = 1 << 20

FILL = """
import os
for _ in range(30):
    held = os.memfd_create("hidden")
    for _ in range(60):
        os.write(held, b"x" * (1 << 20))
answer = "all of it"
"""

FORK = """
import os
answer = 0
try:
    while answer < 300:
        if os.fork() == 0:
            while True:
                os.sched_yield()
        answer += 1
except OSError:
    pass
"""


@pytest.fixture
async def group():
    try:
        made = cgroup.make(256 * MIB, 40)
    except NoCgroup as error:
        pytest.skip(f"this machine gives none: {error}")
    yield made
    made.remove()
    assert not any(folder.exists() for folder in made.folders)


@pytest.fixture
async def bounded(toolchain, group):
    """A pool whose children are in the group."""
    pool = Pool(toolchain(cgroup=group), spares={})
    await pool.start()
    yield pool
    await pool.close()


async def run(pool, source):
    return await pool.run("back", {"task": "execute"}, source.encode(), deadline_s=60)


async def test_memory_that_no_limit_of_a_process_counts_ends_the_child_alone(bounded):
    outcome = await run(bounded, FILL)
    assert (outcome.ending, outcome.signal) == (Ending.SIGNAL, 9)
    assert (await run(bounded, "answer = 1")).result["answer"] == 1


async def test_processes_are_counted_together(bounded):
    outcome = await run(bounded, FORK)
    assert outcome.result["answer"] < 40
    assert (await run(bounded, "answer = 1")).result["answer"] == 1


async def test_the_report_says_how_much_there_is(bounded, group):
    report = (await self_test(bounded, group)).to_dict()
    assert report["layers"]["cgroup"] == {"memory_bytes": 256 * MIB, "processes": 40}
    assert "cgroup" not in report["absent"]
    assert report["self_test"]["failed"] == []


async def test_a_zygote_that_is_not_in_its_group_is_reported(bounded, group, monkeypatch):
    monkeypatch.setattr(type(group), "holds", lambda *_: False)
    report = await self_test(bounded, group)
    assert report.failed == (f"the zygote is not in {group.folders[0]}",)


async def test_a_group_that_cannot_be_entered_is_absent_and_no_fault(toolchain, tmp_path):
    lost = cgroup.Cgroup((tmp_path / "gone",), 256 * MIB, 40)
    pool = Pool(toolchain(cgroup=lost), spares={})
    await pool.start()
    report = (await self_test(pool, lost)).to_dict()
    await pool.close()
    assert report["layers"]["cgroup"] is None
    assert "gone/cgroup.procs" in report["absent"]["cgroup"]
    assert report["self_test"]["failed"] == []


def test_what_workers_that_were_killed_left_behind_is_removed():
    try:
        left = cgroup.make(256 * MIB, 40)
    except NoCgroup as error:
        pytest.skip(f"this machine gives none: {error}")
    starting = cgroup.make(256 * MIB, 40)
    for folder in left.folders:
        os.utime(folder, (0, 0))
    made = cgroup.make(256 * MIB, 40)
    assert not any(folder.exists() for folder in left.folders)
    assert all(folder.exists() for folder in starting.folders), "another worker has just made it"
    assert len({one.folders for one in (left, starting, made)}) == 3
    for one in (starting, made):
        one.remove()


class FakeKernel:
    """A folder of files like a kernel's cgroup files: one real kernel has only one layout."""

    def __init__(self, root, own, mounts):
        self.root = root
        self.write("proc/self/cgroup", own)
        self.write("proc/self/mountinfo", mounts)

    def write(self, path, text=""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def read(self, path):
        return (self.root / path).read_text()


UNIFIED = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
OWN = "sys/fs/cgroup/user.slice"


def unified(tmp_path, subtree_control, processes):
    kernel = FakeKernel(tmp_path, "0::/user.slice\n", UNIFIED)
    kernel.write(f"{OWN}/cgroup.controllers", "cpu memory pids\n")
    kernel.write(f"{OWN}/cgroup.subtree_control", subtree_control)
    kernel.write(f"{OWN}/cgroup.procs", processes)
    return kernel


def test_a_delegated_group_of_the_unified_hierarchy(tmp_path):
    unified(tmp_path, "memory pids", "1\n2\n")
    made = cgroup.make(300 * MIB, 70, tmp_path)
    [folder] = made.folders
    assert folder.parent == tmp_path / OWN
    assert (folder / "memory.max").read_text() == str(300 * MIB)
    assert (folder / "pids.max").read_text() == "70"
    assert made.entrances == [str(folder / "cgroup.procs")]


def test_controllers_are_handed_down_where_they_are_not(tmp_path):
    kernel = unified(tmp_path, "", "1\n")
    cgroup.make(300 * MIB, 70, tmp_path)
    assert kernel.read(f"{OWN}/cgroup.subtree_control") == "+memory +pids"


@pytest.mark.parametrize(("others", "is_made"), [("", True), ("1\n", False)])
def test_a_worker_that_is_alone_in_its_group_makes_room(tmp_path, monkeypatch, others, is_made):
    kernel = unified(tmp_path, "", f"{others}{os.getpid()}\n")
    write_text = Path.write_text

    def written(file, text, encoding=None):
        moved = (tmp_path / OWN / f"tritond-worker-{os.getpid()}" / "cgroup.procs").exists()
        if file.name == "cgroup.subtree_control" and not moved:
            raise OSError(16, "Device or resource busy", str(file))
        return write_text(file, text, encoding=encoding)

    monkeypatch.setattr(Path, "write_text", written)
    if is_made:
        [folder] = cgroup.make(300 * MIB, 70, tmp_path).folders
        assert folder.name.startswith("tritond-children-")
        assert kernel.read(f"{OWN}/tritond-worker-{os.getpid()}/cgroup.procs") == "0"
    else:
        with pytest.raises(NoCgroup, match=r"subtree_control: Device or resource busy"):
            cgroup.make(300 * MIB, 70, tmp_path)


def test_divided_hierarchies_as_a_container_sees_them(tmp_path):
    mounts = (
        "31 30 0:27 /docker/1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "32 30 0:28 /docker/1 /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n"
    )
    FakeKernel(tmp_path, "4:memory:/docker/1\n8:pids:/docker/1\n", mounts)
    for name in ("memory", "pids"):
        (tmp_path / "sys/fs/cgroup" / name).mkdir(parents=True)
    memory, pids = cgroup.make(300 * MIB, 70, tmp_path).folders
    assert memory.parent == tmp_path / "sys/fs/cgroup/memory"
    assert (memory / "memory.limit_in_bytes").read_text() == str(300 * MIB)
    assert pids.parent == tmp_path / "sys/fs/cgroup/pids"
    assert (pids / "pids.max").read_text() == "70"


def test_a_delegated_group_that_counts_memory_only(tmp_path):
    kernel = unified(tmp_path, "memory", "1\n2\n")
    kernel.write(f"{OWN}/cgroup.controllers", "memory\n")
    made = cgroup.make(300 * MIB, 70, tmp_path)
    assert (made.memory_bytes, made.processes) == (300 * MIB, None)
    assert not (made.folders[0] / "pids.max").exists()


def test_divided_hierarchies_of_which_only_one_is_there(tmp_path):
    mounts = "32 30 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    FakeKernel(tmp_path, "8:pids:/\n", mounts)
    (tmp_path / "sys/fs/cgroup/pids").mkdir(parents=True)
    made = cgroup.make(300 * MIB, 70, tmp_path)
    assert (made.memory_bytes, made.processes) == (None, 70)


def test_a_machine_without_cgroups(tmp_path):
    FakeKernel(tmp_path, "", "")
    with pytest.raises(NoCgroup, match="has neither memory nor pids"):
        cgroup.make(300 * MIB, 70, tmp_path)


def test_a_limit_that_is_not_kept_is_none(tmp_path, monkeypatch):
    unified(tmp_path, "memory pids", "1\n")
    monkeypatch.setattr(cgroup, "_name", lambda: "tritond-children-here")
    folder = tmp_path / OWN / "tritond-children-here"
    folder.mkdir()
    (folder / "memory.max").symlink_to("/dev/null")
    with pytest.raises(NoCgroup, match=r"memory\.max is  after"):
        cgroup.make(300 * MIB, 70, tmp_path)

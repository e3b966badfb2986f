"""Triton's code in huge pages: the same bytes at the same addresses, and children run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.front import huge_pages

PROGRAM = """
import ctypes, hashlib, json, mmap, os, re, sys
from pathlib import Path
from triton._C import libtriton
from compiler.front import huge_pages, warming

library = Path(libtriton.__file__).resolve()
[(start, end)] = huge_pages._code_of(library)

def digest():
    return hashlib.sha256(ctypes.string_at(start, end - start)).hexdigest()

def huge_bytes():
    smaps = Path("/proc/self/smaps").read_text()
    return sum(map(int, re.findall("AnonHugePages: *([0-9]+)", smaps))) << 10

def given_bytes():  # in huge pages, of fresh memory of this size, at the moment
    had = huge_bytes()
    with mmap.mmap(-1, end - start + (2 << 20), flags=0x22) as memory:  # private, anonymous
        memory.madvise(14)  # MADV_HUGEPAGE
        for place in range(0, len(memory), 4096):
            memory[place] = 1
        return huge_bytes() - had

before = digest()
held, given = huge_pages.hold(library), None
if not held:
    given = given_bytes()
    held = huge_pages.hold(library)
after = digest()
child = os.fork()
if child == 0:
    warming.touch("back")
    os._exit(0)
_, status = os.waitpid(child, 0)
again = huge_pages.hold(library)
print(json.dumps([before, after, held, again, end - start, status, given]), flush=True)
os._exit(0)
"""


def test_code_is_moved_as_it_is_and_children_run_it() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    before, after, held, again, size, status, given = json.loads(done.stdout)

    assert after == before
    assert status == 0
    if held:
        assert held > 0.9 * size
        assert again == 0  # it no longer is the file's
    else:
        assert not huge_pages._may_be_huge() or given < 0.95 * size, "it could have been moved"


@pytest.mark.parametrize(
    ("said", "may_be"),
    [("always [madvise] never", True), ("[always] madvise never", True),
     ("always madvise [never]", False), (None, False)],
)  # fmt: skip
def test_a_machine_without_huge_pages_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, may_be: bool
) -> None:
    enabled = tmp_path / "enabled"
    if said is not None:
        enabled.write_text(said)
    monkeypatch.setattr(huge_pages, "_ENABLED", enabled)

    assert huge_pages._may_be_huge() is may_be

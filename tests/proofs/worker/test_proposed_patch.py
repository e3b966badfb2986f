"""A proposed change as a patch, which other programs apply."""

import subprocess
import time
from pathlib import Path

import pytest

from compiler.job import SOURCE_PATH
from proofs.worker.proposed_fix import patch_of

NUMBERED = [f"line {number}" for number in range(20)]


def applied(folder: Path, before: str, patch: str) -> str:
    """Return the text that `patch` of GNU makes of `before`."""
    file = folder / SOURCE_PATH
    file.write_bytes(before.encode())
    command = ["patch", "--batch", "--no-backup-if-mismatch", "-p1"]
    subprocess.run(command, cwd=folder, input=patch.encode(), check=True, stdout=subprocess.PIPE)
    return file.read_bytes().decode()


@pytest.mark.parametrize("end", ["\n", "", "\nlast line without an end"])
@pytest.mark.parametrize(
    ("at", "new"),
    [
        (0, ["first"]),
        (7, ["changed"]),
        (19, ["last"]),
        (10, ["one line", "of two"]),
        (12, ["line 12 \x0c \u2028 with other ends of lines", "\r"]),
    ],
)
def test_a_patch_makes_the_new_source_of_the_old_one(tmp_path, at, new, end):
    changed = [*NUMBERED[:at], *new, *NUMBERED[at + 1 :]]
    before, after = "\n".join(NUMBERED) + end, "\n".join(changed) + end

    assert applied(tmp_path, before, patch_of(before, after)) == after


def test_a_line_that_is_added_among_equal_ones_is_one_line_of_the_patch(tmp_path):
    before = "x\n" * 9
    patch = patch_of(before, before + "x\n")

    assert patch.count("\n+") == 2  # its head has one
    assert applied(tmp_path, before, patch) == before + "x\n"


def test_a_patch_shows_three_lines_around_the_change():
    before = "".join(f"{line}\n" for line in NUMBERED)
    lines = patch_of(before, before.replace("line 9\n", "other\n")).splitlines()

    assert lines[2:] == [
        "@@ -7,7 +7,7 @@",
        *(" line 6", " line 7", " line 8", "-line 9", "+other"),
        *(" line 10", " line 11", " line 12"),
    ]


@pytest.mark.parametrize(("second", "hunks"), [(6, 1), (8, 1), (9, 2), (19, 2)])
def test_lines_between_two_changes_are_not_changed(tmp_path, second, hunks):
    before = "".join(f"{line}\n" for line in NUMBERED)
    changed = [f"new {at}" if at in {1, second} else line for at, line in enumerate(NUMBERED)]
    after = "".join(f"{line}\n" for line in changed)
    patch = patch_of(before, after)

    assert applied(tmp_path, before, patch) == after
    assert (patch.count("\n-"), patch.count("\n@@")) == (2, hunks)


def cpu_s_of_patch(lines: list[str]) -> float:
    before = "first\n" + "".join(lines)
    began_s = time.thread_time()
    patch_of(before, before.replace("first", "changed"))
    return time.thread_time() - began_s


def test_lines_that_occur_often_take_no_longer_than_others() -> None:
    often = [f"{number % 105:05}\n" for number in range(66_000)]
    once = [f"{number:05}\n" for number in range(66_000)]

    # difflib takes a hundred times as long
    assert cpu_s_of_patch(often) < 10 * cpu_s_of_patch(once)

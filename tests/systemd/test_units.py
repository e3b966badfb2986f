"""The units are valid and give away few rights. `make test-images` starts them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import TESTS

UNITS = TESTS.parent / "deploy/systemd"
# as `systemctl` names them
STARTED = {"tritond-api.service": UNITS / "tritond-api.service"}
STARTED |= {"tritond-worker@1.service": UNITS / "tritond-worker@.service"}
MAX_EXPOSED = {"tritond-api.service": 12, "tritond-worker@1.service": 43}
"""The score of `systemd-analyze security` in tenths; 100 is without any protection."""


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    tool = shutil.which("systemd-analyze")
    assert tool, "no systemd-analyze is installed here: apt-get install systemd"
    return subprocess.run([tool, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("name", STARTED)
def test_systemd_finds_no_fault(name: str, tmp_path: Path) -> None:
    # it looks for the command, which is in an environment that this machine need not have
    text = (
        STARTED[name]
        .read_text()
        .replace("ExecStart=/opt/tritond/bin/tritond", "ExecStart=/bin/true")
    )
    (tmp_path / name).write_text(text)

    done = analyze("verify", str(tmp_path / name))

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.parametrize("name", STARTED)
def test_a_unit_gives_away_no_more_rights_than_it_did(name: str, tmp_path: Path) -> None:
    shutil.copy(STARTED[name], tmp_path / name)
    threshold = f"--threshold={MAX_EXPOSED[name]}"

    done = analyze("security", "--offline=true", threshold, str(tmp_path / name))

    assert done.returncode == 0, done.stdout[-2000:]

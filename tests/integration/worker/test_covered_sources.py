"""The code digests cover what processes really load: by computed names, or as text."""

import json
import subprocess
import sys

import pytest

from proofs.worker.proof_children import PROVING
from worker.code_digest import COMPILING, PACKAGES, ROOT, reached

OPENED_SOURCES = "tests.integration.worker.opened_sources"


@pytest.mark.parametrize(("what", "entries"), [("compiling", COMPILING), ("proving", PROVING)])
def test_all_sources_that_are_opened_are_covered(what: str, entries: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", OPENED_SOURCES, what, *entries]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    opened = {path for path in json.loads(done.stdout) if path.partition("/")[0] in PACKAGES}

    assert len(opened) > 100
    assert opened <= reached(entries).keys()

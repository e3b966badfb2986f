"""Generated programs need torch: collected only in the environment of `make test-torch`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.programs.with_torch.recording_process import RecordingProcess

collect_ignore_glob = [] if os.environ.get("TRITOND_TEST_TORCH") else ["test_*.py"]


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    """Yield a process that records programs."""
    from tests.programs.with_torch.recording_process import RecordingProcess

    process = RecordingProcess()
    yield process
    process.close()

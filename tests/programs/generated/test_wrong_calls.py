"""Calls with wrong arguments fail where eager torch fails, and nowhere else."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from tests.programs.generated.wrong_calls import (
    DISAGREES,
    Comparison,
    EndingProcess,
    calls_of,
    own_overloads,
)
from tests.programs.with_torch.recording_process import RecordingProcess

SEED = int(os.environ.get("TRITOND_FUZZ_SEED", "1"))
OVERLOADS, CALLS = 12, 4


@pytest.fixture(scope="module")
def ending() -> Iterator[EndingProcess]:
    process = EndingProcess()
    yield process
    process.close()


@pytest.mark.timeout(0)
def test_wrong_calls_fail_as_in_eager_torch(
    ending: EndingProcess, recorder: RecordingProcess
) -> None:
    names = random.Random(SEED).sample(own_overloads(), OVERLOADS)
    calls = [call for name in names for call in calls_of(name, SEED, CALLS)]

    verdicts = list(Comparison(ending, recorder).verdicts(calls))

    assert len(verdicts) == len(calls)
    assert [one.detail for one in verdicts if one.word == DISAGREES] == []


@pytest.mark.parametrize(
    ("call", "raised"),
    [
        ("tensor(torch.float32, (3, 4))[tensor(torch.int8, (2,))]", "IndexError"),
        ("tensor(torch.float32, (3, 4))[tensor(torch.uint8, (3,))]", "NotRecordable"),
        ("tensor(torch.float32, (3, 4)) + tensor(torch.float32, (3, 5))", "RuntimeError"),
        ("tensor(torch.float32, (3, 4)).sum(2)", "IndexError"),
        ("tensor(torch.float32, (3, 4)).sum(1)", ""),
    ],
)
def test_a_recording_raises_at_a_call(ending: EndingProcess, call: str, raised: str) -> None:
    assert ending.ended([call]) == [raised]

"""A program job survives its round trip; members of other versions are ignored."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from launch.request.launch_record import Device
from programs.program_job import CPU_TARGET, ProgramEntry
from programs.program_kind import PROGRAM
from programs.program_request import EXAMPLE, FUNCTION_EXAMPLE, WARMING_EXAMPLE
from store.stored import Unreadable
from tests.programs.unit.queued_programs import queued
from tests.unit.jobs.changed_payloads import changed

WHOLE: dict[str, Any] = EXAMPLE | {
    "entry": {"kind": "model", "class": "Net"},
    "files": {"helpers.py": "x = 1"},
    "tolerance": {"rtol": 1e-3},
    "cases": [{"name": "a", "inputs": {"source": "def get_inputs(): ..."}}],
    "checks": ["determinism"],
    "timing": {"min_repeats": 50},
    "trials": 3,
    "priority": "batch",
}
SCRIPT = EXAMPLE | {"entry": {"kind": "script", "outputs": ["y", "z"]}}


@pytest.mark.parametrize("body", [EXAMPLE, FUNCTION_EXAMPLE, WARMING_EXAMPLE, WHOLE, SCRIPT])
def test_what_is_read_is_what_was_queued(body: dict[str, Any]) -> None:
    job = queued(body)

    assert PROGRAM.read(PROGRAM.written(job)) == job


def test_a_program_without_cases_is_its_only_case() -> None:
    job = queued(FUNCTION_EXAMPLE)
    [case] = job.cases

    assert (job.has_cases, case.name) == (False, None)
    assert case.inputs is not None
    assert case.inputs.source == FUNCTION_EXAMPLE["inputs"]["source"]


def test_prepared_work_that_is_refused_is_serious() -> None:
    refused = queued(EXAMPLE | {"prepared_work": "refused"})

    assert "prepared_work" in refused.serious_flags
    assert "prepared_work" not in queued(EXAMPLE).serious_flags


def test_what_may_be_called_is_resolved() -> None:
    job = queued(EXAMPLE)

    assert job.candidate.entries[1] == ProgramEntry("function", "custom_kernel")
    assert job.reference is not None
    assert job.reference.entries[0] == ProgramEntry("model", "Model")


def test_kernels_are_compiled_for_the_device_else_for_what_is_asked() -> None:
    device = Device(target="cuda:80", model="A100", interpreter=False)

    assert queued(EXAMPLE, device=device).target == "cuda:80"
    assert queued(WARMING_EXAMPLE | {"target": "cuda:90:32"}).target == "cuda:90"
    assert queued(EXAMPLE).target == CPU_TARGET


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": lambda written: written.update(version=1),
    "no cases": lambda written: written.update(cases=[]),
    "too many cases": lambda written: written.update(cases=written["cases"] * 33),
    "an endless run": lambda written: written.update(timeout_s=1e9),
    "endless trials": lambda written: written.update(trials=10**6),
    "a negative seed": lambda written: written.update(seed=-1),
    "no entries": lambda written: written["candidate"].update(entries=[]),
    "a name that is none": lambda written: written["candidate"]["entries"][0].update(name="a.b"),
    "a path out of the folder": lambda written: written["candidate"].update(files={"../a.py": ""}),
    "a text with NUL": lambda written: written["candidate"].update(source="\0"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_store_cannot_queue_what_no_request_comes_to(
    change: Callable[[dict[str, Any]], object],
) -> None:
    written = json.loads(PROGRAM.written(queued(WHOLE)))
    change(written)

    with pytest.raises(Unreadable):
        PROGRAM.read(json.dumps(written).encode())


@given(changed(PROGRAM.written(queued(WHOLE))))
def test_whatever_is_changed_is_read_or_refused(payload: bytes) -> None:
    with suppress(Unreadable):
        assert PROGRAM.read(payload).cases

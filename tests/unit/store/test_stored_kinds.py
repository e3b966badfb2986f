"""Everything that is stored is read whatever another version adds to it, or leaves out."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from launch.request.launch_job import LaunchJob
from programs.program_job import ProgramJob
from programs.program_kind import PROGRAM
from programs.program_request import EXAMPLE
from store.stored import Unreadable, read_stored
from sweeps.sweep_job import SweepJob
from sweeps.sweep_kind import SWEEP
from tests.programs.unit.queued_programs import queued as queued_program
from tests.sweeps.test_sweep_job import JOB
from tests.unit.launch.request.queued_launches import queued
from tests.unit.launch.request.test_launch_job import WHOLE, wire
from tests.unit.store.stored_kinds import (
    calls,
    changed,
    examples_of,
    modules,
    places_in,
    read_kinds,
    required_members,
)

KINDS = read_kinds()
BY_HAND: dict[type[Any], list[Any]] = {
    LaunchJob: [wire(queued(WHOLE))],
    ProgramJob: [json.loads(PROGRAM.written(queued_program(EXAMPLE)))],
    SweepJob: [json.loads(SWEEP.written(JOB))],
}
"""Examples of kinds whose members must agree with each other."""
REQUIRED = json.loads(Path(__file__).with_name("required_members.json").read_text())
"""The members that versions before this one wrote always; there may not be more."""
WRITTEN_ALWAYS = {LaunchJob: {"allocations", "arguments", "source"}}
"""Members with defaults that other members of the same record need."""
READ_OTHERWISE = {
    "adapters.compiler_explorer.compiling": "answers of the service that it is a part of",
    "adapters.evaluators.flashinfer_bench_routes": "an id that a client sends",
    "service.routes.lessons": "a file of this package",
    "worker.launch.gpu.profile_lines": "what a child of this worker sent",
}


def read(kind: type[Any], value: Any) -> Any:
    return read_stored(kind, json.dumps(value))


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def examples(kind: type[Any]) -> list[Any]:
    return BY_HAND.get(kind) or examples_of(kind)


def test_members_that_are_not_known_are_ignored(kind: type[Any], examples: list[Any]) -> None:
    for example in examples:
        known = read(kind, example)
        for place in places_in(known, example):
            more = changed(example, place.at, lambda members: members | {"of_tomorrow": [{}]})
            assert read(kind, more) == known, place


def test_members_that_are_missing_have_a_default(kind: type[Any], examples: list[Any]) -> None:
    for example in examples:
        for place in places_in(read(kind, example), example):
            for name in set(place.optional) - WRITTEN_ALWAYS.get(kind, set()):
                less = changed(
                    example, place.at, lambda had, name=name: {k: had[k] for k in had if k != name}
                )
                read(kind, less)


def test_a_member_that_earlier_versions_did_not_write_has_a_default(kind: type[Any]) -> None:
    assert kind.__name__ in REQUIRED, "add the members that it has from its first version on"
    earlier, now = REQUIRED[kind.__name__], required_members(kind)
    more = {
        name: sorted({*now[name]} - {*earlier[name].split()})
        for name in now.keys() & earlier.keys()
    }
    assert not any(more.values()), more


def test_only_one_function_reads_what_is_stored() -> None:
    others = {
        name
        for name, tree in modules()
        for call in calls(tree)
        if name != "store.stored" and _reads_json_as_a_record(call)
    }
    assert others == READ_OTHERWISE.keys()


def _reads_json_as_a_record(call: ast.Call) -> bool:
    """Return True for `X.model_validate_json(...)` and `X(**loads(...))`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in (
        "model_validate_json",
        "validate_json",
    ):
        return True
    return any(
        item.arg is None
        and isinstance(item.value, ast.Call)
        and isinstance(item.value.func, ast.Attribute)
        and item.value.func.attr == "loads"
        for item in call.keywords
    )


def test_a_version_that_is_not_known_is_refused_in_one_sentence() -> None:
    written = json.loads(SWEEP.written(JOB)) | {"version": 7}

    with pytest.raises(Unreadable) as refused:
        read(SweepJob, written)

    assert str(refused.value) == (
        "Another version of tritond wrote this SweepJob (its version is 7), and this one cannot "
        "read it. Upgrade all services and workers to the same release, or post the request again."
    )


def test_what_is_damaged_is_refused_by_the_name_of_the_member() -> None:
    with pytest.raises(Unreadable, match=r"^A stored CompileJob cannot be read: key: Field requ"):
        read_stored(KINDS["CompileJob"], b"{}")
    with pytest.raises(Unreadable, match=r"^A stored CompileJob cannot be read: : Invalid JSON"):
        read_stored(KINDS["CompileJob"], b"{")

"""Program requests: shape, contradictions, and errors that the JSON alone shows."""

from typing import Any

import orjson
import pytest

from compiler.rejection import RequestRejected
from compiler.request.limits import RequestLimits, RequestTooLarge
from programs.program_job import CANDIDATE, REFERENCE, ProgramEntry, entries_of
from programs.program_request import EXAMPLE, FUNCTION_EXAMPLE, ProgramRequest
from programs.service.program_submission import check_program
from service.http.body import parse_body

LIMITS = RequestLimits()
SOURCE = {"source": "class ModelNew: pass"}
FUNCTION = {"kind": "function", "name": "f"}
SCRIPT = {"kind": "script"}
INPUTS = {"source": "def get_inputs(): return []"}


def read(body: dict[str, Any]) -> ProgramRequest:
    request = parse_body(orjson.dumps(body), ProgramRequest)
    check_program(request, LIMITS)
    return request


@pytest.mark.parametrize("example", [EXAMPLE, FUNCTION_EXAMPLE], ids=["model", "function"])
def test_the_examples_of_the_documentation_are_programs(example):
    assert read(example).reference is not None


def test_what_is_not_said_has_a_default():
    said = read(SOURCE)

    assert (said.seed, said.device, said.priority) == (None, "auto", "interactive")
    assert (said.timeout_s, said.deadline_s) == (60, 300)
    assert (said.cases, said.checks, said.files) == ([], None, {})
    assert (said.entry, said.inputs, said.reference, said.tolerance) == (None, None, None, None)


def test_a_null_is_as_good_as_a_field_left_out():
    assert read(SOURCE | {"entry": None, "cases": None, "timing": None}) == read(SOURCE)


FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown field": (SOURCE | {"refrence": {}}, "/refrence", "Did you mean `reference`?"),
    "no source": ({}, "/source", "this field is needed"),
    "empty source": ({"source": ""}, "/source", "at least 1 character"),
    "NUL in the source": ({"source": "a\0b"}, "/source", "NUL"),
    "NUL in the reference": (SOURCE | {"reference": {"source": "\0"}}, "/reference/source", "NUL"),
    "path of a file": (SOURCE | {"files": {"../x.py": ""}}, "/files/..~1x.py", "module path"),
    "path of a reference's file": (
        SOURCE | {"reference": SOURCE | {"files": {"user.py": ""}}},
        "/reference/files/user.py",
        "is `source` itself",
    ),
    "kind of entry": (SOURCE | {"entry": {"kind": "class"}}, "/entry/kind", "'model'"),
    "name of a model": (
        SOURCE | {"entry": {"kind": "model", "name": "f"}},
        "/entry/name",
        "only a function takes it, and this is a model",
    ),
    "class of a script": (
        SOURCE | {"entry": SCRIPT | {"class": "A"}},
        "/entry/class",
        "only a model takes it, and this is a script",
    ),
    "no identifier": (SOURCE | {"entry": FUNCTION | {"name": "a.b"}}, "/entry/name", "pattern"),
    "reference's entry": (
        SOURCE | {"reference": SOURCE | {"entry": FUNCTION | {"outputs": ["x"]}}},
        "/reference/entry/outputs",
        "only a script takes it, and this is a function",
    ),
    "inputs of a script": (
        SOURCE | {"entry": SCRIPT, "inputs": INPUTS},
        "/inputs",
        "a script makes its own",
    ),
    "cases of a script": (
        SOURCE | {"entry": SCRIPT, "cases": [{"inputs": INPUTS}]},
        "/cases",
        "a script makes its own inputs; leave `cases` out",
    ),
    "script beside a model": (
        SOURCE | {"entry": SCRIPT, "reference": SOURCE},
        "/reference/entry",
        "a script is compared with a script",
    ),
    "model beside a script": (
        SOURCE | {"reference": SOURCE | {"entry": SCRIPT}},
        "/reference/entry",
        "a script takes no inputs",
    ),
    "case without inputs": (SOURCE | {"cases": [{}]}, "/cases/0/inputs", "this field is needed"),
    "tolerance": (SOURCE | {"tolerance": {"rtol": -1}}, "/tolerance/rtol", "greater than or equal"),
    "device": (
        SOURCE | {"device": "tpu"},
        "/device",
        '"tpu" is not a device. Did you mean `gpu`? Write "auto"',
    ),
    "target of a device": (
        SOURCE | {"device": {"target": "cuda"}},
        "/device/target",
        "is not a target",
    ),
    "slip in a device": (
        SOURCE | {"device": {"target": "cuda:90", "modl": "x"}},
        "/device/modl",
        "Did you mean `model`?",
    ),
    "repeats": (
        SOURCE | {"timing": {"min_repeats": 5, "max_repeats": 4}},
        "/timing/max_repeats",
        "is less than min_repeats, 5",
    ),
    "timing of launches": (
        SOURCE | {"timing": {"fresh_inputs": True}},
        "/timing/fresh_inputs",
        "unknown field",
    ),
    "seed": (SOURCE | {"seed": -1}, "/seed", "greater than or equal to 0"),
    "check": (SOURCE | {"checks": ["spam"]}, "/checks/0", "'racecheck'"),
    "target": (SOURCE | {"target": "cuda:90"}, "/target", '"stop_after": "kernels"'),
    "no trial": (SOURCE | {"trials": 0}, "/trials", "greater than or equal to 1"),
    "too many trials": (SOURCE | {"trials": 21}, "/trials", "less than or equal to 20"),
    "stopped before its trials": (
        SOURCE | {"stop_after": "tape", "trials": 2},
        "/trials",
        "nothing runs after tape",
    ),
    "stopped before the clock": (
        SOURCE | {"stop_after": "kernels", "timing": {}},
        "/timing",
        "nothing runs after kernels",
    ),
    "stopped before the GPU": (
        SOURCE | {"stop_after": "tape", "device": {"target": "cuda:90"}},
        "/device",
        "nothing runs after tape",
    ),
    "stopped before any GPU": (
        SOURCE | {"stop_after": "tape", "device": "gpu"},
        "/device",
        "nothing runs after tape",
    ),
    "stopped before comparing": (
        SOURCE | {"stop_after": "tape", "checks": ["racecheck"]},
        "/checks",
        "nothing runs after tape",
    ),
}


def test_a_program_that_is_not_run_may_have_a_reference_that_says_what_it_is_made_with():
    said = read(SOURCE | {"stop_after": "kernels", "reference": SOURCE})

    assert said.reference is not None


@pytest.mark.parametrize(("body", "pointer", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_names_its_place_and_what_is_wrong(body, pointer, message):
    with pytest.raises(RequestRejected) as rejected:
        read(body)

    [error] = rejected.value.errors
    assert error.pointer == pointer
    assert message in error.message


def test_all_faults_are_named_at_once():
    body = SOURCE | {"device": "tpu", "entry": SCRIPT | {"name": "f"}, "inputs": INPUTS}

    with pytest.raises(RequestRejected) as rejected:
        read(body)

    assert [error.pointer for error in rejected.value.errors] == [
        "/device",
        "/entry/name",
        "/inputs",
    ]


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({"source": "x" * 11}, "/source"),
        ({"source": "x", "files": {"a.py": "x" * 21}}, "/files"),
        ({"source": "x", "reference": {"source": "é" * 6}}, "/reference/source"),
        ({"source": "x", "inputs": {"source": "x" * 11}}, "/inputs/source"),
        (
            {"source": "x", "cases": [{"inputs": {"source": "x" * 11}}]},
            "/cases/0/inputs/source",
        ),
    ],
)
def test_every_text_is_bounded(body, at):
    limits = RequestLimits(source_bytes=10, files_bytes=20)
    request = parse_body(orjson.dumps(body), ProgramRequest)

    with pytest.raises(RequestTooLarge) as rejected:
        check_program(request, limits)

    assert rejected.value.errors[0].pointer == at


def test_a_program_may_bring_a_package_that_is_larger_than_a_kernel_s():
    limits = RequestLimits()

    def files(count: int) -> ProgramRequest:
        return ProgramRequest(source="x", files={f"p/m{number}.py": "" for number in range(count)})

    check_program(files(limits.program_files), limits)
    with pytest.raises(RequestRejected, match="/files: 513 files; the limit is 512"):
        check_program(files(limits.program_files + 1), limits)


def test_an_entry_that_is_not_named_is_looked_for_as_kernelbench_does():
    assert entries_of(None, CANDIDATE) == [
        ProgramEntry("model", "ModelNew"),
        ProgramEntry("function", "custom_kernel"),
    ]
    assert entries_of(None, REFERENCE) == [
        ProgramEntry("model", "Model"),
        ProgramEntry("function", "ref_kernel"),
    ]


def test_an_entry_of_a_kind_has_the_usual_name_of_its_role():
    said = read(SOURCE | {"entry": {"kind": "model"}, "reference": SOURCE | {"entry": FUNCTION}})

    assert entries_of(said.entry, CANDIDATE) == [ProgramEntry("model", "ModelNew")]
    assert entries_of(said.reference.entry, REFERENCE) == [ProgramEntry("function", "f")]


def test_a_script_says_which_variables_hold_its_results():
    said = read(SOURCE | {"entry": SCRIPT | {"outputs": ["y", "z"]}})

    assert entries_of(said.entry, CANDIDATE) == [ProgramEntry("script", outputs=("y", "z"))]

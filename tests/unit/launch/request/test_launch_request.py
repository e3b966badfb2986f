"""Launch requests: shape, contradictions, and errors that the JSON alone shows."""

from typing import Any

import orjson
import pytest

from launch.request.launch_request import EXAMPLE, LaunchRequest
from launch.request.launch_resolution import resolve_launch
from service.http.body import parse_body
from tests.unit.launch.request.launch_of_add import (
    COMPILATION,
    LAUNCH,
    OUTPUT,
    errors,
    request,
    resolved,
)


def read(**changes: Any) -> LaunchRequest:
    return parse_body(orjson.dumps(LAUNCH | changes), LaunchRequest)


def test_the_example_of_the_documentation_is_a_launch():
    resolved = resolve_launch(parse_body(orjson.dumps(EXAMPLE), LaunchRequest))

    assert resolved.device == "auto"
    assert resolved.infers


def test_what_is_not_said_has_a_default():
    said = read()

    assert (said.device, said.isolation, said.priority) == ("auto", "caller", "interactive")
    assert (said.timeout_s, said.deadline_s) == (30, 300)
    assert (said.cases, said.checks, said.return_) == ([], [], {})
    assert (said.reference, said.timing, said.trace) == (None, None, None)


def test_empty_timing_and_trace_have_their_defaults():
    said = read(timing={}, trace={})

    assert (said.timing.warmup_repeats, said.timing.min_repeats, said.timing.max_ms) == (
        10,
        20,
        500,
    )
    assert said.timing.flush_l2
    assert said.trace.programs == [[0, 0, 0]]
    assert said.trace.max_accesses == 10_000


def test_a_request_is_read_back_from_its_json():
    said = read(timing={"bytes": 1e6, "flops": 5}, **{"return": {"output_ptr": "tensor"}})
    written = said.model_dump_json(by_alias=True)

    assert LaunchRequest.model_validate_json(written) == said
    assert said.timing.bytes_ == 1e6


SHAPES: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown field": ({"spam": 1}, "/spam", "unknown field"),
    "source beside the compilation": (
        {"source": "x"},
        "/source",
        "it belongs in `compilation`",
    ),
    "unknown field of the compilation": (
        {"compilation": COMPILATION | {"spam": 1}},
        "/compilation/spam",
        "unknown field",
    ),
    "key that is none": ({"compilation_key": "x"}, "/compilation_key", "pattern"),
    "101 cases": ({"cases": [{}] * 101}, "/cases", "at most 100"),
    "unknown field of a case": ({"cases": [{}, {"args": 1}]}, "/cases/1/args", "unknown field"),
    "unknown check": ({"checks": ["memchck"]}, "/checks/0", "'memcheck'"),
    "unknown return": (
        {"return": {"output_ptr": "all"}},
        "/return/output_ptr",
        "'none', 'summary'",
    ),
    "no failures": (
        {"stop_after_failures": 0},
        "/stop_after_failures",
        "greater than or equal to 1",
    ),
    "negative budget": ({"timing": {"max_ms": -1}}, "/timing/max_ms", "greater than 0"),
    "unknown isolation": ({"isolation": "vm"}, "/isolation", "'caller' or 'process'"),
    "timeout of zero": ({"timeout_s": 0}, "/timeout_s", "greater than 0"),
    "endless timeout": ({"timeout_s": 1e9}, "/timeout_s", "less than or equal to 600"),
    "endless deadline": ({"deadline_s": 1e9}, "/deadline_s", "less than or equal to 3600"),
    "timeout as text": ({"timeout_s": "30"}, "/timeout_s", "valid number"),
    "negative tolerance": (
        {"reference": {"source": "x", "rtol": -1}},
        "/reference/rtol",
        "greater",
    ),
    "ratio beyond 1": (
        {"reference": {"max_mismatched_ratio": 2}},
        "/reference/max_mismatched_ratio",
        "less",
    ),
    "unknown language": (
        {"reference": {"language": "jax"}},
        "/reference/language",
        "'numpy' or 'torch'",
    ),
    "the fallback that was": ({"fallback": "interpret"}, "/fallback", "this field was removed"),
    "the check that was": (
        {"checks": ["racecheck", "differential"]},
        "/checks/1",
        "the check `differential` was removed",
    ),
    "program of four": ({"trace": {"programs": [[0, 0, 0, 0]]}}, "/trace/programs/0", "at most 3"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_of_a_request_is_checked(name: str):
    changes, at, message = SHAPES[name]
    [(pointer, said)] = errors(lambda: read(**changes))

    assert pointer == at
    assert message in said


KEY = {"compilation": None, "compilation_key": "0" * 64}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no compilation": ({"compilation": None}, "", "give either `compilation`, or"),
    "two compilations": ({"compilation_key": "0" * 64}, "", "give either `compilation`, or"),
    "unknown device": ({"device": "tpu"}, "/device", '"auto", "cpu", "gpu" or'),
    "device of a strange target": ({"device": {"target": "x"}}, "/device/target", "not a target"),
    "device without a target": ({"device": {"model": "x"}}, "/device/target", "needed"),
    "device of another target": (
        {"device": {"target": "cuda:80"}},
        "/device/target",
        "is for cuda:90",
    ),
    "strange target": (
        {"compilation": COMPILATION | {"target": "x"}},
        "/compilation/target",
        "not a target",
    ),
    "half a compilation": (
        {"compilation": COMPILATION | {"stop_after": "ptx"}},
        "/compilation/stop_after",
        "last stage, cubin",
    ),
    "strange type": (
        {"compilation": COMPILATION | {"signature": {"x_ptr": "x"}}},
        "/compilation/signature/x_ptr",
        "not a Triton type",
    ),
    "strange constexpr": (
        {"compilation": COMPILATION | {"constexprs": {"B": {}}}},
        "/compilation/constexprs/B",
        "not a constexpr",
    ),
    "arguments by position": ({"arguments": [1]}, "/arguments", "by position is for IR"),
    "arguments of no kind": ({"arguments": 1}, "/arguments", "an object by name"),
    "arguments of a case": (
        {"cases": [{"arguments": 1}]},
        "/cases/0/arguments",
        "an object by name",
    ),
    "grid": ({"grid": "1"}, "/grid", "list of one to three"),
    "grid that is too large": ({"grid": ["n_elements * 2**31"]}, "/grid/0", "does not belong"),
    "grid of zero": ({"grid": ["n_elements // 1000"]}, "/grid/0", "is 0"),
    "grid of a case": ({"cases": [{"grid": ["1/2"]}]}, "/cases/0/grid/0", "use //"),
    "fewer repeats at most than at least": (
        {"timing": {"min_repeats": 9, "max_repeats": 8}},
        "/timing/max_repeats",
        "less than min_repeats, 9",
    ),
    "no output": ({"return": {"x_ptr": "values"}}, "/return/x_ptr", "outputs are output_ptr"),
    "trace of a GPU": (
        {"device": {"target": "cuda:90"}, "trace": {}},
        "/trace",
        '"device": "cpu"',
    ),
    "trace of any GPU": ({"device": "gpu", "trace": {}}, "/trace", '"device": "cpu"'),
    "grid of a buffer": ({"grid": ["cdiv(x_ptr, 4)"]}, "/grid/0", "x_ptr"),
    "empty reference": ({"reference": {}}, "/reference", "give either `source`"),
    "two references": (
        {"reference": {"source": "x", "compilation_key": "0" * 64}},
        "/reference",
        "give either `source`",
    ),
    "grid of a function": (
        {"reference": {"source": "x", "grid": [1]}},
        "/reference/grid",
        "only a kernel",
    ),
    "grid of a reference": (
        {"reference": {"compilation_key": "0" * 64, "grid": [0]}},
        "/reference/grid/0",
        "is 0",
    ),
    "reference of a case": (
        {"cases": [{"reference": {"rtol": 1}}]},
        "/cases/0/reference",
        "give either `source`",
    ),
    "NUL in a reference": ({"reference": {"source": "\0"}}, "/reference/source", "NUL"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_json_alone_shows_to_be_wrong_is_refused(name: str):
    changes, at, message = REFUSED[name]
    [(pointer, said)] = errors(lambda: resolved(**changes))

    assert pointer == at
    assert message in said


def test_all_faults_of_a_request_are_found():
    found = errors(lambda: resolved(device=1, grid=[], arguments={"x": "y"}, trace={}))

    assert [pointer for pointer, _ in found] == ["/device", "/arguments/x", "/grid"]


def test_repeats_may_have_values_of_their_own():
    asked = request(timing={"fresh_inputs": "values"})

    assert asked.timing is not None
    assert asked.timing.fresh_inputs == "values"
    assert resolved(timing={"fresh_inputs": "values"}).cases


def test_values_of_their_own_need_something_random():
    constant = {"shape": [96], "dtype": "fp32", "init": {"kind": "ones"}}
    arguments = {"x_ptr": constant, "output_ptr": OUTPUT, "n_elements": 96}

    [(pointer, said)] = errors(
        lambda: resolved(arguments=arguments, timing={"fresh_inputs": "values"})
    )

    assert pointer == "/timing/fresh_inputs"
    assert "no argument has random values" in said


def test_every_case_needs_something_random():
    cases = [{}, {"arguments": {"x_ptr": {"init": {"kind": "zeros"}}}}]

    [(pointer, said)] = errors(lambda: resolved(cases=cases, timing={"fresh_inputs": "values"}))

    assert pointer == "/timing/fresh_inputs"
    assert "no argument of case 1" in said

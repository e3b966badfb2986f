"""A launch job survives its round trip through the store; members of other versions are ignored."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from jobs.core_kinds import LAUNCH
from launch.request.launch_job import LaunchJob
from store.stored import Unreadable
from tests.unit.compiler.vector_add import job as kernel
from tests.unit.jobs.changed_payloads import changed
from tests.unit.launch.request.launch_of_add import COMPILATION
from tests.unit.launch.request.launch_of_add import LAUNCH as BODY
from tests.unit.launch.request.queued_launches import queued

FP32 = {"shape": [4, 8], "dtype": "fp32"}
EVERY_INIT: dict[str, Any] = {
    "zeros": {"kind": "zeros"},
    "ones": {"kind": "ones"},
    "full": {"kind": "full", "value": "NaN"},
    "arange": {"kind": "arange", "start": -1, "step": 0.5},
    "uniform": {"kind": "uniform", "low": -1},
    "normal": {"kind": "normal", "std": 2},
    "values": {"kind": "values", "values": [[0.5] * 8] * 4},
    "tensor": {"kind": "tensor", "digest": "sha256:" + "0" * 64},
}
EVERY_ARGUMENT: dict[str, Any] = {
    **{name: FP32 | {"init": init} for name, init in EVERY_INIT.items()},
    "randint": {"shape": [], "dtype": "u64", "init": {"kind": "randint", "high": 2**64}},
    "big": {"shape": [1], "dtype": "u64", "init": {"kind": "full", "value": str(2**64 - 1)}},
    "backwards": {"shape": [3], "dtype": "i8", "strides": [-2], "offset": 4, "output": True},
    "half": {"view": {"of": "zeros", "offset": 8, "shape": [8]}},
    "described": {"descriptor": {"base": FP32 | {"init": {"kind": "ones"}}, "block_shape": [2, 8]}},
    "pair": [1, {"tuple": [FP32 | {"output": True}, None, True]}],
    "long": {"value": "9007199254740993", "dtype": "i64"},
    "infinite": {"float": "-inf"},
    "half_precise": {"value": 0.1, "dtype": "fp16"},
    "truth": {"value": True, "dtype": "i1"},
}
WHOLE: dict[str, Any] = {
    "compilation": COMPILATION,
    "grid": ["cdiv(long, 2)", 3],
    "arguments": EVERY_ARGUMENT,
    "reference": {"source": "def reference(**_): ...", "rtol": 0.5},
    "cases": [{"name": "first", "arguments": {"long": 3}}, {"grid": [1], "reference": {"atol": 1}}],
    "return": {"backwards": "values"},
    "timing": {"bytes": 10.0, "fresh_inputs": "values"},
    "checks": ["memcheck", "fuzz"],
    "fuzz": {"cases": 3, "fixed": ["long"]},
    "profile": "lines",
    "stop_after_failures": 2,
    "priority": "batch",
}


def wire(job: LaunchJob) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(LAUNCH.written(job))
    return written


def read(written: dict[str, Any]) -> LaunchJob:
    return LAUNCH.read(json.dumps(written).encode())


def test_what_is_read_is_what_was_queued() -> None:
    job = queued(WHOLE)

    assert LAUNCH.read(LAUNCH.written(job)) == job


def test_cases_share_the_source_of_their_reference() -> None:
    source = "def reference(**_): ..." + "#" * 10_000
    cases = [{"name": str(index), "reference": {"atol": index}} for index in range(100)]
    payload = LAUNCH.written(queued(BODY | {"reference": {"source": source}, "cases": cases}))

    assert payload.count(b"#" * 10_000) == 1
    assert LAUNCH.read(payload).cases[99].reference.source == source  # type: ignore[union-attr]


def test_a_kernel_s_source_is_queued_once() -> None:
    assert LAUNCH.written(queued(BODY, compile_job=kernel())).count(b"def add_kernel") == 1


def of_first(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    return lambda written: change(written["cases"][0])


def of_x(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return of_first(lambda case: case["bound"]["arguments"]["x_ptr"].update(changes))


def of_memory(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return of_first(lambda case: case["bound"]["allocations"][0].update(changes))


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "another version": lambda written: written.update(version=1),
    "no cases": lambda written: written.update(cases=[]),
    "too many cases": lambda written: written.update(cases=written["cases"] * 101),
    "a case twice": lambda written: written.update(cases=written["cases"] * 2),
    "an endless run": lambda written: written.update(timeout_s=1e9),
    "no check but how to fuzz": lambda written: written.update(checks=[]),
    "a source that is not there": of_first(lambda case: case["reference"].update(source=7)),
    "no way to a reference": of_first(lambda case: case["reference"].update(source=None)),
    "a kernel that is not there": of_first(
        lambda case: case["reference"].update(source=None, compilation_key="0" * 64)
    ),
    "a grid that is none": of_first(lambda case: case["grid"].update(dimensions=["n.__class__"])),
    "a grid without a place": of_first(lambda case: case.update(grid=[1])),
    "no parameter's name": of_first(lambda case: case["bound"]["arguments"].update({"a b": None})),
    "memory that is not there": of_x(allocation=9),
    "memory before the first": of_x(allocation=-1),
    "elements beyond its memory": of_x(shape=[97]),
    "elements before its memory": of_x(offset=-1),
    "a negative extent": of_x(shape=[-1]),
    "strides of another rank": of_x(strides=[1, 1]),
    "elements that share memory": of_x(strides=[0]),
    "elements of another dtype": of_x(dtype="fp64"),
    "an output that its memory is not": of_x(output=True),
    "much memory": of_memory(elements=2**40),
    "an unknown dtype": of_memory(dtype="fp7"),
    "odd alignment": of_memory(align_bytes=3),
    "memory of no argument": of_memory(name="z_ptr"),
    "uploaded bytes": of_memory(body=[0, 8]),
    "an unknown init": of_memory(init={"kind": "pickle"}),
    "an init without its seed": of_memory(init={"kind": "uniform", "low": 0.0, "high": 1.0}),
    "too few values": of_memory(init={"kind": "values", "values": [1.0]}),
    "a tensor by no digest": of_memory(init={"kind": "tensor", "digest": "../../etc/passwd"}),
    "a scalar beyond 64 bits": of_first(
        lambda case: case["bound"]["arguments"]["n_elements"].update(value={"int": "9" * 24})
    ),
    "a scalar of another dtype": of_first(
        lambda case: case["bound"]["arguments"]["n_elements"].update(dtype="fp32")
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_store_cannot_queue_what_no_request_comes_to(
    change: Callable[[dict[str, Any]], object],
) -> None:
    reference = {"source": "def reference(**_): ..."}
    written = wire(queued(BODY | {"reference": reference, "checks": ["fuzz"]}))
    change(written)

    with pytest.raises(Unreadable):
        read(written)


@given(changed(LAUNCH.written(queued(WHOLE))))
def test_whatever_is_changed_is_read_or_refused(payload: bytes) -> None:
    with suppress(Unreadable):
        assert LAUNCH.read(payload).cases


def test_the_record_of_an_unfinished_launch_reads_no_arguments(monkeypatch: pytest.MonkeyPatch):
    payload = LAUNCH.written(queued(BODY))
    checked = []
    monkeypatch.setattr("launch.request.launch_job.check_bound", checked.append)

    record = json.loads(LAUNCH.unfinished("0", payload, "queued", 3))

    assert (record["state"], record["queue_position"]) == ("queued", 3)
    assert record["device"]["target"] == "cuda:90"
    assert checked == []
    other = json.loads(payload) | {"version": 1}
    assert (
        json.loads(LAUNCH.unfinished("0", json.dumps(other).encode(), "queued", 3))["device"]
        is None
    )

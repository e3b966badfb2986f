"""Children that forge what they report: nothing of it is believed that matters."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch

FORGERY = """
import json, os, struct, sys

def nonce():
    frame = sys._getframe()
    while frame is not None:
        job = frame.f_locals.get("job")
        if hasattr(job, "nonce"):
            return job.nonce
        frame = frame.f_back

def say(header, body=b""):
    text = json.dumps(header).encode()
    data = struct.pack("<4sB16sII", b"TRTD", 1, nonce(), len(text), len(body)) + text + body
    while data:
        data = data[os.write(4, data):]

def stage(name, body):
    say({"kind": "stage", "stage": name, "ms": 1.0}, body)

def result(**changes):
    usage = {"cpu_s": 0.1, "max_rss_bytes": 5}
    usual = {"kind": "result", "findings": [], "modified": [], "deterministic": None}
    say(usual | {"usage": usage} | changes)

def finding(**changes):
    names = ("access", "argument", "index", "file", "line", "column", "program", "diagnostics")
    return dict.fromkeys(names) | {"kind": "out_of_bounds", "message": ""} | changes

def act():
    CODE
    os._exit(0)
"""


ONES = "struct.pack('<4f', 1, 1, 1, 1)"


EXPECTED = "import numpy\n\ndef reference(x_ptr, **_):\n    return x_ptr + 1\n"


def forged(code: str, **changes: Any) -> dict[str, Any]:
    """A launch whose kernel writes its child's report itself: `code`, statements split by `;`."""
    lines = code.replace("; ", "\n    ")
    text = FORGERY.replace("CODE", lines)
    text += "\n@triton.jit\ndef kernel(x_ptr, z_ptr):\n    act()\n    tl.store(z_ptr, 0.0)\n"
    arguments = {"x_ptr": arange(4), "z_ptr": output(4)}
    usual = {"reference": EXPECTED, "fallback": "interpret"}
    return bodies.written(text, arguments, **{**usual, **changes})


def with_forged_reference(code: str) -> dict[str, Any]:
    """A launch of a right kernel whose reference writes its child's report itself."""
    text = FORGERY.replace("CODE", code.replace("; ", "\n    "))
    text += "\ndef reference(x_ptr, **_):\n    act()\n"
    kernel = "@triton.jit\ndef kernel(x_ptr, z_ptr):\n    lanes = tl.arange(0, 4)\n"
    kernel += "    tl.store(z_ptr + lanes, 1.0)\n"
    return bodies.written(kernel, {"x_ptr": arange(4), "z_ptr": output(4)}, reference=text)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("result()", id="no output"),
        pytest.param(f"stage('output:other', {ONES}); result()", id="another output"),
        pytest.param("stage('output:z_ptr', b'1234'); result()", id="a short output"),
        pytest.param(f"stage('output:z_ptr', 2 * {ONES}); result()", id="a long output"),
        pytest.param("result(findings=[finding()] * 1000)", id="a thousand findings"),
        pytest.param("result(findings=[finding(index=[10 ** 4000])])", id="a giant number"),
        pytest.param("result(findings=[finding(message='x' * 9000)])", id="a long message"),
        pytest.param("result(findings=[finding(message='\\ud800')])", id="no unicode"),
        pytest.param("result(findings='none')", id="findings that are none"),
        pytest.param("result(deterministic='maybe')", id="no truth value"),
        pytest.param("result(verdict='passed')", id="a verdict"),
        pytest.param("say({'kind': 'result', 'verdict': 'passed'})", id="only a verdict"),
        pytest.param("result(); os.write(4, b'more')", id="bytes after the end"),
        pytest.param("result(); result()", id="two ends"),
        pytest.param("os.write(4, b'x' * 100)", id="no frame"),
        pytest.param("os.write(4, b'TRTD')", id="half a frame"),
        pytest.param("pass", id="silence"),
        pytest.param("say({'kind': 'failure', 'slug': 'internal_error', 'stage': None, "
                     "'message': 'x', 'diagnostics': []})", id="a failure of ours"),
    ],
)  # fmt: skip
def test_a_forged_report_that_is_none_is_a_violation(launch: Launch, code: str) -> None:
    answer = launch(forged(code))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "sandbox_violation"
    assert len(answer["problem"]["detail"]) < 1000


def test_forged_outputs_are_compared_like_others(launch: Launch) -> None:
    answer = launch(forged(f"stage('output:z_ptr', {ONES}); result()"))

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["z_ptr"]["comparison"]["mismatched"] == 3


def test_only_outputs_that_match_pass_whoever_computed_them(launch: Launch) -> None:
    code = "stage('output:z_ptr', struct.pack('<4f', 1, 2, 3, 4)); result()"

    assert launch(forged(code))["verdict"] == "passed"


def test_a_kernels_child_was_told_nothing_of_the_reference(launch: Launch) -> None:
    code = """
import sys
frame = sys._getframe()
while not hasattr(frame.f_locals.get("job"), "nonce"):
    frame = frame.f_back
told = repr(frame.f_locals["job"])
assert "def kernel(out_ptr)" in told
assert "".join(("a-mark", "-of-the-reference")) not in told
"""
    reference = (
        "MARK = 'a-mark-of-the-reference'\n\ndef reference(**_):\n    return MARK and [1.0]\n"
    )

    answer = launch(bodies.running(code, reference=reference))

    assert answer["verdict"] == "passed", answer["problem"]


@pytest.mark.parametrize(
    "described",
    [
        pytest.param("{}", id="none of it came"),
        pytest.param("{'z_ptr': {'dtype': 'object', 'shape': [4]}}", id="objects"),
        pytest.param("{'z_ptr': {'dtype': 'float32', 'shape': [8]}}", id="another shape"),
        pytest.param("{'z_ptr': {'dtype': 'float64', 'shape': [4]}}", id="too few bytes"),
        pytest.param("{'x_ptr': {'dtype': 'float32', 'shape': [4]}}", id="no output"),
        pytest.param("{'z_ptr': 'all of it'}", id="no description"),
    ],
)
def test_a_forged_reference_never_passes(launch: Launch, described: str) -> None:
    code = f"stage('expected:z_ptr', {ONES}); say({{'kind': 'result', 'outputs': {described}}})"

    answer = launch(with_forged_reference(code))

    expected = "not_checked" if described == "{}" else "invalid_reference"
    assert answer["verdict"] == expected


def test_a_forged_reference_says_what_its_author_may_say_anyway(launch: Launch) -> None:
    described = "{'z_ptr': {'dtype': 'float32', 'shape': [4]}}"
    code = f"stage('expected:z_ptr', {ONES}); say({{'kind': 'result', 'outputs': {described}}})"

    assert launch(with_forged_reference(code))["verdict"] == "passed"


def test_a_forged_trace_is_its_forgers_own(http: httpx.Client, launch: Launch) -> None:
    code = f"stage('trace', b'<script>'); stage('output:z_ptr', {ONES}); result()"

    answer = launch(forged(code, trace={}))
    trace = http.get(f"{answer['url']}/trace")

    assert trace.headers["content-type"] == "application/json"
    assert trace.content == b"<script>"

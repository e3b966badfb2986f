"""Children that forge their reports: nothing important is believed."""

from __future__ import annotations

from typing import Any

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


def with_forged_reference(code: str, **changes: Any) -> dict[str, Any]:
    """Return a launch of a correct kernel whose reference writes its child's report itself."""
    text = FORGERY.replace("CODE", code.replace("; ", "\n    "))
    text += "\ndef reference(x_ptr, **_):\n    act()\n"
    kernel = "@triton.jit\ndef kernel(x_ptr, z_ptr):\n    lanes = tl.arange(0, 4)\n"
    kernel += "    tl.store(z_ptr + lanes, 1.0)\n"
    return bodies.written(
        kernel, {"x_ptr": arange(4), "z_ptr": output(4)}, reference=text, **changes
    )


def test_the_compiling_child_learns_nothing_of_the_reference(launch: Launch) -> None:
    code = """
import sys
frame = sys._getframe()
while not hasattr(frame.f_locals.get("job"), "nonce"):
    frame = frame.f_back
told = repr(frame.f_locals["job"])
assert "".join(("a-mark", "-of-the-reference")) not in told
"""
    reference = (
        "MARK = 'a-mark-of-the-reference'\n\ndef reference(**_):\n    return MARK and [1.0]\n"
    )

    answer = launch(bodies.loading(code, reference=reference))

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

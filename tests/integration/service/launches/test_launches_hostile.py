"""Kernels and references that lie, flood, hang and break out: each gets an answer, none more.

What an author can forge is their own part. Where a launch asks for its fallback, a kernel's author
runs Python in the interpreter's child and can report any outputs, and no findings, for the own
kernel; but not outputs that match without knowing what is expected. A reference's author can say
anything of what is expected, as always; but not what the kernel made. Neither can say a verdict.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.conftest import Post
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


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        pytest.param("while True:\n    pass", "timeout", id="loop"),
        pytest.param("import numpy\nnumpy.ones(1 << 36)", "out_of_memory", id="memory"),
        pytest.param("x = 'x' * (1 << 40)", "out_of_memory", id="text"),
        pytest.param("import ctypes\nctypes.string_at(0)", "crashed", id="segfault"),
        pytest.param("import sys\nsys.exit(3)", "crashed", id="exit"),
        pytest.param("import os\nos.abort()", "crashed", id="abort"),
    ],
)
def test_a_kernel_that_runs_wild_is_ended(launch: Launch, code: str, verdict: str) -> None:
    answer = launch(bodies.running(code, timeout_s=1))

    assert answer["verdict"] == verdict
    assert launch(bodies.vector_add())["verdict"] == "passed"


def test_a_flood_of_output_frames_is_ended(launch: Launch) -> None:
    code = "block = b'x' * (32 << 20)\n    while True:\n        stage('output:z_ptr', block)"

    answer = launch(forged(code, timeout_s=20))

    assert answer["problem"]["slug"] == "sandbox_violation"
    assert "not awaited" in answer["problem"]["detail"]


FORBIDDEN = pytest.mark.parametrize(
    "code",
    [
        pytest.param("open('/etc/passwd').read()", id="file"),
        pytest.param("open('/tmp/left-behind', 'w').write('x')", id="write"),
        pytest.param("import socket\nsocket.socket()", id="network"),
        pytest.param("import os\nos.fork()", id="fork"),
        pytest.param("import subprocess\nsubprocess.run(['/bin/true'])", id="program"),
        pytest.param("import os\nos.kill(os.getppid(), 9)", id="kill"),
    ],
)


@FORBIDDEN
def test_a_kernel_does_not_reach_outside(launch: Launch, code: str) -> None:
    answer = launch(bodies.running(code))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "sandbox_violation"
    assert "user.py:" in answer["problem"]["detail"]
    assert "the sandbox refused" in answer["problem"]["detail"]


def loading(code: str) -> dict[str, Any]:
    """A launch whose source runs `code` when it is loaded, to compile it or to interpret it."""
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    text = f"def act():\n{lines}    return 1\n\nHELD = act()\n\n@triton.jit\n"
    text += "def kernel(out_ptr, N: tl.constexpr = HELD):\n    tl.store(out_ptr, N)\n"
    return bodies.written(text, {"out_ptr": output(1)})


@FORBIDDEN
def test_a_launch_says_of_hostile_source_what_a_compilation_says(
    launch: Launch, post: Post, code: str
) -> None:
    body = loading(code)

    launched = launch(body)
    compiled = post(body["compilation"] | {"signature": {"out_ptr": "*fp32"}}).json()

    slugs = [answer["problem"]["slug"] for answer in (launched, compiled)]
    assert slugs == ["sandbox_violation", "sandbox_violation"]


@FORBIDDEN
def test_a_reference_does_not_reach_outside(launch: Launch, code: str) -> None:
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    reference = f"def reference(**_):\n{lines}    return 1\n"

    answer = launch(bodies.running("pass", reference=reference))

    assert answer["verdict"] == "invalid_reference"
    assert "the sandbox refused" in answer["findings"][-1]["message"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import os\nos._exit(0)", id="leaving"),
        pytest.param("import os\nwhile True:\n    os.write(1, b'x' * 65536)", id="flood"),
        pytest.param("import ctypes\nctypes.CDLL(None).syscall(0x40000000 + 1, 0)", id="x32"),
    ],
)
def test_a_process_that_was_ended_for_what_it_did_is_a_violation_for_both(
    launch: Launch, post: Post, code: str
) -> None:
    body = loading(code)

    launched = launch(body)
    compiled = post(body["compilation"] | {"signature": {"out_ptr": "*fp32"}}).json()

    slugs = [answer["problem"]["slug"] for answer in (launched, compiled)]
    assert slugs == ["sandbox_violation", "sandbox_violation"]


def test_one_hostile_case_of_several_is_a_problem_of_its_own(launch: Launch) -> None:
    text = "def act(n):\n    if n:\n        import os\n        os._exit(0)\n\n"
    text += "@triton.jit\ndef kernel(out_ptr, n: tl.constexpr):\n    act(n)\n"
    text += "    tl.store(out_ptr, 1.0)\n"
    cases = [{}, {"arguments": {"n": 1}}]
    body = bodies.written(text, {"out_ptr": output(1), "n": 0}, cases=cases, fallback="interpret")

    right, hostile = launch(body)["cases"]

    assert (right["verdict"], right["problem"]) == ("not_checked", None)
    assert hostile["problem"]["slug"] == "sandbox_violation"


def test_a_launch_finds_nothing_of_those_before_it(launch: Launch) -> None:
    leaves = """
import builtins, numpy, sys
mark = "-".join(("left", "behind")).encode()
builtins.kept = numpy.frombuffer(mark * (1 << 20), numpy.uint8).copy()
sys.modules["kept"] = builtins.kept
numpy.add = None
"""
    looks = """
import builtins, gc, numpy, sys
mark = "-".join(("left", "behind")).encode()
assert not hasattr(builtins, "kept") and "kept" not in sys.modules and numpy.add
assert not any(mark in numpy.empty(1 << 22, numpy.uint8).tobytes() for _ in range(4))
assert not any(mark in thing for thing in gc.get_objects() if type(thing) is bytes)
"""
    launch(bodies.running(leaves))

    assert launch(bodies.running(looks))["verdict"] == "not_checked"


def test_a_kernel_that_replaces_the_comparison_is_compared_all_the_same(launch: Launch) -> None:
    code = """
import sys
import numpy
for name in ("array_equal", "allclose", "isclose", "equal", "not_equal", "isfinite"):
    setattr(numpy, name, lambda *_, **__: True)
for name, module in list(sys.modules.items()):
    if name.startswith("launch.reference.comparison"):
        module.comparison = lambda *_: {"matches": True}
"""

    answer = launch(bodies.running(code, reference="def reference(**_):\n    return [2.0]\n"))

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["out_ptr"]["comparison"]["mismatched"] == 1


def test_a_printed_flood_is_cut_off(launch: Launch) -> None:
    arguments = {"x_ptr": arange(1), "out_ptr": output(1), "n": 3000}

    answer = launch(bodies.launch(bodies.source("faulty"), "prints_without_end", arguments))

    assert answer["verdict"] == "not_checked"
    assert len(answer["stdout"]) < 70_000
    assert "left out" in answer["stdout"]


def test_an_error_without_end_is_answered_briefly(launch: Launch) -> None:
    answer = launch(bodies.running("raise ValueError('x' * 1_000_000)"))

    assert answer["problem"]["slug"] == "compile_error"
    assert len(answer["problem"]["detail"]) < 9000


def test_a_recursion_without_end_is_the_kernels_problem(launch: Launch) -> None:
    code = "@triton.jit\ndef again(x):\n    return again(x)\n\n"
    code += "@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr, again(1.0))\n"

    answer = launch(bodies.written(code, {"out_ptr": output(1)}))

    assert answer["problem"]["slug"] == "compile_error"
    assert "cannot call itself" in answer["problem"]["detail"]


def test_a_forged_trace_is_its_forgers_own(http: httpx.Client, launch: Launch) -> None:
    code = f"stage('trace', b'<script>'); stage('output:z_ptr', {ONES}); result()"

    answer = launch(forged(code, trace={}))
    trace = http.get(f"{answer['url']}/trace")

    assert trace.headers["content-type"] == "application/json"
    assert trace.content == b"<script>"

"""Kernels and references that lie, flood, hang or break out get one answer and affect no other.

An author can forge only their own part. A kernel's author runs Python during compilation; its IR is
checked and runs elsewhere. A reference's author can give any expected outputs, but not the
kernel's. Neither can give a verdict.
"""

from __future__ import annotations

import pytest

from tests.integration.service.conftest import Post
from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.test_launches_forged import with_forged_reference


@pytest.mark.parametrize(
    ("code", "slug"),
    [
        pytest.param("while True:\n    pass", "compile_timeout", id="loop"),
        pytest.param("x = 'x' * (1 << 40)", "memory_exceeded", id="text"),
        pytest.param("import ctypes\nctypes.string_at(0)", "compiler_crashed", id="segfault"),
        pytest.param("import os\nos.abort()", "compiler_crashed", id="abort"),
    ],
)
def test_a_source_that_runs_wild_is_ended(launch: Launch, code: str, slug: str) -> None:
    answer = launch(bodies.loading(code, timeout_s=1 if slug == "compile_timeout" else 30))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", slug)
    assert launch(bodies.vector_add())["verdict"] == "passed"


def test_a_flood_of_frames_of_a_reference_is_ended(launch: Launch) -> None:
    code = "block = b'x' * (32 << 20)\n    while True:\n        stage('expected:z_ptr', block)"

    answer = launch(with_forged_reference(code, timeout_s=20))

    assert answer["verdict"] == "invalid_reference"
    assert "not asked for" in answer["findings"][-1]["message"]


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
def test_a_launch_says_of_hostile_source_what_a_compilation_says(
    launch: Launch, post: Post, code: str
) -> None:
    body = bodies.loading(code)

    launched = launch(body)
    compiled = post(body["compilation"] | {"signature": {"out_ptr": "*fp32"}}).json()

    slugs = [answer["problem"]["slug"] for answer in (launched, compiled)]
    assert slugs == ["sandbox_violation", "sandbox_violation"]


@FORBIDDEN
def test_a_reference_does_not_reach_outside(launch: Launch, code: str) -> None:
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    reference = f"def reference(**_):\n{lines}    return 1\n"

    answer = launch(bodies.loading("pass", reference=reference))

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
    body = bodies.loading(code)

    launched = launch(body)
    compiled = post(body["compilation"] | {"signature": {"out_ptr": "*fp32"}}).json()

    slugs = [answer["problem"]["slug"] for answer in (launched, compiled)]
    assert slugs == ["sandbox_violation", "sandbox_violation"]


def test_one_hostile_case_of_several_has_its_own_problem(launch: Launch) -> None:
    text = "@triton.constexpr_function\ndef act(n):\n    if n:\n        import os\n"
    text += "        os._exit(0)\n    return 1\n\n"
    text += "@triton.jit\ndef kernel(out_ptr, n: tl.constexpr):\n    tl.store(out_ptr, act(n))\n"
    cases = [{}, {"arguments": {"n": 1}}]
    body = bodies.written(text, {"out_ptr": output(1), "n": 0}, cases=cases)

    right, hostile = launch(body)["cases"]

    assert (right["verdict"], right["problem"]) == ("not_checked", None)
    assert hostile["problem"]["slug"] == "sandbox_violation"


def _referring(code: str) -> str:
    """Return a reference that runs `code` and expects a 1."""
    return f"{code}\ndef reference(**_):\n    return [1.0]\n"


def test_a_reference_finds_nothing_of_those_before_it(launch: Launch) -> None:
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
    launch(bodies.loading("pass", reference=_referring(leaves)))

    answer = launch(bodies.loading("pass", reference=_referring(looks)))
    assert answer["verdict"] == "passed", answer["findings"]


def test_a_reference_that_replaces_the_comparison_is_compared_all_the_same(
    launch: Launch,
) -> None:
    code = """
import sys
import numpy
for name in ("array_equal", "allclose", "isclose", "equal", "not_equal", "isfinite"):
    setattr(numpy, name, lambda *_, **__: True)
for name, module in list(sys.modules.items()):
    if name.startswith("launch.reference.comparison"):
        module.comparison = lambda *_: {"matches": True}
def reference(**_):
    return [2.0]
"""

    answer = launch(bodies.loading("pass", reference=code))

    assert answer["verdict"] == "mismatch"
    assert answer["outputs"]["out_ptr"]["comparison"]["mismatched"] == 1


def test_a_printed_flood_is_cut_off(launch: Launch) -> None:
    arguments = {"x_ptr": arange(1), "out_ptr": output(1), "n": 3000}

    answer = launch(bodies.launch(bodies.source("faulty"), "prints_without_end", arguments))

    assert answer["verdict"] == "not_checked"
    assert len(answer["stdout"]) < 70_000
    assert "left out" in answer["stdout"]


def test_an_error_without_end_is_answered_briefly(launch: Launch) -> None:
    answer = launch(bodies.loading("raise ValueError('x' * 1_000_000)"))

    assert answer["problem"]["slug"] == "compile_error"
    assert len(answer["problem"]["detail"]) < 9000


def test_a_recursion_without_end_is_the_kernels_problem(launch: Launch) -> None:
    code = "@triton.jit\ndef again(x):\n    return again(x)\n\n"
    code += "@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr, again(1.0))\n"

    answer = launch(bodies.written(code, {"out_ptr": output(1)}))

    assert answer["problem"]["slug"] == "compile_error"
    assert "cannot call itself" in answer["problem"]["detail"]

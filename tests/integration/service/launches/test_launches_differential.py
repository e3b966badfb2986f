"""The check `differential`: where the CPU device and Triton's interpreter do not agree."""

from __future__ import annotations

import numpy as np

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.test_launches_compiled import COMPILES, ir_launch, kernel

CHECKS = {"checks": ["differential"]}


def test_what_both_make_alike_is_no_finding(launch: Launch) -> None:
    answer = launch(bodies.vector_add(**CHECKS))

    assert (answer["verdict"], answer["findings"]) == ("passed", [])


def test_a_disagreement_is_a_finding_with_its_first_element_and_both_values(
    launch: Launch,
) -> None:
    lines, expected = COMPILES["not"]  # which Python takes of a whole block: of its first element

    answer = launch(kernel(lines, expected, **CHECKS))

    assert answer["verdict"] == "passed"
    [finding] = answer["findings"]
    assert (finding["kind"], finding["argument"]) == ("disagreement", "z_ptr")
    [index] = finding["index"]
    x = np.arange(8)
    made = float(np.where(x > 1, -x, x)[index])
    assert finding["message"].startswith(f"z_ptr[{index}] is {made:g}")
    assert "on the CPU device and " in finding["message"]
    assert "on Triton's interpreter" in finding["message"]


def test_runs_that_end_otherwise_disagree_where_one_was_stopped(launch: Launch) -> None:
    lines = "m = (lanes < 4) and (x >= 0)\ntl.store(z_ptr + 2 * lanes, x, mask=m)"

    answer = launch(kernel(lines, "0 * x", reference=None, **CHECKS))

    found = [finding for finding in answer["findings"] if finding["kind"] == "disagreement"]
    assert answer["verdict"] == "not_checked"
    assert found[0]["message"].endswith(
        "On the CPU device: nothing wrong; on Triton's interpreter: out_of_bounds."
    )


def test_elements_are_compared_with_the_launchs_tolerance(launch: Launch) -> None:
    text = "@triton.jit\ndef kernel(x_ptr, z_ptr):\n    lanes = tl.arange(0, 8)\n"
    text += (
        "    x = tl.load(x_ptr + lanes) + 0.001\n    tl.store(z_ptr + lanes, x.to(tl.bfloat16))\n"
    )
    arguments = {"x_ptr": arange(8), "z_ptr": output(8, dtype="bf16")}
    body = bodies.written(text, arguments, **CHECKS)
    loose = {"source": "def reference(x_ptr, **_):\n    return x_ptr", "rtol": 0.5, "atol": 0.5}

    assert launch(body | {"reference": loose})["findings"] == []


def test_what_only_another_check_finds_is_no_disagreement(launch: Launch) -> None:
    text = "@triton.jit\ndef kernel(z_ptr):\n    tl.store(z_ptr, tl.program_id(0))\n"
    arguments = {"z_ptr": output(1, dtype="i32")}
    body = bodies.written(text, arguments, grid=[2], checks=["racecheck", "differential"])

    answer = launch(body)

    assert answer["verdict"] == "race"
    assert [finding["kind"] for finding in answer["findings"]] == ["race"]


def test_posted_ir_has_nothing_that_the_interpreter_could_run(launch: Launch) -> None:
    answer = launch(ir_launch(**CHECKS))

    assert answer["verdict"] == "not_checked"
    assert answer["findings"][0]["kind"] == "check_incomplete"
    assert "no source" in answer["findings"][0]["message"]


def test_what_the_interpreter_ran_itself_is_compared_with_nothing(launch: Launch) -> None:
    lines = "total = 0\nfor i in range(n):\n    total = total + x\ntl.store(z_ptr + lanes, total)"

    answer = launch(kernel(lines, "3 * x", fallback="interpret", **CHECKS))

    assert [finding["kind"] for finding in answer["findings"]] == ["does_not_compile"]

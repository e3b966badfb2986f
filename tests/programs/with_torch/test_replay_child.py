"""Programs replayed in sandboxed children; another child compares them with their references."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
import torch

from launch.request.verdict import RunEnding
from programs.program_request import ToleranceRequest
from programs.worker.program_comparison import compare, judged
from tests.programs.with_torch.replay_in_children import (
    MIB,
    both,
    recorded_in_thread,
    replayed,
    rows,
    started,
    to_replay,
    toolchain,
)
from tests.programs.with_torch.test_replay_kernels import NAMES, LaunchingProgram, doubling
from worker.launch.kernel_ir import KernelIr
from worker.launch.launch_children import ENVIRONMENT, TORCH_ENVIRONMENT
from worker.pool import frame
from worker.pool.child_outcome import Caps
from worker.pool.pool import Pool

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def replays() -> AsyncIterator[Pool]:
    tasks = toolchain("programs.replay.replay_tasks", TORCH_ENVIRONMENT)
    async for pool in started(Pool(tasks, spares={"back": 1}, caps=Caps(result_bytes=257 * MIB))):
        yield pool


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def comparing() -> AsyncIterator[Pool]:
    async for pool in started(Pool(toolchain("launch.launch_tasks", ENVIRONMENT), spares={})):
        yield pool


async def test_equal_programs_pass(replays: Pool, comparing: Pool) -> None:
    verdict, compared = await both(replays, comparing, lambda x: x * 2, lambda x: x + x)

    assert verdict == "passed"
    comparison = compared.outputs["0"].comparison
    assert comparison is not None
    assert (comparison.compared, comparison.max_abs_error) == (48, 0)
    assert compared.outputs["0"].summary is not None
    assert compared.matches == [True, True]


async def test_another_result_is_a_mismatch(replays: Pool, comparing: Pool) -> None:
    verdict, compared = await both(replays, comparing, lambda x: x * 2.01, lambda x: x * 2)

    assert verdict == "mismatch"
    assert compared.matches == [False, False]


async def test_what_the_request_tolerates_passes(replays: Pool, comparing: Pool) -> None:
    tolerance = ToleranceRequest(rtol=0.1)

    verdict, _ = await both(replays, comparing, lambda x: x * 2.01, lambda x: x * 2, tolerance)

    assert verdict == "passed"


async def test_a_result_kept_from_the_first_call_shows_in_the_second(
    replays: Pool, comparing: Pool
) -> None:
    kept: list[torch.Tensor] = []

    def cached(x: torch.Tensor) -> torch.Tensor:
        if not kept:
            kept.append(x * 2)
        return kept[0]

    verdict, compared = await both(replays, comparing, cached, lambda x: x * 2)

    comparison = compared.outputs["0"].comparison
    assert verdict == "mismatch"
    assert compared.matches == [True, False]
    assert comparison is not None
    assert "second call" in str(comparison.note)


@pytest.mark.parametrize(
    ("candidate", "kind", "said"),
    [
        (lambda x: [x[:3]], "wrong_shape", "of shape [3, 8]; the reference's is of shape [6, 8]"),
        (lambda x: [x.half()], "wrong_dtype", "is fp16; the reference's is fp32"),
        (
            lambda x: [x * 1, x],
            "wrong_structure",
            "a tensor of fp32 [6, 8]; the reference's is not",
        ),
        (lambda x: [], "wrong_structure", "is not there; the reference's is a tensor"),
    ],
)
async def test_what_cannot_be_compared_is_named(
    replays: Pool, comparing: Pool, candidate: Callable[..., Any], kind: str, said: str
) -> None:
    verdict, compared = await both(replays, comparing, candidate, lambda x: [x * 1])

    [finding] = compared.findings
    assert (verdict, finding.kind) == ("mismatch", kind)
    assert said in finding.message


async def test_complex_numbers_and_booleans_are_compared(replays: Pool, comparing: Pool) -> None:
    def program(x: torch.Tensor) -> Sequence[torch.Tensor]:
        return [torch.fft.fft(x), x > 0, x.to(torch.bfloat16), x.to(torch.int64)]

    verdict, compared = await both(replays, comparing, program, program)

    assert verdict == "passed"
    assert len(compared.matches) == 8


async def test_large_outputs_are_compared(replays: Pool, comparing: Pool) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x.repeat(1 << 10, 1 << 7)

    verdict, compared = await both(replays, comparing, program, program)

    assert verdict == "passed"
    assert compared.outputs["0"].comparison.compared == 48 << 17  # type: ignore[union-attr]


async def test_a_kernel_runs_in_the_child(replays: Pool, comparing: Pool) -> None:
    program = LaunchingProgram()
    program.phase = "run"
    with program:
        x, z = torch.ones(64), torch.empty(64)
    program.launch(2, x, z, 60)

    found = await replayed(
        replays, to_replay(program.tape(outputs=program.reported(z), kernels=KERNELS))
    )
    compared = await compare(comparing, found, None)

    assert (found.findings, found.peak_bytes) == ([], 512)
    summary = compared.outputs["0"].summary
    assert summary is not None
    assert (summary.max, summary.unwritten) == (2.0, 4)
    assert judged(found, None, compared) == "not_checked"


KERNELS = {"k0": {
    "file": "user.py", "name": "double", "line": 9,
    "parameters": [{"name": name, "constexpr": False} for name in NAMES],
}}  # fmt: skip


async def test_an_access_out_of_bounds_is_the_verdict(replays: Pool, comparing: Pool) -> None:
    program = LaunchingProgram()
    program.phase = "run"
    with program:
        x, z = torch.ones(40), torch.zeros(64)
    program.launch(2, x, z, 64)

    found = await replayed(
        replays, to_replay(program.tape(outputs=program.reported(z), kernels=KERNELS))
    )

    assert judged(found, None, await compare(comparing, found, None)) == "out_of_bounds"
    assert (found.calls, found.findings[0].line) == ([], 12)


async def test_tensors_that_do_not_fit_are_the_verdict(replays: Pool, comparing: Pool) -> None:
    program = to_replay((await recorded_in_thread(rows, lambda x: x.repeat(100, 1).sum())).tape)

    found = await replayed(replays, program, memory_bytes=1000)

    assert found.ending is RunEnding.OUT_OF_MEMORY
    assert judged(found, None, await compare(comparing, found, None)) == "out_of_memory"


async def test_memory_that_an_op_wants_for_itself_is_bounded(replays: Pool) -> None:
    """The child counts tensors in advance; ATen refuses its own workspace beyond the limit."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return x[:1, :1].expand(1 << 15, 1 << 14).sum(0, dtype=torch.float64)[:2].sum()

    found = await replayed(replays, to_replay((await recorded_in_thread(rows, program)).tape))

    assert found.ending in {RunEnding.FINISHED, RunEnding.OUT_OF_MEMORY}


async def test_a_tape_that_is_none_is_a_problem(replays: Pool) -> None:
    tape = (await recorded_in_thread(rows, lambda x: torch.relu(x @ x.t()))).tape
    made = next(op for op in tape["ops"] if op["op"] == "aten.mm.default")["o"][0]
    tape["tensors"][made][3] = [0, 1]

    found = await replayed(replays, to_replay(tape, role="reference"))

    assert found.problem is not None
    assert (found.ending, found.problem.program) == (RunEnding.NOT_RUN, "reference")
    assert "invalid_tape" in found.problem.type


async def test_a_replay_that_takes_too_long_is_ended(replays: Pool) -> None:
    tape = (await recorded_in_thread(rows, lambda x: x * 2)).tape

    found = await replayed(replays, to_replay(tape), timeout_s=0.0005)

    assert found.ending is RunEnding.TIMEOUT
    assert found.findings[0].kind == "timeout"


async def test_an_op_that_ends_the_process_is_named() -> None:
    eager = await recorded_in_thread(rows, lambda x: torch.neg(x + 1))
    line = next(op for op in eager.tape["ops"] if op["op"] == "aten.neg.default")["line"]
    tasks = toolchain("tests.programs.with_torch.crashing_replay_tasks", TORCH_ENVIRONMENT)
    async for pool in started(Pool(tasks, spares={})):
        found = await replayed(pool, to_replay(eager.tape))

    [finding] = found.findings
    assert (found.ending, finding.kind) == (RunEnding.CRASHED, "crashed")
    assert f"{finding.file}:{finding.line}" == line
    assert "aten.neg.default (killed by signal 11)" in finding.message


async def test_a_reference_that_fails_is_no_reference(replays: Pool, comparing: Pool) -> None:
    tape = (
        await recorded_in_thread(lambda: [torch.ones(3)], lambda x: torch.multinomial(x, 1))
    ).tape
    for op in tape["ops"]:
        if op["op"] == "aten.ones.default":
            op["op"] = "aten.zeros.default"
    reference = await replayed(replays, to_replay(tape, role="reference"))

    candidate = await replayed(
        replays, to_replay((await recorded_in_thread(rows, lambda x: x * 2)).tape)
    )
    compared = await compare(comparing, candidate, reference)

    assert judged(candidate, reference, compared) == "invalid_reference"


async def test_an_order_can_name_as_many_launches_as_a_tape_may_have(replays: Pool) -> None:
    kernel = KernelIr("k" * 64, "source", doubling().encode(), ["user.py"], NAMES)
    program = to_replay((await recorded_in_thread(rows, lambda x: x * 2)).tape)

    ended = await replayed(replays, replace(program, kernels=dict.fromkeys(range(200_000), kernel)))

    assert ended.problem is not None
    assert "200000 kernels were sent" in ended.problem.detail


async def test_more_kernels_than_an_order_may_name_are_a_problem(
    replays: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "MAX_JOB_HEADER_BYTES", 1 << 20)
    names = ["n" * 1_000] * 2_000
    kernel = KernelIr("k", "source", doubling().encode(), ["user.py"], names)
    program = to_replay((await recorded_in_thread(rows, lambda x: x * 2)).tape)

    ended = await replayed(replays, replace(program, kernels={1: kernel}))

    assert ended.problem is not None
    assert (ended.problem.slug, ended.problem.program) == ("invalid_argument", "candidate")

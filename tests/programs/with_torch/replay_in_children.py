"""Replays and compares programs in sandboxed children, as a driver does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from compiler.target import Target
from jobs.deadline import Deadline
from programs.program_request import ToleranceRequest
from programs.tape.read_tape import read_tape
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.program_comparison import ComparedProgram, compare, judged
from programs.worker.replay_child import ProgramToReplay, ReplaySettings, replay
from programs.worker.replayed import Replayed
from tests.programs.with_torch.eager_recording import SEED, Eager, recorded
from tests.programs.with_torch.test_replay_kernels import NAMES, doubling
from worker.launch.kernel_ir import KernelIr
from worker.pool.pool import Pool
from worker.pool.zygote_client import ZygoteToolchain

ROOT = Path(__file__).parents[3]
MIB = 1 << 20
SETTINGS = ReplaySettings(Target("cuda", 90, 32), SEED, 512 * MIB)


def toolchain(tasks: str, environment: dict[str, str]) -> ZygoteToolchain:
    return ZygoteToolchain(Path(sys.executable), ROOT, tasks, environment=environment)


async def started(pool: Pool) -> AsyncIterator[Pool]:
    await pool.start()
    yield pool
    await pool.close()


def rows() -> Sequence[torch.Tensor]:
    return [torch.randn(6, 8)]


def to_replay(
    tape: dict[str, Any], of: dict[str, Any] | None = None, role: str = "candidate"
) -> ProgramToReplay:
    """Return a program as a driver has it; the tape `of` makes its inputs."""
    if of is not None:
        tape = tape | {"ops": [op for op in tape["ops"] if op["phase"] != "inputs"]}
    text = json.dumps(tape).encode()
    kernel = KernelIr("k", "source", doubling().encode(), ["user.py"], NAMES)
    read = read_tape(text)
    launches = [n for n, op in enumerate(tape["ops"]) if op["op"] == "launch"]
    inputs = None if of is None else json.dumps(of).encode()
    return ProgramToReplay(read, text, dict.fromkeys(launches, kernel), inputs, ["user.py"], role)


async def replayed(
    pool: Pool, program: ProgramToReplay, timeout_s: float = 60.0, **settings: Any
) -> Replayed:
    return await replay(pool, program, replace(SETTINGS, **settings), timeout_s, Deadline(120.0))


async def recorded_in_thread(
    make: Callable[[], Sequence[torch.Tensor]], program: Callable[..., Any]
) -> Eager:
    """Record without holding up the event loop, which a session's check of slow steps measures."""
    return await asyncio.to_thread(recorded, make, program)


async def both(
    replays: Pool,
    comparing: Pool,
    candidate: Callable[..., Any],
    reference: Callable[..., Any],
    tolerance: ToleranceRequest | None = None,
) -> tuple[str, ComparedProgram]:
    """Return the verdict on a candidate with its reference, and the comparison."""
    of = (await recorded_in_thread(rows, reference)).tape
    theirs = await replayed(replays, to_replay(of, role="reference"))
    ours = await replayed(replays, to_replay((await recorded_in_thread(rows, candidate)).tape, of))
    compared = await compare(comparing, ours, theirs, OutputTolerances(tolerance))
    return judged(ours, theirs, compared), compared

"""The task `recheck_bits`: asks z3 for sizes that contradict a proof, about the machine's own bits.

Loops are unrolled four times. The effort is counted, so an answer is the same on each machine.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence

import z3

from compiler.back import ir_module
from compiler.diagnostic import Failure
from compiler.messages.wire import Send
from compiler.recheck.find_violations import (
    EFFORT,
    CheckedAnswer,
    RecheckedAccess,
    find_violations,
)
from compiler.recheck.generic_text import generic_text
from compiler.recheck.machine import MAX_TURNS
from compiler.recheck.not_modelled import NotModelled
from launch.recheck.recheck_messages import (
    AccessRecheck,
    BitsOrder,
    CheckRecheck,
    RecheckReport,
)

SOLVER_MIB = 512
_MAX_DEPTH = 5_000
"""Frames of Python: values are computed from where they are used, through all turns of loops."""
_KINDS = {
    "tt.load": "load", "tt.descriptor_load": "load", "tt.descriptor_gather": "load",
    "tt.store": "store", "tt.descriptor_store": "store", "tt.descriptor_scatter": "store",
}  # fmt: skip
_SAID = {
    "bounds": "an access leaves its buffer",
    "overflow": "an integer of an address or a mask wraps",
    "race": "two programs meet in an element",
}


def recheck_bits(order: BitsOrder, body: bytes, _: Send) -> RecheckReport:
    """Look for sizes that break what was proved of a kernel."""
    return bits_report(order, body, EFFORT, MAX_TURNS)


def bits_report(
    order: BitsOrder,
    body: bytes,
    effort: int,
    most_turns: int,
    wanted: Sequence[Collection[str]] | None = None,
) -> RecheckReport:
    """Look for such sizes with an effort in z3's units, and this number of turns of each loop.

    `wanted` has the checks that are asked about, of each access; None for all.
    """
    started = time.process_time()
    if order.other is not None:
        unread = CheckRecheck(outcome="not_modelled")
        return RecheckReport(equivalent=unread, ms=_ms_since(started))
    text = bytes(body[: order.kernel.ttir_bytes]).decode()
    z3.set_param("memory_max_size", SOLVER_MIB)
    z3.set_param("parallel.enable", False)
    sys.setrecursionlimit(_MAX_DEPTH)
    try:
        ir_module.check_size(text, "ttir", order.ir_bounds)
        accesses = find_violations(
            generic_text(text, order.target),
            order.kernel.parameters,
            order.kernel.contract,
            order.kernel.constants,
            order.most_size,
            order.most_elements,
            order.checks,
            effort,
            most_turns,
            wanted,
        )
    except (NotModelled, Failure, RecursionError) as refused:
        return RecheckReport(refused=str(refused) or "nested too deeply", ms=_ms_since(started))
    return RecheckReport(accesses=list(map(_report, accesses)), ms=_ms_since(started))


def _report(access: RecheckedAccess) -> AccessRecheck:
    checks = {name: _check(name, answer) for name, answer in access.answers.items()}
    return AccessRecheck(
        kind=_KINDS.get(access.operation, "atomic"),  # type: ignore[arg-type]
        line=None,
        column=None,
        checks=checks,
    )


def _check(name: str, answer: CheckedAnswer) -> CheckRecheck:
    message = _SAID[name] if answer.outcome == "violated" else answer.reason
    return CheckRecheck(outcome=answer.outcome, message=message, sizes=answer.sizes)


def _ms_since(started: float) -> float:
    return round((time.process_time() - started) * 1000, 3)

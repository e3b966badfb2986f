"""Runs the re-check by bit-vectors in this process."""

from collections.abc import Collection, Sequence
from typing import Any

from compiler.recheck.find_violations import EFFORT
from compiler.recheck.machine import MAX_TURNS
from launch.recheck import recheck_by_bits
from launch.recheck.recheck_messages import BitsOrder, RecheckedKernel, RecheckReport
from tests.proofs.compiled_ttir import TARGET, ttir_of


def bits_report(
    text: str,
    parameters: Sequence[str],
    contract: str,
    constants: dict[str, Any] | None = None,
    checks: Sequence[str] = ("bounds", "overflow"),
    limits: tuple[int, int] = (2**30, 2**36),
    wanted: Sequence[Collection[str]] | None = None,
) -> RecheckReport:
    """Return what is seen of a TTIR; `limits` are of sizes and of elements."""
    kernel = RecheckedKernel(
        ttir_bytes=len(text.encode()),
        contract=contract,
        constants=constants or {},
        parameters=parameters,
    )
    order = BitsOrder(
        target=TARGET,
        kernel=kernel,
        checks=list(checks),
        most_size=limits[0],
        most_elements=limits[1],
    )
    return recheck_by_bits.bits_report(order, text.encode(), EFFORT, MAX_TURNS, wanted)


def rechecked(
    body: str,
    signature: dict[str, str],
    contract: str,
    constexprs: dict[str, Any] | None = None,
    checks: Sequence[str] = ("bounds", "overflow"),
) -> RecheckReport:
    """Return what is seen of a function `kernel`, whose parameters `signature` has in order."""
    text = ttir_of(body, signature, constexprs or {})
    return bits_report(text, list(signature), contract, constexprs, checks)


def outcomes(report: RecheckReport, check: str) -> list[str]:
    """Return what is seen of one check, by access."""
    assert not report.refused
    return [one.checks[check].outcome for one in report.accesses if check in one.checks]

"""Runs the re-check of a kernel in this process."""

from collections.abc import Sequence
from typing import Any

from launch.recheck.recheck_by_running import recheck
from launch.recheck.recheck_messages import RecheckedKernel, RecheckOrder, RecheckReport
from tests.proofs.compiled_ttir import TARGET, ttir_of


def recheck_order(
    text: str,
    contract: str,
    constexprs: dict[str, Any] | None = None,
    checks: Sequence[str] = ("bounds", "overflow", "races"),
    **limits: int,
) -> RecheckOrder:
    """Return the order to run a kernel of this TTIR."""
    kernel = RecheckedKernel(
        ttir_bytes=len(text.encode()), contract=contract, constants=constexprs or {}
    )
    return RecheckOrder(
        target=TARGET,
        kernel=kernel,
        checks=list(checks),
        most_size=limits.get("size", 2**30),
        most_elements=limits.get("elements", 2**36),
    )


def rechecked(
    body: str,
    signature: dict[str, str],
    contract: str,
    constexprs: dict[str, Any] | None = None,
    checks: Sequence[str] = ("bounds", "overflow", "races"),
    **limits: int,
) -> RecheckReport:
    """Return what the runs of a function `kernel` show; `body` follows `@triton.jit`."""
    text = ttir_of(body, signature, constexprs or {})
    order = recheck_order(text, contract, constexprs, checks, **limits)
    return recheck(order, text.encode(), lambda *_: None)


def outcomes(report: RecheckReport, check: str) -> list[str]:
    """Return what the runs show of one check, by access."""
    assert not report.refused
    return [one.checks[check].outcome for one in report.accesses if check in one.checks]

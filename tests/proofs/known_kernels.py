"""The kernels that tests and benchmarks prove, with their contracts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from compiler.proof.binding import SizeLimits
from tests.proofs import compiled_ttir
from tests.proofs.compiled_ttir import HEAD, ttir_of
from tests.proofs.random_launches import mix_requests
from tests.proofs.recheck.false_kernels import FALSE_KERNELS
from tests.proofs.rechecked_proof import KernelToProve

_RECORDED = Path(__file__).parent / "prover"
_OPTIONS = (
    "-q",
    "-n0",
    "--no-header",
    "-p",
    "no:cacheprovider",
    "--assert=plain",
    "-W",
    "ignore:Module already imported",
)


def known_kernels() -> Iterator[KernelToProve]:
    """Yield each kernel once."""
    yield from _of_tests()
    yield from _once_proved()
    yield from _of_mix()


def _of_tests() -> list[KernelToProve]:
    """Run the prover's tests, and return what they have proved."""
    found: dict[tuple[Any, ...], KernelToProve] = {}
    proof_of, report_of_source = compiled_ttir.proof_of, compiled_ttir.report_of_source

    def note(
        source: str,
        kernel: str,
        signature: dict[str, Any],
        contract: str,
        constants: dict[str, Any],
        limits: SizeLimits | None,
    ) -> None:
        text = compiled_ttir.ttir_of_source(source, kernel, signature, constants)
        parameters = compiled_ttir.parameters_of(source, kernel, signature)
        limits = limits or SizeLimits()
        found[text, contract, limits] = KernelToProve(
            f"test {len(found)}", source, text, parameters, contract, constants, limits
        )

    def noted_proof(
        body: str,
        signature: dict[str, Any],
        contract: str,
        constexprs: dict[str, Any] | None = None,
        limits: SizeLimits | None = None,
    ) -> Any:
        note(HEAD + body, "kernel", signature, contract, constexprs or {}, limits)
        return proof_of(body, signature, contract, constexprs, limits)

    def noted_report(
        source: str,
        kernel: str,
        signature: dict[str, Any],
        contract: str,
        constants: dict[str, Any],
        limits: SizeLimits | None = None,
        *further: Any,
        **named: Any,
    ) -> Any:
        note(source, kernel, signature, contract, constants, limits)
        return report_of_source(
            source, kernel, signature, contract, constants, limits, *further, **named
        )

    with (
        patch.object(compiled_ttir, "proof_of", noted_proof),
        patch.object(compiled_ttir, "report_of_source", noted_report),
    ):
        ended = pytest.main([*_OPTIONS, str(_RECORDED)])
    if ended != pytest.ExitCode.OK:
        message = "tests of the prover fail, so what they prove is not known"
        raise RuntimeError(message)
    if not found:
        message = "the tests of the prover prove no kernel with compiled_ttir"
        raise RuntimeError(message)
    return list(found.values())


def _once_proved() -> Iterator[KernelToProve]:
    for one in FALSE_KERNELS:
        yield KernelToProve(
            f"once proved: {one.name}",
            one.body,
            ttir_of(one.body, one.signature, one.constexprs),
            list(one.signature),
            one.contract,
            one.constexprs,
        )


def _of_mix() -> Iterator[KernelToProve]:
    for number, (request, benchmark, contract) in enumerate(mix_requests()):
        constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
        constants |= benchmark.ones(request["signature"])
        yield KernelToProve(
            f"mix {number}: {request['kernel']}",
            request["source"],
            benchmark.ttir_of(request),
            [name for name in request["signature"] if name not in constants],
            contract,
            constants,
            benchmark.LIMITS,
        )

"""The kernels that tests and benchmarks prove, with their contracts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from compiler.messages.wire import Send
from compiler.proof.binding import SizeLimits
from compiler.proof.prove import KernelProof
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.proof import prove_kernel
from launch.proof.proof_messages import ProofReport, ProveOrder
from tests.proofs import compiled_ttir
from tests.proofs.compiled_ttir import HEAD, TARGET, ttir_of
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
    proof_of, proof_of_order = compiled_ttir.proof_of, prove_kernel.prove_kernel

    def noted_proof(
        body: str,
        signature: dict[str, Any],
        contract: str,
        constexprs: dict[str, Any] | None = None,
        limits: SizeLimits | None = None,
        *further: Any,
    ) -> KernelProof:
        source, constants, most = HEAD + body, constexprs or {}, limits or SizeLimits()
        text = ttir_of(body, signature, constants)
        parameters = compiled_ttir.parameters_of(source, "kernel", signature)
        found[text, contract, most] = KernelToProve(
            f"test {len(found)}", source, text, parameters, contract, constants, most
        )
        return proof_of(body, signature, contract, constexprs, limits, *further)

    def noted_order(order: ProveOrder, body: bytes, send: Send) -> ProofReport:
        report = proof_of_order(order, body, send)
        if order.other is None and not report.refused:
            text, most = body.decode(), SizeLimits(order.most_size, order.most_elements)
            names = order.parameters or _names_in(text)
            found[text, order.contract, most] = KernelToProve(
                f"test {len(found)}", text, text, names, order.contract, order.constants, most
            )
        return report

    with (
        patch.object(prove_kernel, "prove_kernel", noted_order),
        patch.object(compiled_ttir, "prove_kernel", noted_order),
        patch.object(compiled_ttir, "proof_of", noted_proof),
    ):
        ended = pytest.main([*_OPTIONS, str(_RECORDED)])
    if ended != pytest.ExitCode.OK:
        message = "tests of the prover fail, so what they prove is not known"
        raise RuntimeError(message)
    if not found:
        message = "the tests of the prover prove no kernel"
        raise RuntimeError(message)
    return list(found.values())


def _names_in(text: str) -> list[str]:
    """Return the names of a kernel's arguments that its text has."""
    module = module_of(generic_form(text, TARGET, "ttir")[0])
    functions = [one for one in module.regions[0][0].operations if one.regions]
    return [argument.name for argument in functions[0].regions[0][0].arguments]


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

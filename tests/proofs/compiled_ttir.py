"""TTIR of kernels, from the real Triton in this process, and the proofs about it."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from compiler.proof.binding import SizeLimits
from compiler.proof.prove import KernelProof, prove
from compiler.proof.structure import name_arguments
from compiler.target import Target
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from launch.proof.proof_messages import ProofReport, ProveOrder
from launch.proof.prove_kernel import prove_kernel
from tests.integration.compiler.direct import load

TARGET = Target("cuda", 90, 32)
HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


@cache
def _ttir(source: str, kernel: str, signature: tuple[Any, ...], constexprs: tuple[Any, ...]) -> str:
    function = getattr(load(source, "/kernel/user.py"), kernel)
    kinds = {name: dict(signature).get(name, "constexpr") for name in function.arg_names}
    made = ASTSource(function, kinds, dict(constexprs), {})
    backend = make_backend(GPUTarget("cuda", 90, 32))
    options = backend.parse_options({"enable_fp_fusion": True})
    context, stages = ir.context(), {}
    ir.load_dialects(context)
    backend.load_dialects(context)
    backend.add_stages(stages, options, made.language)
    codegen = backend.get_codegen_implementation(options)
    target = GPUTarget("cuda", 90, 32)
    module = made.make_ir(target, options, codegen, backend.get_module_map(), context)
    return str(stages["ttir"](module, {}))


def ttir_of(body: str, signature: dict[str, Any], constexprs: dict[str, Any]) -> str:
    """Return the TTIR of a function `kernel`; `body` follows `@triton.jit`."""
    return ttir_of_source(HEAD + body, "kernel", signature, constexprs)


def ttir_of_source(
    source: str, kernel: str, signature: dict[str, Any], constexprs: dict[str, Any]
) -> str:
    """Return the TTIR of a kernel of a whole source."""
    return _ttir(source, kernel, tuple(signature.items()), tuple(constexprs.items()))


def parameters_of(source: str, kernel: str, signature: dict[str, Any]) -> list[str]:
    """Return the names of a kernel's arguments that have a type, in their order."""
    names = getattr(load(source, "/kernel/user.py"), kernel).arg_names
    return [name for name in names if name in signature]


def proof_of(
    body: str,
    signature: dict[str, Any],
    contract: str,
    constexprs: dict[str, Any] | None = None,
    limits: SizeLimits | None = None,
    checks: Sequence[str] = ("bounds", "overflow"),
) -> KernelProof:
    """Return the proof of a kernel, without any replay."""
    constants = constexprs or {}
    module = module_of(generic_form(ttir_of(body, signature, constants), TARGET, "ttir")[0])
    name_arguments(module, parameters_of(HEAD + body, "kernel", signature))
    return prove(module, read_contract(contract), constants, limits or SizeLimits(), checks)


def report_of(
    body: str,
    signature: dict[str, Any],
    contract: str,
    constexprs: dict[str, Any] | None = None,
    limits: SizeLimits | None = None,
    checks: Sequence[str] = ("bounds", "overflow"),
) -> ProofReport:
    """Return the report of a kernel, with each refutation replayed."""
    constants = constexprs or {}
    return report_of_source(HEAD + body, "kernel", signature, contract, constants, limits, checks)


def report_of_source(
    source: str,
    kernel: str,
    signature: dict[str, Any],
    contract: str,
    constants: dict[str, Any],
    limits: SizeLimits | None = None,
    checks: Sequence[str] = ("bounds", "overflow"),
    *,
    proposes: bool = False,
) -> ProofReport:
    """Return the report of a kernel of a whole source; with proposals to change it if asked."""
    limits = limits or SizeLimits()
    order = ProveOrder(
        target=TARGET,
        parameters=parameters_of(source, kernel, signature),
        files=["user.py"],
        contract=contract,
        constants=constants,
        checks=list(checks),
        source=source if proposes else "",
        most_size=limits.size,
        most_elements=limits.elements,
    )
    text = ttir_of_source(source, kernel, signature, constants)
    return prove_kernel(order, text.encode(), lambda *_: None)

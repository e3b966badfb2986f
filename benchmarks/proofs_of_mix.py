"""Proves the 57 kernels of the mix against their contracts, and re-checks them, each in a child.

    $ .venv/bin/python benchmarks/proofs_of_mix.py [KERNEL ...]

Buffers have at most 2^30 elements, as tensors of most programs do; without that limit, offsets of
32 bits into larger buffers are refuted, rightly. Times are CPU times of bounds and overflow
together, without the compilation and replays.
"""

import json
import linecache
import os
import statistics
import sys
import time
import tomllib
import traceback
import types
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from mix import Mix
from table import Row, show
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend

from compiler.proof import solver
from compiler.proof.binding import SizeLimits
from compiler.proof.prove import KernelProof, prove
from compiler.target import Target
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from launch.recheck.recheck_by_bits import recheck_bits
from launch.recheck.recheck_by_running import recheck
from launch.recheck.recheck_messages import (
    BitsOrder,
    RecheckedKernel,
    RecheckOrder,
    RecheckReport,
)

CONTRACTS = Path(__file__).parent / "kernels" / "contracts.toml"
LIMITS = SizeLimits(size=2**30, elements=2**30)
CUDA = GPUTarget("cuda", 90, 32)
PATH = "/kernel/user.py"
MIN_ACCESSES, MIN_CHECKS = 280 / 283, 490 / 495
MAX_MEDIAN_MS, MAX_P95_MS = 400.0, 5000.0
"""Of a proof with both re-checks."""
CHECKS = ("bounds", "overflow")


@dataclass
class Measured:
    """The proof of one kernel and its re-checks."""

    verdicts: str
    bounds: Counter[str]
    checks: Counter[str]
    ms: dict[str, float]
    """Of the proof, the runs and the bit-vectors."""
    rechecks: Counter[str] = field(default_factory=Counter)
    """The answers of both re-checks: `runs: agrees` and so on."""
    without_runs: int = 0
    contradictions: list[str] = field(default_factory=list)

    def note(self, name: str, proof: KernelProof, report: RecheckReport) -> None:
        """Count the answers of a re-check to what is proved."""
        self.ms[name] = report.ms
        if report.refused:
            self.rechecks[f"{name}: not_modelled"] += 1
        for access, seen in zip(proof.accesses, report.accesses, strict=bool(report.accesses)):
            for check in CHECKS:
                if getattr(access, check).verdict == "proved":
                    outcome = seen.checks[check]
                    self.rechecks[f"{name}: {outcome.outcome}"] += 1
                    self.without_runs += name == "runs" and not outcome.runs
                    if outcome.outcome == "violated":
                        self.contradictions.append(f"{name} {check}: {outcome}")


def measured(request: dict[str, Any], contract: str) -> Measured:
    """Prove a kernel and re-check what is proved."""
    text, target = ttir_of(request), Target("cuda", 90, 32)
    module = module_of(generic_form(text, target, "ttir")[0])
    constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
    constants |= ones(request["signature"])
    started = time.process_time()
    proof = prove(module, read_contract(contract), constants, LIMITS)
    measured_kernel = Measured(
        verdicts_of(proof),
        Counter(access.bounds.verdict for access in proof.accesses if access.bounds),
        Counter(conclusion.verdict for conclusion in proof.prover.checked),
        {"proof": (time.process_time() - started) * 1000},
    )
    kernel = RecheckedKernel(
        ttir_bytes=len(text.encode()), contract=contract, constants=constants,
        parameters=list(proof.contract.arguments),
    )  # fmt: skip
    order = RecheckOrder(
        target=target, kernel=kernel, checks=CHECKS, most_size=LIMITS.size,
        most_elements=LIMITS.elements,
    )  # fmt: skip
    bits_order = BitsOrder(**{member.name: getattr(order, member.name) for member in fields(order)})
    measured_kernel.note("runs", proof, recheck(order, text.encode(), _unsent))
    measured_kernel.note("bits", proof, recheck_bits(bits_order, text.encode(), _unsent))
    return measured_kernel


def in_child(request: dict[str, Any], contract: str) -> Measured:
    """Measure a kernel in a process of its own, as workers do: z3's memory is bounded for each."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as file:
                json.dump(vars(measured(request, contract)), file)
        except Exception:  # noqa: BLE001 - a child must not go on as its parent
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"the process of {request['kernel']} failed")
    members = json.loads(text)
    counters = ("bounds", "checks", "rechecks")
    return Measured(**members | {name: Counter(members[name]) for name in counters})


def _unsent(header: dict[str, Any], body: bytes) -> None:
    """Send nothing: re-checks only return a report."""


def main(wanted: list[str]) -> None:
    contracts = tomllib.loads(CONTRACTS.read_text())
    solver.prepare()
    every: list[Measured] = []
    for request in Mix().real():
        kernel = request["kernel"]
        if wanted and kernel not in wanted:
            continue
        every.append(in_child(request, contracts[kernel]))
        costs = " ".join(f"{ms:6.0f}" for ms in every[-1].ms.values())
        print(f"{kernel:28} {costs} ms  {every[-1].verdicts}", flush=True)
        for contradiction in every[-1].contradictions:
            print(f"    CONTRADICTED {contradiction}", flush=True)
    accesses = sum((proof.bounds for proof in every), Counter[str]())
    checks = sum((proof.checks for proof in every), Counter[str]())
    proofs_ms = [proof.ms["proof"] for proof in every]
    show(rows(accesses, checks, proofs_ms) + recheck_rows(every))


def recheck_rows(every: Sequence[Measured]) -> list[Row]:
    """Return the bars of proofs with their re-checks."""
    sums = sorted(sum(kernel.ms.values()) for kernel in every)
    median, p95 = statistics.median(sums), sums[int(0.95 * (len(sums) - 1))]
    answers = sum((kernel.rechecks for kernel in every), Counter[str]())
    broken = sum(len(kernel.contradictions) for kernel in every)
    without = sum(kernel.without_runs for kernel in every)
    runs, bits = (
        statistics.median(kernel.ms[name] for kernel in every) for name in ("runs", "bits")
    )
    return [
        Row("proofs contradicted", str(dict(answers)), "none", broken, 0.5),
        Row("proofs without a run", str(without), "none", without, 0.5),
        Row("median of runs, of bits", f"{runs:.0f} ms, {bits:.0f} ms", "", 0, 1),
        Row("median with re-checks", f"{median:.0f} ms", f"{MAX_MEDIAN_MS:g} ms",
            median / MAX_MEDIAN_MS, 1),
        Row("p95 with re-checks", f"{p95:.0f} ms", f"{MAX_P95_MS:g} ms", p95 / MAX_P95_MS, 1),
    ]  # fmt: skip


def rows(accesses: Counter[str], checks: Counter[str], times: list[float]) -> list[Row]:
    """Return the bars; a refutation counts as an answer."""
    answered = [
        (verdicts.total() - verdicts["unknown"], verdicts) for verdicts in (accesses, checks)
    ]
    bars = [("accesses answered", MIN_ACCESSES), ("overflow checks answered", MIN_CHECKS)]
    made = [
        Row(
            name,
            str(dict(verdicts)),
            str(verdicts.total()),
            count / verdicts.total(),
            bar,
            at_least=True,
        )
        for (name, bar), (count, verdicts) in zip(bars, answered, strict=True)
    ]
    median = statistics.median(times)
    return [*made, Row("median of proofs", f"{median:.0f} ms", "", median / MAX_MEDIAN_MS, 1)]


def verdicts_of(proof: KernelProof) -> str:
    """Return the verdicts of a kernel, and what is not proved."""
    bounds = Counter(access.bounds.verdict for access in proof.accesses if access.bounds)
    broken = [
        conclusion
        for conclusion in proof.prover.checked
        if conclusion.verdict != "proved" and conclusion.check
    ]
    notes = [
        f"{conclusion.verdict}: {conclusion.check.result.text()}"
        for conclusion in broken
        if conclusion.check
    ]
    return f"bounds {dict(bounds)}, {len(proof.prover.checked)} checks {'; '.join(notes)}"


def ones(signature: dict[str, str]) -> dict[str, int]:
    """Return the arguments that are 1 by specialization."""
    return {name: 1 for name, kind in signature.items() if kind.endswith(":1")}


def ttir_of(request: dict[str, Any]) -> str:
    """Return the kernel's TTIR, with locations of a posted file."""
    source = request["source"]
    linecache.cache[PATH] = (len(source), None, source.splitlines(True), PATH)
    module = types.ModuleType("user")
    module.__file__ = PATH
    sys.modules["user"] = module
    exec(compile(source, PATH, "exec"), module.__dict__)
    function = getattr(module, request["kernel"])
    types_, values, hints = {}, {}, {}
    for index, name in enumerate(function.arg_names):
        kind, _, hint = request["signature"].get(name, "constexpr").partition(":")
        types_[name] = "constexpr" if hint == "1" else kind
        if types_[name] == "constexpr":
            values[(index,)] = 1 if hint == "1" else request["constexprs"][name]
        elif hint:
            hints[(index,)] = [["tt.divisibility", 16]]
    made = ASTSource(function, types_, values, hints)
    backend = make_backend(CUDA)
    options = backend.parse_options({"enable_fp_fusion": True, **request["options"]})
    context, stages = ir.context(), {}
    ir.load_dialects(context)
    backend.load_dialects(context)
    backend.add_stages(stages, options, made.language)
    codegen = backend.get_codegen_implementation(options)
    first = made.make_ir(CUDA, options, codegen, backend.get_module_map(), context)
    return str(stages["ttir"](first, {}))


if __name__ == "__main__":
    main(sys.argv[1:])

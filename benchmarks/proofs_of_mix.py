"""Proves the 57 kernels of the mix against their contracts, and re-checks them, in this process.

    $ .venv/bin/python benchmarks/proofs_of_mix.py [KERNEL ...]

Buffers have at most 2^30 elements, as tensors of most programs do; without that limit, offsets of
32 bits into larger buffers are refuted, rightly. Times are CPU times of bounds and overflow
together, without the compilation and replays.
"""

import linecache
import statistics
import sys
import time
import tomllib
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

from compiler.proof.binding import SizeLimits
from compiler.proof.prove import KernelProof, prove
from compiler.target import Target
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from launch.recheck.recheck_by_bits import recheck_bits
from launch.recheck.recheck_by_running import recheck
from launch.recheck.recheck_messages import BitsOrder, RecheckedKernel, RecheckOrder

CONTRACTS = Path(__file__).parent / "kernels" / "contracts.toml"
LIMITS = SizeLimits(size=2**30, elements=2**30)
CUDA = GPUTarget("cuda", 90, 32)
PATH = "/kernel/user.py"
LEAST_ACCESSES, LEAST_CHECKS = 280 / 283, 490 / 495
MOST_MEDIAN_MS, MOST_P95_MS = 400.0, 5000.0
"""Of a proof with both re-checks."""
CHECKS = ("bounds", "overflow")


@dataclass
class Rechecks:
    """The outcomes of both re-checks of all kernels."""

    answers: Counter[str] = field(default_factory=Counter)
    """By `agrees`, `violated` and so on, of each re-check."""
    without_runs: int = 0
    runs_ms: list[float] = field(default_factory=list)
    bits_ms: list[float] = field(default_factory=list)

    def add(self, proof: KernelProof, order: RecheckOrder, text: bytes) -> list[str]:
        """Re-check a kernel's proofs; return what contradicts them."""
        bits_order = BitsOrder(**{one.name: getattr(order, one.name) for one in fields(order)})
        reports = {
            "runs": recheck(order, text, _unsent),
            "bits": recheck_bits(bits_order, text, _unsent),
        }
        self.runs_ms.append(reports["runs"].ms)
        self.bits_ms.append(reports["bits"].ms)
        found = []
        for name, report in reports.items():
            if report.refused:
                self.answers[f"{name}: not_modelled"] += 1
            for access, seen in zip(proof.accesses, report.accesses, strict=bool(report.accesses)):
                for check in CHECKS:
                    if getattr(access, check).verdict == "proved":
                        outcome = seen.checks[check].outcome
                        self.answers[f"{name}: {outcome}"] += 1
                        self.without_runs += name == "runs" and not seen.checks[check].runs
                        if outcome == "violated":
                            found.append(f"{name} {check}: {seen.checks[check]}")
        return found

    def rows(self, proofs_ms: Sequence[float]) -> list[Row]:
        """Return the bars."""
        columns = zip(proofs_ms, self.runs_ms, self.bits_ms, strict=True)
        every = sorted(sum(column) for column in columns)
        median, p95 = statistics.median(every), every[int(0.95 * (len(every) - 1))]
        broken = self.answers["runs: violated"] + self.answers["bits: violated"]
        runs, bits = statistics.median(self.runs_ms), statistics.median(self.bits_ms)
        return [
            Row("proofs contradicted", str(dict(self.answers)), "none", float(broken), 0.5),
            Row("proofs without a run", str(self.without_runs), "none", self.without_runs, 0.5),
            Row("median of runs, of bits", f"{runs:.0f} ms, {bits:.0f} ms", "", 0, 1),
            Row("median with re-checks", f"{median:.0f} ms", f"{MOST_MEDIAN_MS:g} ms",
                median / MOST_MEDIAN_MS, 1),
            Row("p95 with re-checks", f"{p95:.0f} ms", f"{MOST_P95_MS:g} ms", p95 / MOST_P95_MS, 1),
        ]  # fmt: skip


def _unsent(header: dict[str, Any], body: bytes) -> None:
    """Send nothing: re-checks only return a report."""


def main(wanted: list[str]) -> None:
    contracts = tomllib.loads(CONTRACTS.read_text())
    accesses, checks, times = Counter[str](), Counter[str](), list[float]()
    rechecks = Rechecks()
    for request in Mix().real():
        kernel = request["kernel"]
        if wanted and kernel not in wanted:
            continue
        text, target = ttir_of(request), Target("cuda", 90, 32)
        module = module_of(generic_form(text, target, "ttir")[0])
        constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
        constants |= ones(request["signature"])
        contract = read_contract(contracts[kernel])
        started = time.process_time()
        proof = prove(module, contract, constants, LIMITS)
        times.append((time.process_time() - started) * 1000)
        accesses += Counter(one.bounds.verdict for one in proof.accesses if one.bounds)
        checks += Counter(one.verdict for one in proof.prover.checked)
        rechecked = RecheckedKernel(
            ttir_bytes=len(text.encode()), contract=contracts[kernel], constants=constants,
            parameters=list(proof.contract.arguments),
        )  # fmt: skip
        order = RecheckOrder(
            target=target, kernel=rechecked, checks=CHECKS, most_size=LIMITS.size,
            most_elements=LIMITS.elements,
        )  # fmt: skip
        contradictions = rechecks.add(proof, order, text.encode())
        costs = times[-1], rechecks.runs_ms[-1], rechecks.bits_ms[-1]
        print(f"{kernel:28} {costs[0]:6.0f} {costs[1]:6.0f} {costs[2]:6.0f} ms  {said(proof)}")
        for one in contradictions:
            print(f"    CONTRADICTED {one}", flush=True)
    show(rows(accesses, checks, times) + rechecks.rows(times))


def rows(accesses: Counter[str], checks: Counter[str], times: list[float]) -> list[Row]:
    """Return the bars; a refutation counts as an answer."""
    answered = [(found.total() - found["unknown"], found) for found in (accesses, checks)]
    bars = [("accesses answered", LEAST_ACCESSES), ("overflow checks answered", LEAST_CHECKS)]
    made = [
        Row(name, str(dict(found)), str(found.total()), count / found.total(), bar, at_least=True)
        for (name, bar), (count, found) in zip(bars, answered, strict=True)
    ]
    median = statistics.median(times)
    return [*made, Row("median of proofs", f"{median:.0f} ms", "", median / MOST_MEDIAN_MS, 1)]


def said(proof: KernelProof) -> str:
    """Return the verdicts of a kernel, and what is not proved."""
    bounds = Counter(one.bounds.verdict for one in proof.accesses if one.bounds)
    broken = [one for one in proof.prover.checked if one.verdict != "proved" and one.check]
    notes = [f"{one.verdict}: {one.check.result.text()}" for one in broken if one.check]
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

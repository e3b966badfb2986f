"""Proves the 57 kernels of the mix against their contracts, in this process.

    $ .venv/bin/python benchmarks/proofs_of_mix.py [KERNEL ...]

Buffers have at most 2^30 elements, as tensors of most programs do; without that limit, offsets of
32 bits into larger buffers are refuted, rightly. Times are CPU times of bounds and overflow
together, without the compilation, replays and re-checks.
"""

import linecache
import statistics
import sys
import time
import tomllib
import types
from collections import Counter
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

CONTRACTS = Path(__file__).parent / "kernels" / "contracts.toml"
LIMITS = SizeLimits(size=2**30, elements=2**30)
CUDA = GPUTarget("cuda", 90, 32)
PATH = "/kernel/user.py"
LEAST_ACCESSES, LEAST_CHECKS = 280 / 283, 490 / 495
MOST_MEDIAN_MS, MOST_WORST_MS = 150.0, 3000.0


def main(wanted: list[str]) -> None:
    contracts = tomllib.loads(CONTRACTS.read_text())
    accesses, checks, times = Counter[str](), Counter[str](), list[float]()
    for request in Mix().real():
        kernel = request["kernel"]
        if wanted and kernel not in wanted:
            continue
        module = module_of(generic_form(ttir_of(request), Target("cuda", 90, 32), "ttir")[0])
        constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
        constants |= ones(request["signature"])
        contract = read_contract(contracts[kernel])
        started = time.process_time()
        proof = prove(module, contract, constants, LIMITS)
        times.append((time.process_time() - started) * 1000)
        accesses += Counter(one.bounds.verdict for one in proof.accesses if one.bounds)
        checks += Counter(one.verdict for one in proof.prover.checked)
        print(f"{kernel:28} {times[-1]:7.0f} ms  {said(proof)}", flush=True)
    show(rows(accesses, checks, times))


def rows(accesses: Counter[str], checks: Counter[str], times: list[float]) -> list[Row]:
    """Return the bars; a refutation counts as an answer."""
    answered = [(found.total() - found["unknown"], found) for found in (accesses, checks)]
    bars = [("accesses answered", LEAST_ACCESSES), ("overflow checks answered", LEAST_CHECKS)]
    made = [
        Row(name, str(dict(found)), str(found.total()), count / found.total(), bar, at_least=True)
        for (name, bar), (count, found) in zip(bars, answered, strict=True)
    ]
    median, worst = statistics.median(times), max(times)
    return [
        *made,
        Row("median", f"{median:.0f} ms", f"{MOST_MEDIAN_MS:g} ms", median / MOST_MEDIAN_MS, 1),
        Row("worst", f"{worst:.0f} ms", f"{MOST_WORST_MS:g} ms", worst / MOST_WORST_MS, 1),
    ]


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

"""Random launches within a contract, run on the CPU device: none may contradict a proof.

    $ .venv/bin/python -m tests.proofs.random_launches --launches 1000 --seed 1

Sizes are drawn, and z3 completes them so that they keep the contract. A program of the grid then
runs with buffers that have extents but no bytes.
"""

import argparse
import random
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from compiler.proof.binding import AXES
from compiler.proof.logic import at_least, both, conjuncts, equal
from compiler.proof.polynomial import name
from compiler.proof.proof_limits import SEARCH_EFFORT
from compiler.proof.prove import KernelProof, prove
from compiler.proof.solver import Effort, Model, WitnessSearch
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.mlir_types import pointee_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from launch.proof.proof_messages import ProveOrder
from launch.proof.virtual_memory import TouchedElement
from launch.proof.witness_replay import WitnessLaunch, replay
from tests.proofs.compiled_ttir import TARGET

SMALL = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 1000, 1023,
         1024, 1025, 4097)  # fmt: skip
MOST_ACCESSES = 200
LARGE = (2**20 - 1, 2**24 + 1, 2**29)
ORDER = ProveOrder(
    target=TARGET, files=["user.py"], contract="", constants={}, checks=[], most_size=1,
    most_elements=1,
)  # fmt: skip


@dataclass(frozen=True)
class Contradiction:
    """A proved access that left its buffer."""

    line: int | None
    argument: str | None
    element: int
    launch: WitnessLaunch


def contradiction(proof: KernelProof, text: str, drawn: random.Random) -> Contradiction | None:
    """Run one random program; return the access that contradicts the proof, None for none.

    Raises LookupError if no sizes were found that keep the contract.
    """
    launch = random_launch(proof, drawn)
    proved = proved_places(proof)
    for touched in replay(ORDER, text, launch, MOST_ACCESSES).touched:
        outside = touched.outside()
        if outside is not None and _place(touched) in proved:
            line = touched.location.line
            return Contradiction(line, touched.argument, outside, launch)
    return None


def proved_places(proof: KernelProof) -> set[tuple[int | None, int | None]]:
    """Return line and column of accesses whose bounds and integers are proved."""
    found = set()
    for one in proof.accesses:
        answers = (one.bounds, one.overflow)
        if all(answer is not None and answer.verdict == "proved" for answer in answers):
            location = one.access.operation.locations[0]
            found.add((location.line, location.column))
    return found


def _place(touched: TouchedElement) -> tuple[int | None, int | None]:
    return touched.location.line, touched.location.column


def random_launch(proof: KernelProof, drawn: random.Random) -> WitnessLaunch:
    """Return sizes that keep the contract, and a program of their grid. Raises LookupError."""
    bound, prover = proof.contract, proof.prover
    pick = SMALL if drawn.random() < 0.9 else LARGE
    wishes = [equal(name(size), drawn.choice(pick)) for size in bound.sizes]
    drawn.shuffle(wishes)
    for kept in (len(wishes), len(wishes) // 2, 1, 0):
        model = _model(proof, wishes[:kept])
        if model is not None:
            break
    else:
        raise LookupError("no sizes keep the contract")
    grid = [size.value(model) for size in bound.grid]
    edges = [drawn.choice((0, size - 1, drawn.randrange(size))) for size in grid]
    buffers = [n for n, kind in bound.arguments.items() if pointee_of(kind) is not None]
    fill = {
        buffer: drawn.randint(low.value(model), max(high.value(model) - 1, low.value(model)))
        for buffer, (low, high) in bound.value_ranges.items()
    }
    scalars = {
        n: bound.fixed[n].value(model) if n in bound.fixed else _scalar(n, model, prover, drawn)
        for n, kind in bound.arguments.items()
        if kind[:1] == "i" and kind[1:].isdigit()
    }
    return WitnessLaunch(
        parameters=list(bound.arguments), types=bound.arguments, scalars=scalars,
        extents={n: bound.extents[n].value(model) for n in buffers},
        values={}, fill=fill, grid=grid, program=edges,
    )  # fmt: skip


def _scalar(text: str, model: Model, prover: Any, drawn: random.Random) -> int:
    if text in model.values:
        return model[text]
    low, high = prover.unknowns.interval(text)
    return max(int(low), min(int(high), drawn.choice(SMALL)))


def _model(proof: KernelProof, wishes: list[Any]) -> Model | None:
    prover = proof.prover
    names = proof.contract.sizes
    formulas = [*wishes, *(at_least(name(size), 1) for size in names)]
    formulas += [at_least(size, 1) for size in proof.contract.grid]
    formulas += [both(*proof.prover.unknowns.known[f"program#{axis}"].facts) for axis in AXES]
    known = [one.formula for one in prover.linear.known(formulas)]
    whole = [part for one in (*formulas, *known) for part in conjuncts(one)]
    search = WitnessSearch(Effort(), list(dict.fromkeys(whole)), SEARCH_EFFORT)
    return search.model() if search.check() == "sat" else None


def mix_requests() -> Iterator[tuple[dict[str, Any], ModuleType, str]]:
    """Yield the request of each kernel of the benchmarks' mix once, the benchmark, its contract."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    benchmark = import_module("proofs_of_mix")
    contracts = tomllib.loads(benchmark.CONTRACTS.read_text())
    seen: set[str] = set()
    for request in import_module("mix").Mix().real():
        if request["kernel"] not in seen:
            seen.add(request["kernel"])
            yield request, benchmark, contracts[request["kernel"]]


def kernels() -> Iterator[tuple[str, KernelProof, str]]:
    """Yield each kernel of the mix once, proved, with its TTIR."""
    for request, benchmark, contract in mix_requests():
        constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
        constants |= benchmark.ones(request["signature"])
        text = benchmark.ttir_of(request)
        module = module_of(generic_form(text, TARGET, "ttir")[0])
        proof = prove(module, read_contract(contract), constants, benchmark.LIMITS)
        yield request["kernel"], proof, text


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--launches", type=int, default=100, help="of each kernel")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    ran, wrong = 0, 0
    for kernel, proof, text in kernels():
        drawn = random.Random(f"{given.seed} {kernel}")
        for _ in range(given.launches):
            try:
                found = contradiction(proof, text, drawn)
            except LookupError:  # z3 found no sizes for these wishes
                continue
            ran += 1
            if found is not None:
                wrong += 1
                print(kernel, found, flush=True)
        print(f"{kernel}: {given.launches} launches", flush=True)
    print(f"{ran} launches, {wrong} contradictions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

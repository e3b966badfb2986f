"""Random launches within a contract, run on the CPU device: none may contradict a proof.

    $ .venv/bin/python -m tests.proofs.random_launches --launches 1000 --seed 1

Sizes are drawn, and changed until they keep the contract as its text is read, without the prover's
reading. Some programs of the grid then run with buffers that have extents but no bytes.
`--kernels PATH` takes the kernels that `benchmarks/proofs_of_corpus.py` proved, `--minutes` stops
after a time, and `--counts PATH` adds each kernel's launches to a file.
"""

import argparse
import json
import random
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from compiler.proof.binding import GRID_LIMITS, SizeLimits
from compiler.proof.contract import Contract
from compiler.proof.prove import KernelProof, prove
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.mlir_types import pointee_of
from compiler.ttir_to_numpy.runtime import tensor_ops
from compiler.ttir_to_numpy.task import generic_form
from launch.buffers.element_types import Array
from launch.contract.text import read_contract
from launch.proof.proof_messages import ProveOrder
from launch.proof.virtual_memory import TouchedElement
from launch.proof.witness_replay import NotReplayed, WitnessLaunch, replay
from tests.proofs.compiled_ttir import TARGET
from tests.proofs.drawn_sizes import drawn_sizes, value_of

MAX_ACCESSES = 60
PROGRAMS = 3
"""Programs of a launch that run: corners of its grid, and some between."""
ORDER = ProveOrder(
    target=TARGET, files=["user.py"], contract="", constants={}, checks=[], most_size=1,
    most_elements=1,
)  # fmt: skip
Place = tuple[int | None, int | None]


@dataclass(frozen=True)
class ProvedKernel:
    """A kernel with its proof, and what to run it with."""

    name: str
    text: str
    contract: Contract
    constants: Mapping[str, int]
    limits: SizeLimits
    proof: KernelProof


@dataclass(frozen=True)
class LeftBuffer:
    """An access that left its buffer in a launch."""

    place: Place
    argument: str | None
    element: int
    launch: WitnessLaunch


def proved_kernel(
    name: str, text: str, contract: str, constants: Mapping[str, int], limits: SizeLimits
) -> ProvedKernel:
    """Return a kernel with its proof. Raises Unsupported, ProofLimitReached, ContractError."""
    read = read_contract(contract)
    module = module_of(generic_form(text, TARGET, "ttir")[0])
    return ProvedKernel(name, text, read, constants, limits, prove(module, read, constants, limits))


def left_buffers(kernel: ProvedKernel, drawn: random.Random) -> Iterator[LeftBuffer]:
    """Run some programs of one random launch; yield the accesses that leave their buffers.

    Raises LookupError if no sizes were found that keep the contract.
    """
    launch, programs = random_launch(kernel, drawn)
    for program in programs:
        made = launch(program)
        for touched in replay(ORDER, kernel.text, made, MAX_ACCESSES).touched:
            outside = touched.outside()
            if outside is not None:
                yield LeftBuffer(_place(touched), touched.argument, outside, made)


def contradiction(kernel: ProvedKernel, drawn: random.Random) -> LeftBuffer | None:
    """Run one random launch; return the access that contradicts the proof, None for none.

    Raises LookupError if no sizes were found that keep the contract.
    """
    proved = proved_places(kernel.proof)
    return next((one for one in left_buffers(kernel, drawn) if one.place in proved), None)


def proved_places(proof: KernelProof) -> set[Place]:
    """Return line and column where the bounds and integers of every access are proved."""
    found: dict[Place, bool] = {}
    for one in proof.accesses:
        answers = (one.bounds, one.overflow)
        is_proved = all(answer is not None and answer.verdict == "proved" for answer in answers)
        location = one.access.operation.locations[0]
        place = location.line, location.column
        found[place] = found.get(place, True) and is_proved
    return {place for place, is_proved in found.items() if is_proved}


def _place(touched: TouchedElement) -> Place:
    return touched.location.line, touched.location.column


def random_launch(kernel: ProvedKernel, drawn: random.Random) -> tuple[Any, list[list[int]]]:
    """Return a launch of a program with sizes that keep the contract, and programs of its grid.

    Raises LookupError.
    """
    contract, bound = kernel.contract, kernel.proof.contract
    bits = {
        name: int(kind[1:])
        for name, kind in bound.arguments.items()
        if kind[:1] == "i" and kind[1:].isdigit()
    }
    sizes = drawn_sizes(contract, bits, kernel.constants, kernel.limits, drawn)
    grid = [value_of(one, sizes) for one in contract.grid]
    grid += [1] * (len(GRID_LIMITS) - len(grid))
    extents = {one.text: value_of(size, sizes) for one, size in contract.extents.items()}
    fill = {
        name: drawn.choice((range(1), range(-1, 2), range(1, 2), range(-(2**31), 2**31)))
        for name, kind in bound.arguments.items()
        if pointee_of(kind) is not None
    }
    for one, values in contract.values.items():
        low, high = value_of(values.low, sizes), value_of(values.high, sizes)
        fill[one.text] = range(low, max(high, low + 1))

    def launch(program: list[int]) -> WitnessLaunch:
        return WitnessLaunch(
            parameters=list(bound.arguments), types=bound.arguments,
            scalars={name: sizes[name] for name in bits}, extents=extents, values={}, fill=fill,
            grid=grid, program=program,
        )  # fmt: skip

    programs = [
        [drawn.choice((0, size - 1, drawn.randrange(size))) for size in grid]
        for _ in range(PROGRAMS)
    ]
    return launch, [list(one) for one in dict.fromkeys(map(tuple, programs))]


def mix_requests() -> Iterator[tuple[dict[str, Any], ModuleType, str]]:
    """Yield each request of the benchmarks' mix, the benchmark, and the kernel's contract."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    benchmark = import_module("proofs_of_mix")
    contracts = tomllib.loads(benchmark.CONTRACTS.read_text())
    for request in import_module("mix").Mix().real():
        yield request, benchmark, contracts[request["kernel"]]


def kernels_of_mix() -> Iterator[ProvedKernel]:
    """Yield each request of the mix with its proof."""
    for number, (request, benchmark, contract) in enumerate(mix_requests()):
        constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
        constants |= benchmark.ones(request["signature"])
        name, text = f"mix {number}: {request['kernel']}", benchmark.ttir_of(request)
        yield proved_kernel(name, text, contract, constants, benchmark.LIMITS)


def kernels_of_file(path: Path) -> Iterator[ProvedKernel]:
    """Yield the kernels of a file of JSON lines with their proofs."""
    for line in path.read_text().splitlines():
        one = json.loads(line)
        text = Path(one["ttir"]).read_text()
        limits = SizeLimits(one["most_size"], one["most_elements"])
        yield proved_kernel(one["name"], text, one["contract"], one["constants"], limits)


def no_dot(a: Array, b: Array, c: Array, precision: str = "") -> Array:
    """Return zeros in place of a matrix product, which takes most of the time of a launch.

    Proofs are about addresses, whatever the values of products are.
    """
    ahead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], c.shape[:-2])
    return np.zeros((*ahead, a.shape[-2], b.shape[-1]), c.dtype)


@patch.object(tensor_ops, "dot", no_dot)
def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=100, help="of each kernel")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--kernels", type=Path, help="a file of kernels; default: the mix")
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--counts", type=Path, help="a file to add each kernel's launches to")
    given = parser.parse_args()
    ran, wrong, end = 0, 0, time.monotonic() + 60 * given.minutes
    for kernel in kernels_of_file(given.kernels) if given.kernels else kernels_of_mix():
        if time.monotonic() > end:
            break
        counts = {"kernel": kernel.name, "seed": given.seed, "launches": 0, "wrong": 0, "lost": 0}
        drawn = random.Random(f"{given.seed} {kernel.name}")
        started = time.process_time()
        for _ in range(given.launches):
            try:
                found = contradiction(kernel, drawn)
            except LookupError:  # no sizes were found
                counts["lost"] += 1
                continue
            except NotReplayed as refused:
                print(f"{kernel.name}: {refused}", flush=True)
                break
            counts["launches"] += 1
            if found is not None:
                counts["wrong"] += 1
                print(kernel.name, found, flush=True)
        counts["cpu_s"] = round(time.process_time() - started, 2)
        print(json.dumps(counts), flush=True)
        if given.counts:
            with given.counts.open("a") as file:
                file.write(json.dumps(counts) + "\n")
        ran, wrong = ran + counts["launches"], wrong + counts["wrong"]
    print(f"{ran} launches, {wrong} contradictions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

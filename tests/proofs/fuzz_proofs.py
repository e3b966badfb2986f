"""Looks for false proofs: proves kernels, and has both re-checks look long for a counterexample.

    $ .venv/bin/python -m tests.proofs.fuzz_proofs random --count 5000 --seed 1
    $ .venv/bin/python -m tests.proofs.fuzz_proofs narrow --count 10000 --seed 1
    $ .venv/bin/python -m tests.proofs.fuzz_proofs known

`random` writes kernels and contracts. `narrow` does so in a world where i32 has 8 bits. `known`
takes the kernels that tests and benchmarks prove. A contradiction is printed with the kernel's
source, its contract and the sizes that show it, and the exit code is then 1; `--only 7` tries
kernel 7 of a seed again. No more kernels are started after `--seconds`.
"""

import argparse
import ctypes
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import Any

from triton.compiler.errors import CompilationError

from compiler.proof import solver
from compiler.proof.contract import ContractError
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.recheck.machine import MOST_TURNS
from compiler.ttir_to_numpy.refusal import Untranslatable
from tests.proofs.compiled_ttir import ttir_of
from tests.proofs.known_kernels import known_kernels
from tests.proofs.narrow_world import NARROW_LIMITS, has_narrow_constants
from tests.proofs.random_kernels import random_kernel
from tests.proofs.random_language import larger_random_kernel
from tests.proofs.rechecked_proof import Effort, KernelToProve, rechecked_proof, reproduction

_REFUSALS = (Unsupported, ProofLimitReached, ContractError, Untranslatable)
MOST_OF_CHILD = 200
"""After which a new child starts, since z3 keeps memory."""
MOST_LIMITS = 20
"""A kernel is given up after this many times the limit of a re-check."""
Tried = tuple[Counter[str], str]


class GivenUp(Exception):
    """A kernel takes too long."""


def _give_up(*_: object) -> None:
    raise GivenUp


def random_kernel_to_prove(seed: str, number: int, *, is_narrow: bool) -> KernelToProve:
    """Return a kernel of a seed. Raises CompilationError; RuntimeError where MLIR refuses it."""
    drawn = random.Random(f"{seed} {number}")
    kernel = drawn.choice((random_kernel, larger_random_kernel))(drawn)
    if is_narrow:  # a shift by as many bits as an integer has is not defined
        kernel = replace(kernel, body=kernel.body.replace(" 31)", " 7)"))
    limits = drawn.choice(NARROW_LIMITS) if is_narrow else kernel.limits
    return KernelToProve(
        name=f"seed {seed}, kernel {number}",
        source=f"{kernel.body}{kernel.signature}",
        text=ttir_of(kernel.body, kernel.signature, kernel.constants),
        parameters=kernel.parameters,
        contract=kernel.contract,
        constants=kernel.constants,
        limits=limits,
    )


def tried_random(seed: str, effort: Effort, until: float, number: int) -> Tried:
    """Prove a kernel of a seed and re-check it, unless the time is over."""
    if time.monotonic() > until:
        return Counter(), ""
    counts: Counter[str] = Counter({"kernels": 1})
    try:
        kernel = random_kernel_to_prove(seed, number, is_narrow=effort.is_narrow)
    except (CompilationError, RuntimeError):
        counts["kernels refused by Triton"] += 1
        return counts, ""
    if effort.is_narrow and not has_narrow_constants(kernel.text):
        counts["kernels refused: wide constants"] += 1
        return counts, ""
    return tried(kernel, effort, counts)


def tried_known(effort: Effort, until: float, kernel: KernelToProve) -> Tried:
    """Prove a known kernel and re-check it, unless the time is over."""
    if time.monotonic() > until:
        return Counter(), ""
    return tried(kernel, effort, Counter({"kernels": 1}))


def tried(kernel: KernelToProve, effort: Effort, counts: Counter[str]) -> Tried:
    """Prove a kernel and re-check it; return counts, and the text of a contradiction or ""."""
    solver.prepare()
    signal.signal(signal.SIGALRM, _give_up)
    # again each second, since what is raised while an object is deleted is lost
    signal.setitimer(signal.ITIMER_REAL, MOST_LIMITS * effort.seconds, 1.0)
    try:
        contradictions = rechecked_proof(kernel, effort, counts)
    except (GivenUp, ctypes.ArgumentError) as error:
        # ctypes wraps what is raised while it converts an argument for z3
        if "GivenUp" not in repr(error):
            raise
        counts["kernels given up"] += 1
        return counts, ""
    except _REFUSALS as refusal:
        counts[f"kernels refused: {type(refusal).__name__}"] += 1
        return counts, ""
    except RecursionError:
        counts["kernels refused: nested too deeply"] += 1
        return counts, ""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return counts, reproduction(kernel, contradictions) if contradictions else ""


def all_tried(given: argparse.Namespace) -> Iterator[Tried]:
    """Try kernels in children, until there are enough or the time is over."""
    is_narrow = given.kernels == "narrow"
    effort = Effort(given.limit, given.turns, is_narrow)
    until = time.monotonic() + given.seconds
    if given.kernels == "known":
        kernels = [one for one in known_kernels() if given.only in (None, one.name)]
        until = time.monotonic() + given.seconds
        yield from _in_children(partial(tried_known, effort, until), kernels, given.jobs, until)
    else:
        numbers = range(given.count) if given.only is None else [int(given.only)]
        each = partial(tried_random, given.seed, effort, until)
        yield from _in_children(each, numbers, given.jobs, until)


def _in_children(
    each: Callable[[Any], Tried], items: Sequence[Any], jobs: int, until: float
) -> Iterator[Tried]:
    # with max_tasks_per_child, a pool of Python 3.11 may wait for ever for a child that has ended
    size = MOST_OF_CHILD * jobs
    for first in range(0, len(items), size):
        if time.monotonic() > until:
            return
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            yield from pool.map(each, items[first : first + size])


def main(arguments: Sequence[str]) -> int:
    """Try kernels, print contradictions and counts, return 1 for a contradiction."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", choices=("random", "narrow", "known"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", help="the number of a random kernel, or the name of a known one")
    parser.add_argument("--seconds", type=float, default=1e9, help="of all kernels")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of each re-check")
    parser.add_argument("--turns", type=int, default=MOST_TURNS, help="of loops, by bit-vectors")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    total: Counter[str] = Counter()
    for counts, text in all_tried(given):
        total += counts
        if text:
            print(text, flush=True)
    print(given.kernels, json.dumps(dict(sorted(total.items()))), flush=True)
    return 1 if total["contradictions"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

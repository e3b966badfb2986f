"""Looks for false proofs: proves kernels, and has both re-checks look long for a counterexample.

    $ .venv/bin/python -m tests.proofs.fuzz_proofs random --count 5000 --seed 1
    $ .venv/bin/python -m tests.proofs.fuzz_proofs narrow --count 10000 --seed 1
    $ .venv/bin/python -m tests.proofs.fuzz_proofs known

`random` writes kernels and contracts. `narrow` does so in a world where i32 has 8 bits. `known`
takes the kernels that tests and benchmarks prove. The prover is asked about what a re-check can
contradict: bounds and races of accesses whose integers may wrap, only where runs saw them broken.
"Not asked" are proofs that runs alone re-check. A contradiction is printed with the kernel's
source, its contract and the sizes that show it, and the exit code is then 1; `--only 7` tries
kernel 7 of a seed again. No more kernels are started after `--seconds`.

A line with all counts is printed every half a minute. It names the first kernel that is not done
yet: `--first 1200` goes on there. So a large count can be run in pieces. A kernel that takes too
long or too much memory counts as a timeout, and is named.
"""

import argparse
import ctypes
import gc
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from triton.compiler.errors import CompilationError
from z3 import Z3Exception

from compiler.proof import solver
from compiler.proof.contract import ContractError
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.recheck.machine import MAX_TURNS
from compiler.ttir_to_numpy.refusal import Untranslatable
from tests.proofs.compiled_ttir import ttir_of
from tests.proofs.kernels_in_children import Children
from tests.proofs.known_kernels import known_kernels
from tests.proofs.narrow_world import NARROW_LIMITS, has_narrow_constants
from tests.proofs.random_kernels import random_kernel
from tests.proofs.random_language import larger_random_kernel
from tests.proofs.rechecked_proof import Effort, KernelToProve, rechecked_proof, reproduction

_REFUSALS = (Unsupported, ProofLimitReached, ContractError, Untranslatable)
MAX_LIMITS = 20
"""A kernel is given up after this many times the limit of a re-check."""
_TIMEOUT = "kernels timeout"
_REPORT_S = 30.0
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


def tried_random(seed: str, effort: Effort, number: int) -> Tried:
    """Prove a kernel of a seed and re-check it."""
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


def tried_known(effort: Effort, kernel: KernelToProve) -> Tried:
    """Prove a known kernel and re-check it."""
    return tried(kernel, effort, Counter({"kernels": 1}))


def tried(kernel: KernelToProve, effort: Effort, counts: Counter[str]) -> Tried:
    """Prove a kernel and re-check it; return counts, and the text of a contradiction or ""."""
    gc.collect()  # the last kernel's terms, which count as memory of this proof
    solver.prepare()
    signal.signal(signal.SIGALRM, _give_up)
    # again each second, since what is raised while an object is deleted is lost
    signal.setitimer(signal.ITIMER_REAL, MAX_LIMITS * effort.seconds, 1.0)
    try:
        contradictions = rechecked_proof(kernel, effort, counts)
    except (GivenUp, ctypes.ArgumentError) as error:
        # ctypes wraps what is raised while it converts an argument for z3
        if "GivenUp" not in repr(error):
            raise
        counts[f"{_TIMEOUT}: took too long"] += 1
        return counts, ""
    except (MemoryError, Z3Exception) as error:
        if isinstance(error, Z3Exception) and b"memory" not in _words(error):
            raise
        counts[f"{_TIMEOUT}: no memory"] += 1
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


def _words(error: Z3Exception) -> bytes:
    value = error.value
    return value if isinstance(value, bytes) else str(value).encode()


def _is_spoilt(tried_one: Tried) -> bool:
    """Return whether a child should end: what was given up keeps its memory."""
    return any(name.startswith(_TIMEOUT) for name in tried_one[0])


def all_tried(given: argparse.Namespace) -> Iterator[tuple[int, str, Tried]]:
    """Try kernels in children, until there are enough or the time is over.

    Yields the number of each, its name, its counts and the text of a contradiction.
    """
    is_narrow = given.kernels == "narrow"
    effort = Effort(given.limit, given.turns, is_narrow)
    items: Sequence[Any]
    if given.kernels == "known":
        items = [one for one in known_kernels() if given.only in (None, one.name)]
        each, names = partial(tried_known, effort), [one.name for one in items]
        first = 0
    else:
        first = given.first if given.only is None else int(given.only)
        items = range(first, first + (given.count if given.only is None else 1))
        each = partial(tried_random, given.seed, effort)
        names = [f"seed {given.seed}, kernel {number}" for number in items]
    until = time.monotonic() + given.seconds
    children = Children(each, given.jobs, 3 * MAX_LIMITS * given.limit, _is_spoilt)
    for place, result, lost in children.results(items, until):
        counts = Counter({"kernels": 1, f"{_TIMEOUT}: {lost}": 1})
        yield first + place, names[place], result if lost is None else (counts, "")


@dataclass
class _Progress:
    """The counts, and which kernels are done."""

    kernels: str
    first: int
    total: Counter[str] = field(default_factory=Counter)
    _done: set[int] = field(default_factory=set)
    _reported: float = field(default_factory=time.monotonic)

    def note(self, number: int, name: str, one: Tried) -> None:
        """Count a kernel; print its contradiction, that it was given up, and sometimes all."""
        counts, text = one
        self.total += counts
        self._done.add(number)
        while self.first in self._done:
            self._done.remove(self.first)
            self.first += 1
        if text:
            print(text, flush=True)
        for given_up in (key for key in counts if key.startswith(_TIMEOUT)):
            print(f"--- {name}: {given_up}", flush=True)
        if time.monotonic() - self._reported > _REPORT_S:
            self.report()

    def report(self) -> None:
        """Print the counts, and where to go on."""
        self._reported = time.monotonic()
        counts = json.dumps({"contradictions": 0, **dict(sorted(self.total.items()))})
        print(f"{self.kernels} {counts} (go on with --first {self.first})", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Try kernels, print contradictions and counts, return 1 for a contradiction."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kernels", choices=("random", "narrow", "known"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="the number of the first random one")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", help="the number of a random kernel, or the name of a known one")
    parser.add_argument("--seconds", type=float, default=1e9, help="of all kernels")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of each re-check")
    parser.add_argument("--turns", type=int, default=MAX_TURNS, help="of loops, by bit-vectors")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args(arguments)
    progress = _Progress(given.kernels, given.first)
    for number, name, one in all_tried(given):
        progress.note(number, name, one)
    progress.report()
    return 1 if progress.total["contradictions"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Breaks the kernels of the mix in usual ways, one place at a time, and proves each.

    $ .venv/bin/python -m tests.proofs.mutants --mutants 40 --seed 1

A mutant whose access leaves its buffer in a random launch must not be proved there.
"""

import argparse
import ast
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.proof.prove import prove
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from tests.proofs.compiled_ttir import TARGET
from tests.proofs.random_launches import contradiction, mix_requests

_ACCESSES = ("load", "store", "atomic_add")
Undo = Callable[[], None]


def mutants(source: str, kernel: str) -> Iterator[tuple[str, str]]:
    """Yield what was changed, and the changed source."""
    tree = ast.parse(source)
    functions = [f for f in tree.body if isinstance(f, ast.FunctionDef) and f.name == kernel]
    for function in functions:
        for node in ast.walk(function):
            for kind, change in changes(node):
                undo = change()
                yield kind, ast.unparse(tree)
                undo()


def changes(node: ast.AST) -> Iterator[tuple[str, Callable[[], Undo]]]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _ACCESSES and any(k.arg == "mask" for k in node.keywords):
            kept = [k for k in node.keywords if k.arg not in ("mask", "other")]
            yield "mask dropped", lambda: changed(node, "keywords", kept)
        if node.func.attr == "to" and node.args and ast.unparse(node.args[0]) == "tl.int64":
            narrow = ast.parse("tl.int32", mode="eval").body
            yield "int64 removed", lambda: changed(node, "args", [narrow])
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt):
        yield "< made <=", lambda: changed(node, "ops", [ast.LtE()])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        yield "// made *", lambda: changed(node, "op", ast.Mult())


def changed(node: Any, name: str, value: Any) -> Undo:
    before = getattr(node, name)
    setattr(node, name, value)
    return lambda: setattr(node, name, before)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--launches", type=int, default=20, help="of each mutant")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    drawn = random.Random(given.seed)
    found: list[tuple[Any, str, str, Any]] = []
    for request, benchmark, contract in mix_requests():
        for kind, source in mutants(request["source"], request["kernel"]):
            found.append((request | {"source": source}, kind, contract, benchmark))
    drawn.shuffle(found)
    counts: Counter[tuple[str, str]] = Counter()
    for request, kind, contract, benchmark in found[: given.mutants]:
        verdict = judged(request, contract, benchmark, drawn, given.launches)
        counts[kind, verdict] += 1
        print(f"{request['kernel']:28} {kind:14} {verdict}", flush=True)
    print(dict(counts))
    return 1 if any(verdict == "CONTRADICTED" for _, verdict in counts) else 0


def judged(request: Any, contract: str, benchmark: Any, drawn: random.Random, launches: int) -> str:
    """Return the worst verdict of a mutant, or that a launch contradicts its proof."""
    constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
    constants |= benchmark.ones(request["signature"])
    try:
        text = benchmark.ttir_of(request)
    except Exception as error:  # noqa: BLE001 - many changes do not compile
        return f"does not compile: {type(error).__name__}"
    module = module_of(generic_form(text, TARGET, "ttir")[0])
    try:
        proof = prove(module, read_contract(contract), constants, benchmark.LIMITS)
    except (Unsupported, ProofLimitReached) as refused:
        return f"refused: {refused}"
    for _ in range(launches):
        with suppress(LookupError):  # z3 found no sizes for these wishes
            if contradiction(proof, text, drawn) is not None:
                return "CONTRADICTED"
    answers = [one for access in proof.accesses for one in (access.bounds, access.overflow)]
    verdicts = {one.verdict for one in answers if one is not None}
    return next((v for v in ("refuted", "unknown", "possible") if v in verdicts), "proved")


if __name__ == "__main__":
    sys.exit(main())

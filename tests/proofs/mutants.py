"""Breaks the kernels of the mix in usual ways, one place at a time, and proves each.

    $ .venv/bin/python -m tests.proofs.mutants --mutants 40 --seed 1 --results mutants.jsonl

`refuted` means that the CPU device confirmed it. A mutant whose access leaves its buffer in a
random launch must not be proved there. Mutants that are in the results are not tried again;
`--most` ends the process after some, as z3 keeps memory.
"""

import argparse
import ast
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from compiler.diagnostic import Failure
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.proof.prove import AccessProof
from compiler.proof.terms import SymbolicAccess, line_of
from launch.proof.witness_replay import NotReplayed
from launch.proof.witness_run import WitnessRun
from tests.proofs.random_launches import (
    ORDER,
    ProvedKernel,
    left_buffers,
    mix_requests,
    proved_kernel,
    proved_places,
)

_ACCESSES = ("load", "store", "atomic_add")
_NUMBERED = re.compile(r"([a-z]+)#\d+(?!\d)")
_SIGNS = {
    ast.FloorDiv: ("// made *", "*"),
    ast.Mod: ("% made +", "+"),
    ast.BitAnd: ("& made |", "|"),
    ast.Mult: ("* made +", "+"),
}


def mutants(source: str, kernel: str) -> Iterator[tuple[str, str, str]]:
    """Yield the kind of a change, what was changed, and the changed source."""
    functions = [one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)]
    for function in functions:
        if function.name == kernel:
            strides = [one.arg for one in function.args.args if "stride" in one.arg]
            for node in ast.walk(function):
                for kind, text in changes(node, strides):
                    before, after = ast.unparse(node), _replaced(source, node, text)
                    yield kind, f"line {node.lineno}:{node.col_offset}: {before} -> {text}", after


def changes(node: ast.AST, strides: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the changes of one place, as text."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name in _ACCESSES:
            yield from _of_access(node)
        case ast.Call():
            yield from _of_call(node, ast.unparse(node))
        case ast.Compare(left=left, ops=[ast.Lt()], comparators=[right]):
            yield "< made <=", f"{ast.unparse(left)} <= {ast.unparse(right)}"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _SIGNS:
            kind, sign = _SIGNS[type(op)]
            yield kind, f"(({ast.unparse(left)}) {sign} ({ast.unparse(right)}))"
        case ast.Name(id=name, ctx=ast.Load()) if name in strides and len(strides) > 1:
            yield "other stride", strides[(strides.index(name) + 1) % len(strides)]


def _of_access(node: ast.Call) -> Iterator[tuple[str, str]]:
    kept = [one for one in node.keywords if one.arg not in ("mask", "other")]
    if len(kept) < len(node.keywords):
        yield "mask dropped", _call(node, node.args, kept)
    for sign, op in (("+", ast.Add()), ("-", ast.Sub())):
        moved = ast.BinOp(node.args[0], op, ast.Constant(1))
        yield f"address {sign} 1", _call(node, [moved, *node.args[1:]], node.keywords)


def _of_call(node: ast.Call, text: str) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Call(func=ast.Attribute(attr="to"), args=[to]) if ast.unparse(to) == "tl.int64":
            yield "int64 removed", text.removesuffix("(tl.int64)") + "(tl.int32)"
        case ast.Call(func=ast.Attribute(attr="arange")):
            yield "arange + 1", f"({text} + 1)"
        case ast.Call(func=ast.Attribute(attr="program_id")):
            yield "program + 1", f"({text} + 1)"
        case ast.Call(func=ast.Attribute(attr="minimum")):
            yield "minimum made maximum", text.replace("minimum", "maximum", 1)
        case ast.Call(func=ast.Name(id="range"), args=[*first, end]) if len(first) <= 1:
            further = ast.BinOp(end, ast.Add(), ast.Constant(1))
            yield "a turn more", _call(node, [*first, further], [])


def _call(node: ast.Call, arguments: list[ast.expr], keywords: list[ast.keyword]) -> str:
    return ast.unparse(ast.Call(node.func, arguments, keywords))


def _replaced(source: str, node: Any, text: str) -> str:
    lines = source.splitlines(keepends=True)
    before = "".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + "".join(lines[node.end_lineno :])
    return before + text + after


def accesses_as_text(kernel: ProvedKernel) -> list[str]:
    """Return what each access reaches and when, without the numbers of unknowns."""
    texts = [
        f"{one.access.pointer if isinstance(one.access, SymbolicAccess) else one.access.reason}"
        f" {getattr(one.access, 'mask', '')} {getattr(one.access, 'path', '')}"
        for one in kernel.proof.accesses
    ]
    return [_NUMBERED.sub(r"\1", text) for text in texts]


def judged(kernel: ProvedKernel, drawn: random.Random, launches: int) -> dict[str, Any]:
    """Return the worst verdict of a mutant, why, and whether random launches contradict it."""
    answers = [
        (one, answer)
        for one in kernel.proof.accesses
        for answer in (one.bounds, one.overflow)
        if answer is not None
    ]
    found: dict[str, Any] = {"verdict": "proved"}
    broken = [(one, answer) for one, answer in answers if answer.verdict == "refuted"]
    left = [answer.reason for _, answer in answers if answer.verdict == "unknown"]
    confirmed = next((text for one in broken if (text := _confirmed(kernel, *one))), "")
    if confirmed:
        found = {"verdict": "refuted", "why": confirmed}
    elif broken:
        found = {"verdict": "possible"}
    elif left:
        found = {"verdict": "unknown", "why": sorted(set(left))}
    if confirmed:
        return found
    proved = proved_places(kernel.proof)
    for _ in range(launches):
        try:
            for one in left_buffers(kernel, drawn):
                found["left"] = f"{one.argument}[{one.element}] at line {one.place[0]}"
                if one.place in proved:
                    return found | {"verdict": "CONTRADICTED", "launch": str(one.launch)}
        except LookupError:  # no sizes were found
            continue
    return found


def _confirmed(kernel: ProvedKernel, proved: AccessProof, answer: Any) -> str:
    """Return what the CPU device saw of a refuted answer, "" where it saw nothing."""
    assert isinstance(proved.access, SymbolicAccess)
    try:
        run = WitnessRun(ORDER, kernel.text, kernel.proof, proved.access, answer)
        said = run.witness(answer.model).message
    except (NotReplayed, Failure):
        return ""
    return said and f"line {line_of(proved.access.operation)}: {said}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=40)
    parser.add_argument("--launches", type=int, default=60, help="of each that is not refuted")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--most", type=int, default=10**6, help="mutants of this process")
    given = parser.parse_args()
    given.results.touch()
    done = {json.loads(line)["id"] for line in given.results.read_text().splitlines()}
    for number, (kind, change, request, contract, benchmark) in drawn_mutants(given):
        name = f"{request['kernel']}, {kind}, {change}"
        if name in done or given.most <= 0:
            continue
        given.most -= 1
        found = {"id": name, "kernel": request["kernel"], "kind": kind, "number": number}
        found |= tried(request, contract, benchmark, given)
        print(name, found["verdict"], flush=True)
        with given.results.open("a") as file:
            file.write(json.dumps(found) + "\n")
    lines = map(json.loads, given.results.read_text().splitlines())
    counts = Counter(f"{one['kind']}: {one['verdict']}" for one in lines)
    for text, count in sorted(counts.items()):
        print(f"{count:4} {text}")
    return 1 if any("CONTRADICTED" in text for text in counts) else 0


def drawn_mutants(given: argparse.Namespace) -> Iterator[tuple[int, Any]]:
    """Yield the mutants of the run, each with its number."""
    found: list[Any] = []
    seen: set[str] = set()
    for request, benchmark, contract in mix_requests():
        if request["kernel"] in seen:
            continue
        seen.add(request["kernel"])
        for kind, change, source in mutants(request["source"], request["kernel"]):
            changed = request | {"source": source, "original": request["source"]}
            found.append((kind, change, changed, contract, benchmark))
    random.Random(given.seed).shuffle(found)
    print(f"{len(found)} mutants of {len(seen)} kernels", flush=True)
    yield from enumerate(found[: given.mutants])


def tried(request: Any, contract: str, benchmark: Any, given: argparse.Namespace) -> dict[str, Any]:
    """Compile and prove one mutant, and return what came of it."""
    constants = {n: v for n, v in request["constexprs"].items() if isinstance(v, int)}
    constants |= benchmark.ones(request["signature"])
    try:
        text = benchmark.ttir_of(request)
    except Exception as error:  # noqa: BLE001 - many changes do not compile
        return {"verdict": "does not compile", "why": type(error).__name__}
    try:
        kernel = proved_kernel(request["kernel"], text, contract, constants, benchmark.LIMITS)
    except (Unsupported, ProofLimitReached) as refused:
        return {"verdict": "refused", "why": str(refused)}
    found = judged(kernel, random.Random(f"{given.seed} {request['source']}"), given.launches)
    if found["verdict"] == "proved":
        original = proved_kernel(
            request["kernel"],
            benchmark.ttir_of(request | {"source": request["original"]}),
            contract,
            constants,
            benchmark.LIMITS,
        )
        is_same = accesses_as_text(kernel) == accesses_as_text(original)
        found["why"] = "it changes no access" if is_same else "it reaches no further element"
    return found


if __name__ == "__main__":
    sys.exit(main())

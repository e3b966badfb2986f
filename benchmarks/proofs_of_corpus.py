"""Proves kernels of PyPI packages against contracts of their tests, or guessed ones.

    $ PYTHONPATH=benchmarks:. .venv/bin/python benchmarks/proofs_of_corpus.py --most 20

Kernels are drawn and compiled as by `corpus.numpy_coverage`. Where a package's tests launch one
with several sizes, the contract is inferred from these launches, else guessed. `whole` are
kernels each of whose checks is proved, or refuted by a replay on the CPU device.
`.cache/corpus/proofs` keeps each kernel's contract and answers, so that a second call continues;
`--again` proves again. Its `kernels.jsonl` is for `tests.proofs.random_launches --kernels`.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import resource
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus.direct import DirectCompiler, made_before
from corpus.guessed_contracts import LIMITS, NOT_GUESSED, guessed_contract
from corpus.kernels import Kernel
from corpus.launch_grids import launch_grid
from corpus.packages import PACKAGES, Package, unpacked
from corpus.plans import Plan, drawn, plan_of
from corpus.test_launches import recorded
from corpus.tested_contracts import TestedContract, plan_guess, tested_contract
from deployment import ROOT

from compiler.proof.contract import ContractError
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.target import Target
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.task import generic_form
from launch.proof.proof_messages import ProofReport, ProveOrder
from launch.proof.prove_kernel import prove_kernel

CACHE = ROOT / ".cache/corpus"
RESULTS = CACHE / "proofs"
TARGET = Target("cuda", 90, 32)
CPU_S = 45
"""The most CPU time of one kernel; it is refused afterwards."""
MEMORY_BYTES = 3 << 30
MIN_WHOLE = 0.5
VERDICTS = ("proved", "refuted", "possible", "unknown")
SHOWN = 25
Record = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=20, help="kernels of each package")
    parser.add_argument("--package", action="append", help="only these packages")
    parser.add_argument("--open", action="store_true", help="no package that is held out")
    parser.add_argument("--compiled", action="store_true", help="compile no more kernels")
    parser.add_argument("--again", action="store_true", help="prove what was proved before, too")
    parser.add_argument("--undecided", action="store_true", help="prove again what is not whole")
    arguments = parser.parse_args()
    chosen = [
        package
        for package in PACKAGES
        if package.name in (arguments.package or [package.name])
        and not (arguments.open and package.held_out)
    ]
    RESULTS.mkdir(parents=True, exist_ok=True)
    by_package: dict[Package, list[Record]] = {}
    with nullcontext() if arguments.compiled else DirectCompiler(CACHE, to_ir=True) as direct:
        for package in chosen:
            by_package[package] = list(_records(package, direct, arguments))
    _show(by_package)
    _keep_kernels([record for records in by_package.values() for record in records])


def _records(
    package: Package, direct: DirectCompiler | None, arguments: argparse.Namespace
) -> Iterator[Record]:
    root = unpacked(package, CACHE)
    kernels = drawn(package, root)[: arguments.most]
    launches = recorded(package, root, kernels, CACHE, record=not arguments.compiled)
    tested = [tested_contract(launches.get((kernel.file, kernel.name), ())) for kernel in kernels]
    plans: dict[str, tuple[Kernel, TestedContract | None, Plan]] = {}
    stems: dict[str, Path | None] = {}
    # a kernel is guessed only where no test launches it, or what it launches does not compile
    for is_tested in (True, False):
        left = [pair for pair in zip(kernels, tested, strict=True) if not stems.get(pair[0].id)]
        chosen = [(kernel, contract if is_tested else None) for kernel, contract in left]
        made = {
            kernel.id: (kernel, contract, _plan(kernel, contract))
            for kernel, contract in chosen
            if contract is not None or not is_tested
        }
        own = [plan for *_, plan in made.values()]
        if direct is None:
            made_stems = made_before(CACHE / "ir" / package.name, own)
        else:
            made_stems = direct.made(package.name, root, own)
        stems |= dict(zip(made, made_stems, strict=True))
        plans |= made
    for name, (kernel, contract, plan) in plans.items():
        stem = stems[name]
        if stem is None:
            continue
        path = RESULTS / f"{hashlib.sha256(plan['id'].encode()).hexdigest()[:16]}.json"
        was_whole = path.exists() and _is_whole(_counted(path))
        if arguments.again or not path.exists() or (arguments.undecided and not was_whole):
            path.unlink(missing_ok=True)
            record = _in_child(root, kernel, plan, stem, path, contract)
            print(f"{plan['id']}: {_verdicts_text(record)}", flush=True)
        yield _counted(path)


def _plan(kernel: Kernel, contract: TestedContract | None) -> Plan:
    """Return a plan with the specialization that tests launch, or with guesses."""
    plan = plan_of(kernel)
    if contract is None:
        return plan
    return plan | {"id": f"{kernel.id} as tested", "guesses": [plan_guess(contract)]}


def _counted(path: Path) -> Record:
    """Return a record without answers that are the guess's alone."""
    record: Record = json.loads(path.read_text())
    contract = record.get("contract", "").splitlines()
    outside = {
        (answer["line"], answer["argument"])
        for answer in record["answers"]
        if (answer["check"], answer["verdict"]) == ("bounds", "refuted")
    }
    for answer in record["answers"]:
        is_guessed = f"{answer['argument']}: {NOT_GUESSED}" not in contract
        if record.get("cases"):
            place = answer["line"], answer["argument"]
            if answer["verdict"] == "refuted" and (place in outside or answer["witness"]["values"]):
                why = "the contract that tests show permits sizes or values that break it"
                answer |= {"verdict": "unknown", "reason": why}
        elif not is_guessed and (answer["check"] == "bounds" or answer["verdict"] == "refuted"):
            answer |= {"verdict": "unknown", "reason": "no size of the buffer could be guessed"}
        elif answer["verdict"] == "refuted" and answer["witness"]["values"]:
            why = "sizes break it with values of a buffer, of which only a range is guessed"
            answer |= {"verdict": "unknown", "reason": why}
    return record


def _in_child(
    root: Path, kernel: Kernel, plan: Plan, stem: Path, path: Path, tested: TestedContract | None
) -> Record:
    """Prove one kernel in a forked process with bounds, and return its record."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        try:
            path.write_text(json.dumps(_record(root, kernel, plan, stem, tested)))
        except BaseException:  # noqa: BLE001 - a forked child must not return
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != 0:
        why = "it takes too long" if code < 0 else "an error of the harness or the prover"
        cases = 0 if tested is None else tested.cases
        record = {"id": kernel.id, "cases": cases, "refused": why, "answers": []}
        path.write_text(json.dumps(record))
    return _counted(path)


def _record(
    root: Path, kernel: Kernel, plan: Plan, stem: Path, tested: TestedContract | None
) -> Record:
    compiled = json.loads(stem.with_suffix(".json").read_text())
    guess = plan["guesses"][compiled["guess"]]
    text = stem.with_suffix(".ttir").read_text()
    constants = _constants(kernel.node) | {
        name: value for name, value in guess["constexprs"].items() if type(value) is int
    }
    grid = launch_grid(root, kernel.file, kernel.node)
    record: Record = {"id": kernel.id, "ttir": str(stem.with_suffix(".ttir")), "refused": ""}
    record |= {"constants": constants, "grid": grid.axes, "answers": [], "contract": ""}
    record["cases"] = 0 if tested is None else tested.cases
    try:
        module = module_of(generic_form(text, TARGET, "ttir")[0])
        if tested is None:
            record["contract"] = guessed_contract(module, constants, grid.axes, grid.sizes)
        else:
            record["contract"] = tested.text
    except Unsupported as refusal:
        return record | {"refused": refusal.what}
    except (ProofLimitReached, ContractError) as refusal:
        return record | {"refused": str(refusal)}
    order = ProveOrder(
        target=TARGET, files=["user.py"], contract=record["contract"], constants=constants,
        checks=["bounds", "overflow"], most_size=LIMITS.size, most_elements=LIMITS.elements,
    )  # fmt: skip
    report = prove_kernel(order, text.encode(), lambda *_: None)
    return record | _answers(report)


def _constants(node: ast.FunctionDef) -> dict[str, int]:
    """Return the integer defaults of a kernel's parameters."""
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = zip(positional[::-1], node.args.defaults[::-1], strict=False)
    return {
        argument.arg: value.value
        for argument, value in defaults
        if isinstance(value, ast.Constant) and type(value.value) is int
    }


def _answers(report: ProofReport) -> Record:
    answers: list[Record] = [
        {
            "line": access.line, "argument": access.argument, "kind": access.kind, "check": check,
            "verdict": answer.verdict, "reason": answer.reason, "expression": answer.expression,
            "witness": None if answer.witness is None else asdict(answer.witness),
        }
        for access in report.accesses
        for check, answer in access.answers.items()
    ]  # fmt: skip
    mistake = report.contract_error
    refused = report.refused or ("" if mistake is None else f"contract: {mistake.message}")
    return {"answers": answers, "refused": refused, "solver_ms": report.solver_ms}


def _is_whole(record: Record) -> bool:
    decided = all(answer["verdict"] in ("proved", "refuted") for answer in record["answers"])
    return decided and not record["refused"] and bool(record["answers"])


def _verdicts(record: Record) -> Counter[str]:
    return Counter(answer["verdict"] for answer in record["answers"])


def _verdicts_text(record: Record) -> str:
    whole = "whole" if _is_whole(record) else "not whole"
    return record["refused"] or f"{whole}, {dict(_verdicts(record))}"


def _show(by_package: dict[Package, list[Record]]) -> None:
    names = ["package", "its tests", "kernels", "contracts from tests, whole",
             "guessed contracts, whole", *VERDICTS, "refused"]  # fmt: skip
    print(f"\n| {' | '.join(names)} |\n{'|---' * len(names)}|")
    for package, records in by_package.items():
        print(_row(package.name, package.tests.partition(":")[0] or "none", records))
    for label, held_out in (("**open**", False), ("**held out**", True)):
        records = [
            record for p, group in by_package.items() if p.held_out is held_out for record in group
        ]
        if records:
            print(_row(label, "", records))
            share = sum(map(_is_whole, records)) / len(records)
            verdict = "met" if share >= MIN_WHOLE else "NOT MET"
            print(f"whole: {100 * share:.0f} %, at least {100 * MIN_WHOLE:.0f} %: {verdict}")
    every = [record for group in by_package.values() for record in group]
    reasons = Counter[str]()
    for record in every:
        whys = {
            _kind(answer["reason"])
            for answer in record["answers"]
            if answer["verdict"] == "unknown"
        }
        whys |= {"possible: " + _kind(answer["reason"]) for answer in record["answers"]
                 if answer["verdict"] == "possible"}  # fmt: skip
        reasons.update(whys or ({_kind(record["refused"])} if record["refused"] else set()))
    print("\n| kernels | not decided, since |\n|---|---|")
    for why, count in reasons.most_common(SHOWN):
        print(f"| {count} | {why} |")


def _row(name: str, tests: str, records: list[Record]) -> str:
    counts = sum((_verdicts(record) for record in records), Counter[str]())
    refused = sum(bool(record["refused"]) for record in records)
    tested = [record for record in records if record.get("cases")]
    guessed = [record for record in records if not record.get("cases")]
    whole = [f"{len(group)}, {sum(map(_is_whole, group))}" for group in (tested, guessed)]
    cells = [tests, len(records), *whole, *(counts[verdict] for verdict in VERDICTS), refused]
    return f"| {name} | {' | '.join(map(str, cells))} |"


def _kind(reason: str) -> str:
    """Return a reason without names and lines."""
    reason = re.sub(r"line \d+", "a line", reason)
    return re.sub(r"the values of \w+", "the values of a buffer", reason)[:160]


def _keep_kernels(records: list[Record]) -> None:
    """Write the kernels with a proof for random launches."""
    with (RESULTS / "kernels.jsonl").open("w") as file:
        for record in records:
            if _verdicts(record)["proved"] and not record["refused"]:
                kept = {
                    "name": record["id"],
                    "ttir": record["ttir"],
                    "contract": record["contract"],
                }
                kept |= {"constants": record["constants"], "most_size": LIMITS.size}
                file.write(json.dumps(kept | {"most_elements": LIMITS.elements}) + "\n")


if __name__ == "__main__":
    sys.exit(main())

"""A proving child that was taken over sends anything: it is a valid report, or none."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import pytest

from launch.proof.proof_messages import ProofReport
from proofs.proof_job import new_proof
from proofs.proof_record import Proof
from proofs.worker.proof_answers import proved_accesses, verdict_of
from proofs.worker.proof_report import read_proof_report
from proofs.worker.proposed_fix import TriedFix
from tests.proofs.worker.test_witnesses import KEY, job_of, report_of_stores, stores
from worker.compile.reports import Malformed

FORGED: list[Any] = [
    None, True, -1, 0, 2**70, 10**4000, 1e308, 1.5, "", "x", "inf", "nan", "1", "7" * 5000,
    "é" * 5000, [], [[]], {}, {"x": {}}, [0] * 5000,
]  # fmt: skip


@pytest.fixture(scope="module")
def sent() -> dict[str, Any]:
    report = asdict(report_of_stores(2, proposes=True))
    report["accesses"].append(json.loads(json.dumps(report["accesses"][0])))
    for access in report["accesses"]:
        for answer in access["answers"].values():
            if answer["witness"] is not None:
                answer["witness"]["values"] = {"x_ptr": {"3": 4}}
                answer["witness"]["other_program"] = [0]
    return json.loads(json.dumps(report))


def record_of(sent: dict[str, Any]) -> Proof:
    """Return what the worker makes of a report. Raises Malformed."""
    report = read_proof_report(sent)
    again = read_proof_report(json.dumps(asdict(report)).encode())
    accesses = proved_accesses(again, job_of(stores(2)), KEY, TriedFix())
    known = {"solver_ms": again.solver_ms, "effort": again.effort}
    job = job_of(stores(2))
    return new_proof(job, "completed", verdict=verdict_of(accesses), accesses=accesses, **known)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    for name, item in inner:
        yield from places(item, (*path, name))


def changed(sent: Any, path: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    made = copy.deepcopy(sent)
    at = made
    for name in path[:-1]:
        at = at[name]
    change(at, path[-1])
    return made


def test_the_child_s_own_report_has_a_record(sent: dict[str, Any]) -> None:
    record = record_of(sent)

    assert record.verdict == "refuted"
    assert any(one.bounds and one.bounds.witness for one in record.accesses)


def test_any_change_of_a_report_is_a_report_or_refused(sent: dict[str, Any]) -> None:
    refused, valid = 0, 0
    for path in places(sent):
        if not path:
            continue
        made = [
            changed(sent, path, lambda at, name, value=value: at.__setitem__(name, value))
            for value in FORGED
        ]
        made.append(changed(sent, path, lambda at, name: at.__delitem__(name)))
        if isinstance(path[-1], str):
            made += [
                changed(sent, path, lambda at, name, new=new: at.__setitem__(new, at.pop(name)))
                for new in ("x", "-1", "7" * 5000, "é" * 5000)
            ]
        for forged in made:
            try:
                record = record_of(forged)
            except Malformed:
                refused += 1
                continue
            valid += 1
            written = record.model_dump_json()
            assert Proof.model_validate_json(written).model_dump_json() == written
            assert len(written) < 1_000_000
    assert refused > 1_000
    assert valid > 400


MISTAKE = {"message": "x", "line": 1, "column": 1}
FAULTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "half of a character": lambda sent: {"refused": "\ud800"},
    "a mistake without a place": lambda sent: {"contract_error": {"message": "x"}},
    "a mistake with another member": lambda sent: {"contract_error": MISTAKE | {"x": 1}},
    "a long mistake": lambda sent: {"contract_error": MISTAKE | {"message": "x" * 5000}},
    "endless time": lambda sent: {"solver_ms": "inf"},
    "no number of milliseconds": lambda sent: {"solver_ms": "nan"},
    "negative effort": lambda sent: {"effort": -1},
    "many long proposals": lambda sent: {
        "accesses": [
            sent["accesses"][0]
            | {
                "answers": {
                    name: answer | {"proposals": ["x" * 400_000] * 9}
                    for name, answer in sent["accesses"][0]["answers"].items()
                }
            }
        ]
    },
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_no_prover_sends_is_refused(sent: dict[str, Any], name: str) -> None:
    with pytest.raises(Malformed):
        read_proof_report(sent | FAULTS[name](sent))


def test_a_report_of_real_proofs_stays_as_it_is() -> None:
    report: ProofReport = report_of_stores(2, proposes=True)

    assert read_proof_report(json.loads(json.dumps(asdict(report)))) == report

"""A receipt is judged again by an example, which compares each statement with its own run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from base64 import b64decode, b64encode
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from tests.programs.with_torch.evaluating import evaluate
from tests.programs.with_torch.test_program_verdicts import REFERENCE, SOURCE

SCRIPT = Path(__file__).parents[3] / "examples/rejudge.py"


@pytest.fixture(scope="module")
def rejudge() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rejudge", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def receipt(programs: httpx.Client, source: str) -> bytes:
    program = evaluate(programs, source, REFERENCE, seed=7, trials=2)
    return programs.get(f"{program['url']}/receipt").content


def public_key(programs: httpx.Client) -> str:
    key: str = programs.get("/v1/system").json()["receipt_key"]["public"]
    return key


def as_run(signed: dict[str, Any]) -> dict[str, Any]:
    """Return a receipt's payload as the result of a run here."""
    return signed | {"tapes": {whose: tape["digest"] for whose, tape in signed["tapes"].items()}}


def test_an_equal_run_repeats_every_statement(programs: httpx.Client, rejudge: ModuleType) -> None:
    key = public_key(programs)
    signed = rejudge.verified(receipt(programs, SOURCE), key)
    again = rejudge.verified(receipt(programs, SOURCE), key)

    outcomes = {one.name: one.outcome for one in rejudge.compared(signed, as_run(again))}

    assert outcomes.pop("coverage") == "not repeated"
    assert set(outcomes.values()) == {"repeated"}, outcomes
    assert {"values of the candidate", "values of the reference", "verdict"} <= outcomes.keys()
    calls = {(value["trial"], value["call"]) for value in signed["values"]}
    assert calls == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert signed["job"]["seed"] == 7


def test_another_program_differs_where_it_does(programs: httpx.Client, rejudge: ModuleType) -> None:
    key = public_key(programs)
    signed = rejudge.verified(receipt(programs, SOURCE), key)
    wrong = rejudge.verified(receipt(programs, SOURCE.replace("x + y, mask", "x - y, mask")), key)

    compared = list(rejudge.compared(signed, as_run(wrong)))

    differing = {one.name for one in compared if one.outcome == "DIFFERS"}
    assert {"verdict", "values of the candidate", "kernel add_kernel"} <= differing
    assert "values of the reference" not in differing


def test_a_changed_receipt_is_none(programs: httpx.Client, rejudge: ModuleType) -> None:
    text = receipt(programs, SOURCE)
    envelope = json.loads(text)
    payload = b64decode(envelope["payload"]).replace(b"passed", b"failed")
    forged = envelope | {"payload": b64encode(payload).decode()}

    with pytest.raises(rejudge.NoReceipt, match="not one of this key"):
        rejudge.verified(json.dumps(forged).encode(), public_key(programs))


@pytest.mark.slow
def test_the_example_judges_without_a_service(programs: httpx.Client, tmp_path: Path) -> None:
    (tmp_path / "receipt.json").write_bytes(receipt(programs, SOURCE))

    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "receipt.json", "--key", public_key(programs)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "repeated     values of the candidate: 4 of 4 equal bit for bit" in done.stdout

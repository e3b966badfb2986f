"""Examples of answers for the API's documentation, built from the record classes."""

from typing import Any

import orjson

from proofs.proof_record import Proof, ProofAnswer, ProofReplay, ProvedAccess, proof_url
from proofs.proof_request import ADD_CONTRACT

_ID = "5f0c8a2e9b7d41c3a6e8f1027b3d9c54"
_KEY = "9d2f1c0b7a6e5d4c3b2a19080706f5e4d3c2b1a09f8e7d6c5b4a392817060504"
_UNDER = ["grid", "scalars and sizes are at least 1", "x_ptr: its extent"]


def _answer(proof: Proof) -> Any:
    return orjson.loads(proof.model_dump_json())


def _proof(verdict: Any, *accesses: ProvedAccess, contract: str = ADD_CONTRACT) -> Proof:
    return Proof(
        id=_ID,
        url=proof_url(_ID),
        state="completed",
        verdict=verdict,
        contract=contract,
        compilation_key=_KEY,
        kernel="add_kernel",
        target="cuda:90",
        accesses=list(accesses),
        cache="miss",
        solver_ms=41.8,
        effort=21_402,
        timings_ms={"queue": 1.2, "compile": 88.1, "run": 61.0, "total": 150.3},
    )


_PROVED = ProvedAccess(
    file="user.py",
    line=9,
    column=17,
    argument="x_ptr",
    kind="load",
    bounds=ProofAnswer(verdict="proved", proved_under=_UNDER),
    overflow=ProofAnswer(verdict="proved", proved_under=_UNDER),
)
_SHORT = ADD_CONTRACT.replace("output_ptr: n_elements", "output_ptr: n_elements - 1")
_REFUTED = ProvedAccess(
    file="user.py",
    line=11,
    column=5,
    argument="output_ptr",
    kind="store",
    bounds=ProofAnswer(
        verdict="refuted",
        expression="1024 * program#x + lane0#1024",
        witness={
            "compilation_key": _KEY,
            "arguments": {
                "x_ptr": {"shape": [1], "dtype": "fp32", "init": {"kind": "zeros"}},
                "y_ptr": {"shape": [1], "dtype": "fp32", "init": {"kind": "zeros"}},
                "output_ptr": {"shape": [0], "dtype": "fp32", "output": True},
                "n_elements": 1,
            },
            "grid": [1, 1, 1],
            "device": "cpu",
        },
        replay=ProofReplay(
            message="writes output_ptr[0] of 0 elements",
            program=[0, 0, 0],
            grid=[1, 1, 1],
            sizes={"n_elements": 1},
            index=0,
        ),
    ),
)
ANSWERS = {
    "proved for all sizes": _answer(_proof("proved", _PROVED)),
    "refuted, with the smallest size": _answer(_proof("refuted", _REFUTED, contract=_SHORT)),
}
UNDER_WAY = {
    "queued": _answer(
        Proof(id=_ID, url=proof_url(_ID), state="queued", queue_position=1, contract=ADD_CONTRACT)
    )
}
CANCELLED = {
    "cancelled": _answer(
        Proof(id=_ID, url=proof_url(_ID), state="cancelled", contract=ADD_CONTRACT)
    )
}

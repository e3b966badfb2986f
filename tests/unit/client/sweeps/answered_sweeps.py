"""Answers of the service to requests for sweeps and inspections."""

from typing import Any

ROW = {
    "index": 0,
    "values": {"constexprs.BLOCK": 64, "target": "cuda:90"},
    "state": "succeeded",
    "compilation_key": "ab" * 32,
    "registers": 32,
    "occupancy": 0.5,
}


def sweep(state: str = "completed", **members: Any) -> dict[str, Any]:
    """Return the JSON of a sweep with one row, as the service writes it."""
    return {
        "id": "5eep",
        "url": "/v1/sweeps/5eep",
        "state": state,
        "kind": "compilations",
        "axes": [
            {"name": "constexprs.BLOCK", "values": [64]},
            {"name": "target", "values": ["cuda:90"]},
        ],
        "counts": {"succeeded": 1},
        "total": 1,
        "matched": 1,
        "rows": [ROW],
        "winners": [],
        "pruned": {},
        "note": None,
        "problem": None,
    } | members


def inspection(**parameters: bool) -> dict[str, Any]:
    """Return the inspection of a kernel; the caller chooses which parameters are constexprs."""
    facts = [{"name": name, "constexpr": is_it} for name, is_it in parameters.items()]
    return {"state": "succeeded", "kernels": [{"name": "k", "parameters": facts}]}

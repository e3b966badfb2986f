"""A small tape as a recorder sends it, for tests to read and corrupt: `add(x, y)` in Triton."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def vector_add() -> Json:
    """`ModelNew.forward` allocates an output and launches one kernel that adds its two inputs."""
    x = ["fp32", "cuda", [1024], [1], 0]
    launch = {
        "op": "launch",
        "kernel": "k0",
        "grid": [4, 1, 1],
        "constexprs": {"BLOCK": 256},
        "options": {"num_warps": 4},
    }
    return {
        "tape": 1,
        "torch": "2.13.0",
        "tensors": [[*x, storage] for storage in range(6)],
        "storages": [4096] * 6,
        "kernels": {
            "k0": {
                "file": "user.py",
                "name": "add_kernel",
                "line": 5,
                "parameters": [
                    {"name": "x", "constexpr": False},
                    {"name": "y", "constexpr": False},
                    {"name": "out", "constexpr": False},
                    {"name": "n", "constexpr": False},
                    {"name": "BLOCK", "constexpr": True},
                ],
            }
        },
        "constants": {},
        "seed": 42,
        "inputs": [{"t": 0}, {"t": 1}],
        "inputs2": [{"t": 3}, {"t": 4}],
        "params": [],
        "outputs": {"t": 2},
        "outputs2": {"t": 5},
        "ops": [
            empty(2, "run"),
            {**launch, "args": added(0, 1, 2), "phase": "run", "line": "user.py:20"},
            empty(5, "run2"),
            {**launch, "args": added(3, 4, 5), "phase": "run2", "line": "user.py:20"},
        ],
    }


def empty(output: int, phase: str) -> Json:
    return {
        "op": "aten.empty_like.default",
        "a": [{"t": 0 if phase == "run" else 3}],
        "o": [output],
        "phase": phase,
        "line": "user.py:18",
    }


def added(x: int, y: int, out: int) -> Json:
    return {"x": {"t": x}, "y": {"t": y}, "out": {"t": out}, "n": 1024}


def sent(tape: Any) -> bytes:
    return json.dumps(tape).encode()

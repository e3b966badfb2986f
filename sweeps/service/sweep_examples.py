"""Example answers for sweeps and their winners, for the API's documentation."""

from typing import Any

import orjson

from compiler.compilation import compilation_url
from compiler.problem import failure_problem
from launch.request.launch_record import launch_url
from sweeps.row import SweepRow
from sweeps.search.pruned import Pruned, Reason
from sweeps.search.winning import Winner
from sweeps.sweep_job import sweep_url
from sweeps.sweep_record import AxisOfTable, Sweep
from sweeps.table import as_csv

_ID = "8c1d5e0f4b7a4926b3f8a1c27de05936"
_LAUNCH = "3b9f60d1c58e4e07a2d4716f0c9be582"
_KEY = "4e1f0a9b8c7d6e5f40312233445566778899aabbccddeeff0011223344556677"
_NUM_WARPS = "options.num_warps"
_BLOCK_SIZE = "constexprs.BLOCK_SIZE"


def _values(block_size: int, num_warps: int) -> dict[str, Any]:
    return {_BLOCK_SIZE: block_size, _NUM_WARPS: num_warps}


def _of(rows: list[SweepRow], axis: str) -> list[Any]:
    return list(dict.fromkeys(row.values[axis] for row in rows))


def _sweep(kind: str, state: str, rows: list[SweepRow], **further: Any) -> dict[str, Any]:
    """Return a sweep as it is answered; its rows are built as real ones are."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    sweep = Sweep.model_validate(
        {
            "id": _ID,
            "url": sweep_url(_ID),
            "state": state,
            "kind": kind,
            "axes": [
                AxisOfTable(name=_BLOCK_SIZE, values=_of(rows, _BLOCK_SIZE)),
                AxisOfTable(name=_NUM_WARPS, values=_of(rows, _NUM_WARPS)),
            ],
            "counts": counts,
            "total": len(rows),
            "matched": len(rows),
            "rows": rows,
            **further,
        }
    )
    return sweep.model_dump(mode="json") | {"rows": [orjson.loads(row.to_json()) for row in rows]}


_COMPILED = SweepRow(
    index=0,
    values=_values(512, 4),
    state="succeeded",
    compilation_key=_KEY,
    compilation_url=compilation_url(_KEY),
    cache="miss",
    registers=20,
    spill_store_bytes=0,
    spill_load_bytes=0,
    shared_bytes=0,
    occupancy=1.0,
    code_bytes=7512,
    compile_ms=362.1,
)
_REFUSED = SweepRow(
    index=1,
    values=_values(1000, 4),
    state="failed",
    compilation_key=_KEY[::-1],
    compilation_url=compilation_url(_KEY[::-1]),
    cache="miss",
    problem=failure_problem("compile_error", "user.py:7:34: arange's range must be a power of 2"),
)
_TIMED = SweepRow(
    index=0,
    values=_values(512, 4),
    state="completed",
    compilation_key=_KEY,
    compilation_url=compilation_url(_KEY),
    registers=20,
    launch_id=_LAUNCH,
    launch_url=launch_url(_LAUNCH),
    verdict="passed",
    median_us=6.1,
    interval_us=(6.0, 6.2),
    repeats=160,
)
_PRUNED = SweepRow(
    index=1,
    values=_values(1024, 8),
    state="pruned",
    pruned=Pruned(reason=Reason.SLOWER, detail="its round was won by others").model_dump(),
)
_WINNER = Winner(
    problem_size=None,
    target="cuda:90",
    variant=0,
    values=_values(512, 4),
    compilation_key=_KEY,
    launch_id=_LAUNCH,
    launch_url=launch_url(_LAUNCH),
    median_us=6.1,
    interval_us=(6.0, 6.2),
    verified=True,
)

OVER: dict[str, Any] = {
    "compilations": _sweep("compilations", "completed", [_COMPILED, _REFUSED]),
    "launches, searched": _sweep(
        "launches", "completed", [_TIMED, _PRUNED], winners=[_WINNER], pruned={"slower": 1}
    ),
}
UNDER_WAY: dict[str, Any] = {
    "running": _sweep(
        "compilations", "running", [_COMPILED, SweepRow(1, _values(1024, 4), "running")]
    ),
}
CANCELLED: dict[str, Any] = {
    "what was left is cancelled": _sweep(
        "compilations", "cancelled", [_COMPILED, SweepRow(1, _values(1024, 4), "cancelled")]
    ),
}
CSV = as_csv([orjson.loads(_COMPILED.to_json())], [_BLOCK_SIZE, _NUM_WARPS])
WINNERS: dict[str, Any] = {
    "sweep": sweep_url(_ID),
    "winners": [
        {
            **_WINNER.model_dump(mode="json"),
            "options": {"num_warps": 4, "num_stages": 3, "num_ctas": 1},
            "request": {
                "compilation": {
                    "source": "...",
                    "constexprs": {"BLOCK_SIZE": 512},
                    "target": "cuda:90",
                    "options": {"num_warps": 4},
                },
                "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
                "arguments": {"n_elements": 98432},
            },
        }
    ],
    "without": [],
}
TRITON_CONFIG = f"""\
# Winners of {sweep_url(_ID)}, for `@triton.autotune(configs=configs, ...)`.
import triton

configs = [
    # the one size on cuda:90: 6.1 us, the median lies from 6 to 6.2
    #   no other variant could have won; verified against the reference
    triton.Config({{'BLOCK_SIZE': 512}}, num_warps=4),
]
"""
WAITING: dict[str, Any] = {"state": "running", "url": f"{sweep_url(_ID)}/winners/autotune-cache"}

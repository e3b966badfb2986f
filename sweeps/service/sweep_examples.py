"""Examples of sweeps and their winners for the API's documentation: the files in `examples`."""

from pathlib import Path
from typing import Any

import orjson

from service.http.examples import answers, example
from sweeps.sweep_record import Sweep
from sweeps.table import as_csv

_FOLDER = Path(__file__).parent / "examples"


def _answer(sweep: Sweep) -> dict[str, Any]:
    """Return a sweep as it is answered: its rows are kept as JSON, which has fewer nulls."""
    rows = [orjson.loads(row.to_json()) for row in sweep.rows]
    return sweep.model_dump(mode="json") | {"rows": rows}


OVER = answers(_FOLDER / "over.json", Sweep, _answer)
UNDER_WAY = answers(_FOLDER / "unfinished.json", Sweep, _answer)
CANCELLED = answers(_FOLDER / "cancelled.json", Sweep, _answer)
_ROWS = OVER["compilations"]["rows"][:1]
CSV = as_csv(_ROWS, list(_ROWS[0]["values"]))
WINNERS = example(_FOLDER / "winners.json")
WAITING = example(_FOLDER / "waiting.json")
TRITON_CONFIG = (_FOLDER / "triton-config.txt").read_text()

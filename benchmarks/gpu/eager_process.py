"""Runs eager torch in a separate process, as the baseline for benchmarks of programs."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class EagerProcess:
    """Runs eager_models.py, restarting it whenever a model ends it."""

    def __init__(self, limit_s: float) -> None:
        self._until = time.monotonic() + limit_s

    def reported(self, models: Sequence[dict[str, Any]], repeats: int) -> dict[str, dict[str, Any]]:
        """Return the results of eager_models.py by name; continue after a model that ends it."""
        results: dict[str, dict[str, Any]] = {}
        left = list(models)
        while left and (seconds := self._until - time.monotonic()) > 0:
            output = self._output({"models": left, "repeats": repeats, "limit_s": seconds}, seconds)
            new = [json.loads(line) for line in output.splitlines() if line.startswith('{"name"')]
            results |= {result["name"]: result for result in new}
            left = left[len(new) :]
            if left and self._until > time.monotonic():
                results[left[0]["name"]] = {"error": "it ended the process"}
                left = left[1:]
        return results

    @staticmethod
    def _output(request: dict[str, Any], seconds: float) -> str:
        script = str(Path(__file__).with_name("eager_models.py"))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "request.json")
            path.write_text(json.dumps(request))
            try:
                done = subprocess.run([sys.executable, script, str(path)], stdout=subprocess.PIPE,
                                      text=True, timeout=seconds + 10, check=False)  # fmt: skip
            except subprocess.TimeoutExpired as late:
                return (late.stdout or b"").decode()
        return done.stdout

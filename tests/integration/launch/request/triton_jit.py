"""The process of `jit.py`: how Triton's own JIT specializes launches."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.integration.compiler.triton_compile import TritonProcess
from tests.integration.launch.request.generated import Launch

HERE = Path(__file__).parent


class TritonJit(TritonProcess):
    """Use it with `with`."""

    def __init__(self) -> None:
        super().__init__(HERE / "jit.py", sys.executable, PYTHONPATH=str(HERE.parents[3]))

    def specialized(
        self, source: str, launches: list[Launch], target: tuple[Any, ...], folder: Path
    ) -> dict[str, Any]:
        request = {
            "source": source,
            "folder": str(folder),
            "target": target,
            "launches": [{"kernel": one.kernel, "arguments": one.jit} for one in launches],
        }
        return self.answer(request)

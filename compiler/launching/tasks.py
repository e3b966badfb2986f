"""The tasks of launches that a child can run, and what their zygote does before it forks.

`interpret` and `reference` execute user Python and belong into children of profile `front`;
`compare` executes none and belongs into `cut`. Their zygote needs `environment.ENVIRONMENT`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.launching.comparison import compare
from compiler.launching.interpret import interpret
from compiler.launching.reference import reference
from compiler.launching.warming import touch, warm_up

__all__ = ["TASKS", "Send", "Task", "touch", "warm_up"]

Send = Callable[[dict[str, Any], bytes], None]
Task = Callable[[dict[str, Any], bytes, Send], dict[str, Any]]

TASKS: dict[str, Task] = {"interpret": interpret, "reference": reference, "compare": compare}

"""Replay tasks in which one ATen op kills the process, like a bug in it would."""

from __future__ import annotations

import ctypes
from typing import Any

from programs.replay import operators, replay_tasks

TASKS, libraries, prewarm = replay_tasks.TASKS, replay_tasks.libraries, replay_tasks.prewarm
DEADLY = "aten.neg.default"
_overload = operators._callable


def _deadly(name: str, device: Any) -> Any:
    if name == DEADLY and device.type == "cpu":
        ctypes.string_at(0)
    return _overload(name, device)


def warm_up() -> None:
    """Prepare as usual, and install the crash."""
    replay_tasks.warm_up()
    operators._callable = _deadly  # type: ignore[assignment]

"""The names of the lanes that jobs queue in; submitters and workers agree on them here."""

from typing import Final

INSPECT: Final = "inspect:"
LAUNCH: Final = "launch:"
DERIVE: Final = "derive:"


def compile_lane(toolchain_id: str) -> str:
    """Return the lane of compile jobs that need this toolchain."""
    return f"compile:{toolchain_id}"


def inspect_lane(toolchain_id: str) -> str:
    """Return the lane of inspections, done by this toolchain's Python."""
    return f"{INSPECT}{toolchain_id}"


def interpreter_lane(toolchain_id: str) -> str:
    """Return the lane of launches on this toolchain's CPU interpreter."""
    return f"{LAUNCH}interpreter:{toolchain_id}"


def device_lane(target: str, model: str) -> str:
    """Return the lane of launches on one class of GPUs."""
    return f"{LAUNCH}{target} {model}"


def torch_lane(lane: str) -> str:
    """Return the lane of those launches of `lane` whose references need torch."""
    return f"{lane}:torch"


def derive_lane(toolchain_id: str) -> str:
    """Return the lane of what is derived with this toolchain from its compilations."""
    return f"{DERIVE}{toolchain_id}"


def kind_of(lane: str) -> str:
    """Return what the jobs of a lane are: compile, inspect, launch or derive."""
    return lane.partition(":")[0]

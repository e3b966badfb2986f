"""Findings on timed runs that went wrong after a correct first run, and on module state.

Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from launch.messages import Finding
from launch.request.launch_record import Output
from worker.gpu.timing_integrity.timed_iteration import TimedIteration

STATE_KEPT = "state_kept"
MISMATCH = "mismatch"
NONDETERMINISTIC = "nondeterministic"


def of_mismatch(
    iteration: TimedIteration, outputs: Mapping[str, Output], output_bytes: int, *, is_changed: bool
) -> Finding | None:
    """Return the finding for a timed run whose outputs do not match; None if they match.

    `output_bytes` is the size of all outputs. `is_changed` is true if global variables of the
    module changed during the runs.
    """
    wrong = {name: output.comparison for name, output in outputs.items() if output.comparison}
    wrong = {
        name: comparison
        for name, comparison in wrong.items()
        if comparison.compared and not comparison.matches
    }
    if not wrong:
        return None
    name, comparison = next(iter(wrong.items()))
    kind, why = _explained(iteration, output_bytes, is_changed=is_changed)
    first = comparison.first_mismatch
    place = ""
    if first is not None:
        index = ", ".join(map(str, first.index))
        place = f" {name}[{index}] is {first.actual}, not {first.expected};"
    message = (
        f"{_which(iteration)} does not match the reference, although the first run does:{place} "
        f"{comparison.mismatched} of {comparison.compared} elements of {name} are wrong. {why}"
        f"{_how_to_see(iteration)}"
    )
    return Finding(
        kind=kind,
        argument=name,
        index=first.index if first is not None else None,
        message=message,
        measure={"repeat": iteration.repeat, "mismatched": comparison.mismatched},
        seeds=dict(iteration.seeds) or None,
    )


def of_left_out(iteration: TimedIteration) -> Finding:
    """Return the finding that a run skipped writes of the first one, without a reference."""
    message = f"{_which(iteration)} did not write {_left(iteration)}.{_how_to_see(iteration)}"
    seeds = dict(iteration.seeds) or None
    return Finding(kind=STATE_KEPT, message=message, seeds=seeds)


def _explained(
    iteration: TimedIteration, output_bytes: int, *, is_changed: bool
) -> tuple[str, str]:
    """Return the kind of finding, and the reason for it."""
    if iteration.equals_first and iteration.seeds:
        why = "Its outputs equal those of the first run, although its inputs differ: it reuses an "
        why += "earlier result."
        return STATE_KEPT, why
    if iteration.left_bytes and (
        iteration.differing_bytes or 2 * iteration.left_bytes >= output_bytes
    ):
        return STATE_KEPT, f"It did not write {_left(iteration)}: some runs skip their work."
    if iteration.seeds and iteration.differing_bytes:
        why = (
            "A freshly loaded copy of the kernel computes other outputs from the same inputs: the "
            "kernel keeps state between runs, or its programs race (see the check determinism)."
        )
        return STATE_KEPT, why
    if iteration.seeds:
        why = (
            "A freshly loaded copy of the kernel computes the same from these inputs: the kernel "
            "keeps no state, but is wrong for these values."
        )
        if iteration.left_bytes:
            why += f" It did not write {_left(iteration)}."
        return MISMATCH, why
    if is_changed:
        why = "Its inputs equal those of the first run, but global variables of the module changed."
        return STATE_KEPT, why
    why = "Its inputs equal those of the first run: programs race, or the kernel keeps state."
    return NONDETERMINISTIC, why


def _which(iteration: TimedIteration) -> str:
    return f"Timed run {iteration.repeat}" if iteration.repeat >= 0 else "A warm-up run"


def _left(iteration: TimedIteration) -> str:
    count = iteration.left_bytes
    return f"{count} {'byte' if count == 1 else 'bytes'} of its outputs that the first run wrote"


def _how_to_see(iteration: TimedIteration) -> str:
    if not iteration.seeds:
        return ""
    seeds = ", ".join(f"{name} {seed}" for name, seed in iteration.seeds.items())
    return f" To get its inputs, launch with these seeds: {seeds}."


_MAX_LISTED = 8
_HEAP = (
    "The kernel allocates on the device's heap, which outlives a run, so a run can see data of "
    "earlier runs. Pass the memory as an argument instead."
)


def of_module(state: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings for state that a module could keep between runs, as a launcher reports it.

    `sources` are the posted texts by file; findings point to the first line with a variable's name.
    """
    if state.get("problem"):
        message = f"Cannot determine what the kernel keeps between runs: {state['problem']}."
        yield Finding(kind=STATE_KEPT, message=message)
    for variable in (state.get("variables") or [])[:_MAX_LISTED]:
        yield _of_variable(variable, sources)
    if unnamed := state.get("unnamed_bytes"):
        message = f"The kernel's module has {unnamed} bytes of unnamed global memory."
        yield Finding(kind=STATE_KEPT, message=f"{message} {_ADVICE}")
    if state.get("uses_heap"):
        yield Finding(kind=STATE_KEPT, message=_HEAP)


def is_changed(state: Mapping[str, Any]) -> bool:
    """Return True if a variable of the module changed while the kernel ran."""
    return any(variable["changed"] for variable in state.get("variables") or [])


_ADVICE = (
    "A run can leave results there for the next one to reuse. Pass such memory as an argument."
)
_CHANGED = {
    True: "which the runs of this launch changed",
    False: "which the runs of this launch did not change",
    None: "which was not checked for changes",
}


def _of_variable(variable: Mapping[str, Any], sources: Mapping[str, str]) -> Finding:
    name, size = str(variable["name"]), int(variable["size_bytes"])
    file, line = _place(name, sources)
    bytes_ = "1 byte" if size == 1 else f"{size} bytes"
    message = (
        f"The kernel has a global variable {name} of {bytes_}, {_CHANGED[variable['changed']]}. "
        f"{_ADVICE}"
    )
    return Finding(kind=STATE_KEPT, argument=None, file=file, line=line, message=message)


def _place(name: str, sources: Mapping[str, str]) -> tuple[str | None, int | None]:
    """Return the file and line of the first occurrence of `name`, None for both without any."""
    for file, text in sources.items():
        at = text.find(name) if name else -1
        if at >= 0:
            return file, text.count("\n", 0, at) + 1
    return None, None

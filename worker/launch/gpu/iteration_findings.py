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
    """Return what a repeat whose outputs, of so many bytes, do not match shows; None if they do.

    `is_changed`: whether global variables of the module changed while it ran.
    """
    wrong = {name: one.comparison for name, one in outputs.items() if one.comparison}
    wrong = {name: one for name, one in wrong.items() if one.compared and not one.matches}
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
        f"{_which(iteration)} does not match the reference, though the first run does:{place} "
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
    """Return that a run left out what the first one wrote, where no reference says more."""
    message = f"{_which(iteration)} did not write {_left(iteration)}.{_how_to_see(iteration)}"
    seeds = dict(iteration.seeds) or None
    return Finding(kind=STATE_KEPT, message=message, seeds=seeds)


def _explained(
    iteration: TimedIteration, output_bytes: int, *, is_changed: bool
) -> tuple[str, str]:
    """Return the kind of finding, and why it is of that kind."""
    if iteration.equals_first and iteration.seeds:
        why = "It left what the first run left, though its inputs are others: an earlier result."
        return STATE_KEPT, why
    if iteration.left_bytes and (
        iteration.differing_bytes or 2 * iteration.left_bytes >= output_bytes
    ):
        return STATE_KEPT, f"It did not write {_left(iteration)}: some runs leave out their work."
    if iteration.seeds and iteration.differing_bytes:
        why = (
            "A freshly loaded copy of the kernel makes something else of the same inputs: it keeps "
            "something from run to run, or its programs race (see the check determinism)."
        )
        return STATE_KEPT, why
    if iteration.seeds:
        why = (
            "A freshly loaded copy of the kernel makes the same of these inputs: it keeps nothing, "
            "but is wrong for these values."
        )
        if iteration.left_bytes:
            why += f" It did not write {_left(iteration)}."
        return MISMATCH, why
    if is_changed:
        why = "Its inputs are those of the first run, and variables of the module changed."
        return STATE_KEPT, why
    why = "Its inputs are those of the first run: programs race, or it keeps something."
    return NONDETERMINISTIC, why


def _which(iteration: TimedIteration) -> str:
    return f"Timed run {iteration.repeat}" if iteration.repeat >= 0 else "A run to warm up"


def _left(iteration: TimedIteration) -> str:
    count = iteration.left_bytes
    return f"{count} {'byte' if count == 1 else 'bytes'} of its outputs that the first run wrote"


def _how_to_see(iteration: TimedIteration) -> str:
    if not iteration.seeds:
        return ""
    seeds = ", ".join(f"{name} {seed}" for name, seed in iteration.seeds.items())
    return f" Its inputs are those of a launch with these seeds: {seeds}."


_MOST_LISTED = 8
_HEAP = (
    "The kernel allocates on the device's heap, which outlives a run: it can know what ran before "
    "it. Take memory as an argument instead."
)


def of_module(state: Mapping[str, Any], sources: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what a launcher says that a module could keep between runs.

    `sources` are the posted texts by file: where one has a variable's name, that is its line.
    """
    if state.get("problem"):
        message = f"Nobody can say what the kernel keeps between runs: {state['problem']}."
        yield Finding(kind=STATE_KEPT, message=message)
    for variable in (state.get("variables") or [])[:_MOST_LISTED]:
        yield _of_variable(variable, sources)
    if unnamed := state.get("unnamed_bytes"):
        message = f"The kernel's module has {unnamed} bytes of global memory that have no name."
        yield Finding(kind=STATE_KEPT, message=f"{message} {_ADVICE}")
    if state.get("uses_heap"):
        yield Finding(kind=STATE_KEPT, message=_HEAP)


def is_changed(state: Mapping[str, Any]) -> bool:
    """Return True if a variable of the module changed while the kernel ran."""
    return any(one["changed"] for one in state.get("variables") or [])


_ADVICE = "What one run leaves there the next can read, so it need not do its own work."
_CHANGED = {
    True: "which the runs of this launch changed",
    False: "which the runs of this launch did not change",
    None: "and nobody can say whether runs changed it",
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
    """Return the file and line of the first place where a text has `name`, as far as any does."""
    for file, text in sources.items():
        at = text.find(name) if name else -1
        if at >= 0:
            return file, text.count("\n", 0, at) + 1
    return None, None

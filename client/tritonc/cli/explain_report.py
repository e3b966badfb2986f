"""The report of `tritonc explain`: one screen for people, one document for machines."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from tritonc.cli.terminal import Terminal, table
from tritonc.diagnostic import POSTED_IR
from tritonc.explain.explanation import (
    SPILL,
    CostFinding,
    Explanation,
    Place,
    Trial,
    matrix_opcodes,
)
from tritonc.gate.cell_numbers import CellNumbers, LineMix
from tritonc.gate.metric_budget import number
from tritonc.gate.report_text import one_line, shown_path
from tritonc.upgrade.kernel_change import spilled

MAX_CLASSES, MAX_LINES, MAX_TRIALS, MAX_FINDINGS = 6, 5, 8, 3
MAX_TEXT_CHARS = 44
_TRIED = ["", "setting", "registers", "spilled", "shared", "occupancy", "instructions", "tensor"]


def write_explanation(explanation: Explanation, terminal: Terminal) -> None:
    """Write the report for people."""
    terminal.text("\n".join(_resources(explanation)))
    costly = explanation.costly_lines()[:MAX_LINES]
    if lines := [_line(explanation, mix) for mix in costly]:
        terminal.draw(table(["line", "instructions", "spills", "mainly", "source"], lines))
    terminal.draw(table(_TRIED, _tried(explanation), "compiled side by side, not timed"))
    terminal.text("\n".join(map(one_line, _findings(explanation))))


def explanation_json(explanation: Explanation) -> dict[str, Any]:
    """Return the document of --json."""
    compilation, best = explanation.compilation, explanation.best
    limit = explanation.register_limit()
    return {
        "key": compilation.key,
        "kernel": compilation.kernel,
        "target": compilation.target,
        "triton": explanation.cell.triton,
        "resources": dict(compilation.resources),
        "register_limit": None if limit is None else {"registers": limit[0], "because": limit[1]},
        "by_class": dict(explanation.classes()),
        "lines": [asdict(mix) for mix in explanation.costly_lines()],
        "now": dict(explanation.numbers.metrics),
        "trials": [_trial_json(trial, best) for trial in explanation.trials],
        **explanation.document,
    }


def _trial_json(trial: Trial, best: Trial | None) -> dict[str, Any]:
    proposal, numbers = trial.proposal, trial.numbers
    return {
        "setting": f"{proposal.member}.{proposal.name}",
        "value": proposal.value,
        "best": trial is best,
        "key": numbers.key,
        "failure": numbers.failure,
        "metrics": dict(numbers.metrics),
    }


def _resources(explanation: Explanation) -> Iterator[str]:
    compilation, resources = explanation.compilation, explanation.compilation.resources
    cell = explanation.cell
    yield one_line(
        f"{cell.kernel.name} for {cell.target}, Triton {cell.triton}, key {compilation.key[:16]}"
    )
    limit = explanation.register_limit()
    if limit is not None:
        yield f"registers: {resources.get('registers')} of {limit[0]}, {limit[1]}"
    else:
        kinds = {"vector": "vgpr", "scalar": "sgpr", "accumulation": "agpr"}
        yield f"registers: {', '.join(f'{resources.get(n)} {kind}' for kind, n in kinds.items())}"
    yield from _spills(explanation)
    misfit = "" if resources.get("fits") is not False else "; it does not fit"
    shared, most = resources.get("shared_bytes"), resources.get("shared_limit_bytes")
    yield f"shared: {shared} of {most} bytes{misfit}"
    occupancy = resources.get("occupancy") or {}
    if occupancy.get("ratio") is not None:
        limiter = str(occupancy.get("limited_by")).replace("_", " ")
        yield (
            f"occupancy: {occupancy['ratio']:.1%} ({occupancy.get('warps_per_sm')} warps in "
            f"{occupancy.get('blocks_per_sm')} blocks), limited by {limiter}"
        )
    counted = explanation.classes()
    if counted:
        total = number(explanation.numbers.metrics.get("instructions", 0))
        shown = [f"{kind} {count}" for kind, count in counted[:MAX_CLASSES]]
        yield f"instructions: {total}: {', '.join(shown)}"


def _spills(explanation: Explanation) -> Iterator[str]:
    resources, limit = explanation.compilation.resources, explanation.register_limit()
    if limit is None:
        if resources.get("vgpr_spills") is not None:
            yield f"spills: {resources['vgpr_spills']} vector registers"
        return
    stored, loaded = (resources.get(f"spill_{how}_bytes") or 0 for how in ("store", "load"))
    if not stored and not loaded:
        yield "no spills"
        return
    is_full = (resources.get("registers") or 0) >= limit[0]
    why = f"; all {limit[0]} registers are in use" if is_full else ""
    yield f"spills: {stored} bytes stored, {loaded} loaded by each thread{why}"


def _line(explanation: Explanation, mix: LineMix) -> list[str]:
    most = sorted(mix.by_class.items(), key=lambda pair: (-pair[1], pair[0]))
    rest = [f"{kind} {count}" for kind, count in most if kind != SPILL and count][:2]
    text = explanation.cell.kernel.lines.text(mix.file, mix.line)[:MAX_TEXT_CHARS]
    spills = str(mix.by_class.get(SPILL, 0)) + (
        f" ({mix.local_bytes} B)" if mix.local_bytes else ""
    )
    total = str(sum(mix.by_class.values()))
    return [_at(explanation, (mix.file, mix.line)), total, spills, ", ".join(rest), text]


def _tried(explanation: Explanation) -> Iterator[list[str]]:
    best = explanation.best
    yield [" " if best else "*", "as it is", *_cells(explanation.numbers)]
    for trial in explanation.trials[:MAX_TRIALS]:
        mark = "*" if trial is best else ""
        yield [mark, str(trial.proposal), *_cells(trial.numbers)]
    if (more := len(explanation.trials) - MAX_TRIALS) > 0:
        yield ["", f"and {more} more, in --json", *[""] * 6]


def _cells(numbers: CellNumbers) -> list[str]:
    if numbers.failure is not None:
        return ["", "", "", "", "fails", ""]
    metrics = numbers.metrics

    def shown(name: str) -> str:
        return number(metrics[name]) if name in metrics else ""

    occupancy = f"{metrics['occupancy']:.1%}" if "occupancy" in metrics else ""
    return [
        shown("registers"),
        number(spilled(numbers)),
        shown("shared_bytes"),
        occupancy,
        shown("instructions"),
        matrix_opcodes(numbers),
    ]


def _findings(explanation: Explanation) -> Iterator[str]:
    best = explanation.best
    if best is not None:
        grid = "; check the grid" if best.proposal.member == "constexprs" else ""
        yield f"worth timing: {best.proposal}{grid}; it needs fewer resources, but was not timed"
    else:
        yield "worth timing: nothing; no setting that was tried needs fewer resources"
    if not explanation.products:
        yield "tl.dot: none"
    yield from _shown(explanation, explanation.products, "dots")
    if explanation.tma:
        yield explanation.tma
    yield from _shown(explanation, explanation.narrow, "such accesses")
    yield from _shown(explanation, explanation.uncoalesced, "uncoalesced accesses")
    yield from _shown(explanation, explanation.conversions, "lines with conversions")


def _shown(explanation: Explanation, findings: Sequence[CostFinding], noun: str) -> Iterator[str]:
    for item in findings[:MAX_FINDINGS]:
        yield f"{_at(explanation, item.place)}: {item.message}"
    yield from _more(len(findings), noun)


def _more(count: int, noun: str) -> Iterator[str]:
    if count > MAX_FINDINGS:
        yield f"and {count - MAX_FINDINGS} more {noun}; --json has all"


def _at(explanation: Explanation, place: Place | None) -> str:
    if place is None:
        return "no line"
    file, line = place
    if "ir" in explanation.cell.kernel.members and file not in POSTED_IR:
        return f"{file}:{line}"  # of the source that the IR was made from, which is not here
    return f"{shown_path(explanation.cell.kernel.lines.path(file))}:{line}"

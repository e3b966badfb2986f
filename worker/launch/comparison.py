"""The child that compares a kernel's outputs with the expected ones.

It runs no user code and parses nothing, so one child serves many cases and launches.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from compiler.compilation import amended
from compiler.messages.wire import header_of
from launch.messages import BodyRange, Cause, CompareOrder, Finding, OutputOrder, Tolerance
from launch.request.launch_record import Comparison, Output
from launch.request.launch_request import ReturnMode
from launch.request.reference_request import Reference
from launch.request.tolerance import default_tolerance
from launch.request.verdict import Verdict
from worker.compile.reports import Malformed
from worker.launch.large_body import body_of, is_large
from worker.launch.launch_reports import ComparedOutput, CompareReport
from worker.launch.reference import Expected
from worker.launch.run import PreparedRun, places_of, size_bytes
from worker.pool.child_outcome import ChildOutcome
from worker.pool.pool import Pool
from worker.pool.shared_bytes import MAX_PARTS, Body, SharedBytes

COMPARE_DEADLINE_S = 60.0

logger = logging.getLogger(__name__)
ZEROS_MATCH = "zeros_match"


class NotCompared(Exception):
    """The comparing child did not report; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Actual:
    """The outputs of a run: elements, and a bit for each unwritten element."""

    outputs: Mapping[str, Body]
    unwritten: Mapping[str, Body]


@dataclass(frozen=True, slots=True)
class PrecisionCauses:
    """Why a kernel may be imprecise, and why a reference's kernel may be."""

    of_kernel: list[Cause] = field(default_factory=list)
    of_reference: list[Cause] = field(default_factory=list)


_NO_CAUSES = PrecisionCauses()


@dataclass(frozen=True, slots=True)
class Compared:
    """Summaries and comparisons of the outputs, and the requested .npy files."""

    outputs: dict[str, Output]
    files: dict[str, bytes]
    downgrades: dict[str, Finding]
    """The finding `precision_downgrade` of each output that has one."""
    unmatchable: Finding | None = None
    """The finding that no kernel could match the reference."""

    @property
    def matches(self) -> list[bool]:
        """The result for each output with at least one compared element."""
        comparisons = [item.comparison for item in self.outputs.values() if item.comparison]
        return [comparison.matches for comparison in comparisons if comparison.compared]


async def compare(
    pool: Pool,
    run: PreparedRun,
    actual: Actual,
    expected: Expected | None,
    reference: Reference | None,
    returned: Mapping[str, ReturnMode],
    causes: PrecisionCauses = _NO_CAUSES,
) -> Compared:
    """Compare the outputs in `actual`. Raises NotCompared."""
    parts = _parts(actual, expected)
    if is_large(parts.values()):
        parts = _with_shared_first(parts)
    places = places_of(parts)
    outputs = {
        name: _order_of(name, run, places, expected, reference, returned) for name in actual.outputs
    }
    order = CompareOrder(
        outputs=outputs, causes=causes.of_kernel, reference_causes=causes.of_reference
    )
    async with body_of(list(parts.values())) as body:
        outcome = await pool.run(
            order.profile,
            header_of(order),
            body,
            deadline_s=COMPARE_DEADLINE_S,
            stages={f"tensor:{name}" for name in order.outputs},
        )
    return _compared(outcome, order, expected)


def _parts(actual: Actual, expected: Expected | None) -> dict[str, Body]:
    """Return the parts of the order's body, by the names that `_order_of` uses."""
    doubtful = expected.doubtful if expected is not None else {}
    unwritten = _with_bits(actual.unwritten, doubtful)
    parts = _with_prefix("actual", actual.outputs) | _with_prefix("unwritten", unwritten)
    if expected is not None:
        parts |= _with_prefix("expected", expected.outputs)
        not_expected = _with_bits(expected.unwritten, doubtful)
        parts |= _with_prefix("expected_unwritten", not_expected)
    return parts


def _with_bits(unwritten: Mapping[str, Body], bits: Mapping[str, bytes]) -> dict[str, Body]:
    """Merge `bits` into the unwritten elements: the comparison skips elements set in both."""
    return dict(unwritten) | {
        name: _either(unwritten.get(name), more) for name, more in bits.items()
    }


def _either(bits: Body | None, more: bytes) -> bytes:
    if bits is None:
        return more
    both = int.from_bytes(bytes(bits), "big") | int.from_bytes(more, "big")
    return both.to_bytes(len(more), "big")


def _with_shared_first(parts: Mapping[str, Body]) -> dict[str, Body]:
    """Return `parts` with those first that a child can map without a copy."""
    shared = {name: part for name, part in parts.items() if isinstance(part, SharedBytes)}
    first = dict(list(shared.items())[: MAX_PARTS - 1])
    return first | {name: part for name, part in parts.items() if name not in first}


def _compared(outcome: ChildOutcome, order: CompareOrder, expected: Expected | None) -> Compared:
    if outcome.result is None:
        reason = outcome.detail or (outcome.failure or {}).get("message", "")
        raise NotCompared(f"The outputs could not be compared ({reason}). Launch again.")
    try:
        report = CompareReport.read(outcome.result)
    except Malformed as error:
        raise NotCompared(f"The result of the comparison is invalid: {error}") from error
    outputs = {
        name: _output_of(item, order.outputs[name], _note(name, item, expected))
        for name, item in report.outputs.items()
    }
    files = {
        stage.name.removeprefix("tensor:"): stage.body
        for stage in outcome.stages
        if stage.name.startswith("tensor:")
    }
    by_output = {name: item.downgrade for name, item in report.outputs.items()}
    downgrades = {name: finding for name, finding in by_output.items() if finding is not None}
    only_nan = [name for name, item in report.outputs.items() if item.expects_only_nan]
    unmatchable = None
    if only_nan:
        unmatchable = nan_reference(only_nan[0], ", or set `equal_nan`")
    return Compared(outputs, files, downgrades, unmatchable)


def nan_reference(output: str, more_advice: str = "") -> Finding:
    """Return the finding that the reference returned only NaN, so that no output matches."""
    message = (
        f"The reference returned only NaN for {output}, and NaN matches nothing. Correct the "
        f"reference or its inputs{more_advice}."
    )
    return Finding(kind=str(Verdict.INVALID_REFERENCE), message=message, argument=output)


def not_checked(outputs: Mapping[str, Output], run: PreparedRun) -> Finding:
    """Return the finding that nothing was compared with the reference, with the reason."""
    compared = [name for name, output in outputs.items() if output.comparison is not None]
    empty = [name for name in compared if not size_bytes(run.bound.outputs[name])]
    if not outputs:
        why = "the launch has no outputs"
    elif not compared:
        why = "the reference returned None for every output"
    elif empty:
        why = f"{', '.join(empty)} has no elements"
    else:
        why = f"neither kernel wrote an element of {', '.join(compared)}"
    return Finding(kind="not_checked", message=f"Nothing was compared: {why}.")


def _with_prefix(kind: str, parts: Mapping[str, Body]) -> dict[str, Body]:
    return {f"{kind}:{name}": data for name, data in parts.items()}


def _output_of(reported: ComparedOutput, order: OutputOrder, note: str | None) -> Output:
    comparison = reported.comparison
    if comparison is not None:
        tolerance = order.tolerance
        comparison = amended(comparison, rtol=tolerance.rtol, atol=tolerance.atol, note=note)
    return Output(
        summary=reported.summary,
        comparison=comparison,
        values=reported.values,
        expected=reported.expected,
    )


def _note(name: str, output: ComparedOutput, expected: Expected | None) -> str | None:
    """Return a note on unwritten or unchanged elements, which the numbers do not show."""
    comparison = output.comparison
    if comparison is None or expected is None:
        return None
    if comparison.unwritten:
        count = comparison.unwritten
        missing = "1 unwritten element" if count == 1 else f"{count} unwritten elements"
        return (
            f"{name} has {missing}, which never match. If the kernel should leave parts of {name} "
            f"unchanged, give {name} an init, and keep its mark as an output."
        )
    if comparison.matches and comparison.compared and name in expected.unchanged:
        return (
            f"Every element of {name} is expected to keep its initial value, so a kernel that does "
            "nothing would match too. Choose inputs that change it."
        )
    return None


def _order_of(
    name: str,
    run: PreparedRun,
    places: dict[str, BodyRange],
    expected: Expected | None,
    reference: Reference | None,
    returned: Mapping[str, ReturnMode],
) -> OutputOrder:
    buffer = run.bound.outputs[name]
    is_expected = expected is not None and name in expected.outputs
    return OutputOrder(
        dtype=buffer.dtype,
        shape=buffer.shape,
        returned=returned.get(name, "summary"),
        actual=places[f"actual:{name}"],
        expected=places[f"expected:{name}"] if is_expected else None,
        unwritten=places.get(f"unwritten:{name}"),
        expected_unwritten=places.get(f"expected_unwritten:{name}"),
        expected_dtype=expected.dtypes.get(name) if expected else None,
        tolerance=_scaled(tolerance_of(buffer.dtype, reference), name, expected),
    )


def _scaled(tolerance: Tolerance, name: str, expected: Expected | None) -> Tolerance:
    factor = expected.atol_factors.get(name, 1.0) if expected is not None else 1.0
    return replace(tolerance, atol=tolerance.atol * factor)


def tolerance_of(dtype: str, reference: Reference | None) -> Tolerance:
    """Return the tolerance for an output of `dtype`: the reference's, or else the default."""
    default = default_tolerance(dtype)
    if reference is None:
        return default
    return Tolerance(
        default.rtol if reference.rtol is None else reference.rtol,
        default.atol if reference.atol is None else reference.atol,
        reference.equal_nan,
        reference.max_mismatched_ratio,
        reference.atol_scale or "absolute",
    )


# The finding `zeros_match`: an output of zeros would pass the comparison too.
#
# If every expected value is within the tolerance of zero, the comparison cannot distinguish a
# kernel that writes zeros: one of KernelBench#165 multiplies by 0 and passes as a softmax.


def weak_comparison(argument: str, comparison: Comparison | None) -> Finding | None:
    """Return the finding for a comparison that zeros would pass, None for other comparisons."""
    if comparison is None or not comparison.matches or not comparison.zeros_match:
        return None
    tolerance = f"atol {comparison.atol:g}" if comparison.atol else "any tolerance"
    message = (
        f"An output of zeros would match {argument} too: every expected value is within "
        f"{tolerance} of zero. Choose other inputs, a smaller `atol`, or `atol_scale: rms`."
    )
    return Finding(kind=ZEROS_MATCH, message=message, argument=argument)

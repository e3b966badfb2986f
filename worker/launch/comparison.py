"""The child that compares what a kernel made with what was expected; it runs no user code."""

from dataclasses import dataclass
from typing import Any

from compiler.launch.launch import Comparison, Output
from compiler.launch.reference import Reference
from compiler.launch.tolerance import default_tolerance
from worker.launch.reference import Expected
from worker.launch.report import CompareReport
from worker.launch.run import Run, laid_out
from worker.pool import Pool
from worker.report import Malformed, read_report

COMPARE_DEADLINE_S = 60.0


class NotCompared(Exception):
    """The comparing child, which is ours, did not report; the message says why."""


@dataclass(frozen=True, slots=True)
class Compared:
    """The outputs in numbers, and the .npy files of those that were asked for as such."""

    outputs: dict[str, Output]
    files: dict[str, bytes]

    @property
    def matches(self) -> list[bool]:
        """Of each output that was compared."""
        return [item.comparison.matches for item in self.outputs.values() if item.comparison]


async def compare(
    pool: Pool,
    run: Run,
    actual: dict[str, bytes],
    expected: Expected | None,
    reference: Reference | None,
    returned: dict[str, str],
) -> Compared:
    """Compare the outputs in `actual`. Raises NotCompared."""
    parts = {f"actual:{name}": data for name, data in actual.items()}
    if expected is not None:
        parts |= {f"expected:{name}": data for name, data in expected.outputs.items()}
    body, places = laid_out(parts)
    asked = {name: _asked(name, run, places, expected, reference, returned) for name in actual}
    outcome = await pool.run(
        "cut",
        {"task": "compare", "outputs": asked},
        body,
        deadline_s=COMPARE_DEADLINE_S,
        stages={f"tensor:{name}" for name in asked},
    )
    if outcome.result is None:
        said = (outcome.failure or {}).get("message", "")
        raise NotCompared(f"The outputs were not compared ({outcome.detail or said}).")
    try:
        report = read_report(CompareReport, outcome.result)
    except Malformed as error:
        raise NotCompared(f"The comparison cannot be read: {error}") from error
    outputs = {
        name: Output(
            summary=item.summary if returned.get(name, "summary") != "none" else None,
            comparison=_with_tolerance(item.comparison, asked[name]["tolerance"]),
            values=item.values,
        )
        for name, item in report.outputs.items()
    }
    files = {
        stage.name.removeprefix("tensor:"): stage.body
        for stage in outcome.stages
        if stage.name.startswith("tensor:")
    }
    return Compared(outputs, files)


def _with_tolerance(comparison: Comparison | None, tolerance: dict[str, Any]) -> Comparison | None:
    if comparison is None:
        return None
    update = {name: tolerance[name] for name in ("rtol", "atol")}
    return comparison.model_copy(update=update)


def _asked(
    name: str,
    run: Run,
    places: dict[str, list[int]],
    expected: Expected | None,
    reference: Reference | None,
    returned: dict[str, str],
) -> dict[str, Any]:
    buffer = run.bound.outputs[name]
    is_expected = expected is not None and name in expected.outputs
    return {
        "dtype": buffer.dtype,
        "shape": buffer.shape,
        "poisoned": run.bound.allocations[buffer.allocation].init is None,
        "return": returned.get(name, "summary"),
        "actual": places[f"actual:{name}"],
        "expected": places[f"expected:{name}"] if is_expected else None,
        "expected_dtype": expected.dtypes.get(name) if expected else None,
        "tolerance": _tolerance(buffer.dtype, reference),
    }


def _tolerance(dtype: str, reference: Reference | None) -> dict[str, Any]:
    default = default_tolerance(dtype)
    tolerance: dict[str, Any] = {"rtol": default.rtol, "atol": default.atol}
    if reference is None:
        return tolerance
    given = {"rtol": reference.rtol, "atol": reference.atol}
    tolerance |= {field: value for field, value in given.items() if value is not None}
    tolerance["equal_nan"] = reference.equal_nan
    tolerance["max_mismatched_ratio"] = reference.max_mismatched_ratio
    return tolerance

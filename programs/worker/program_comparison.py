"""Compares what a program and its reference returned: both calls, output by output.

A child compares the elements. It runs no user code and parses nothing. Where outputs differ, the
parameters of both are compared: a program that makes its weights in another order draws other
numbers, and its outputs differ whatever its kernels do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from compiler.compilation import amended
from compiler.messages.wire import header_of
from launch.messages import BodyRange, Cause, CompareOrder, Finding, OutputOrder
from launch.request.launch_record import Comparison
from launch.request.verdict import Evidence, RunEnding, Verdict, evident_kind, verdict_of
from programs.program_record import ProgramOutput
from programs.replay.replay_order import ORDER_DEPENDENT
from programs.tape.schema import Tape, TensorMeta
from programs.worker.output_tolerances import OutputTolerances
from programs.worker.replayed import (
    Replayed,
    ReplayedCall,
    ReplayedTensor,
    are_equal,
    described,
    is_side_effect,
    returns_tensors,
)
from worker.compile.reports import Malformed
from worker.launch.comparison import COMPARE_DEADLINE_S, NotCompared, nan_reference, weak_comparison
from worker.launch.large_body import body_of
from worker.launch.launch_reports import ComparedOutput, CompareReport
from worker.launch.mismatch_explanation import annotated
from worker.launch.precision_causes import causes_of
from worker.pool.pool import Pool
from worker.pool.shared_bytes import Body

WRONG_SHAPE = "wrong_shape"
WRONG_DTYPE = "wrong_dtype"
WRONG_DEVICE = "wrong_device"
WRONG_STRUCTURE = "wrong_structure"
WARNING = "warning"
INPUT_MODIFIED = str(Verdict.INPUT_MODIFIED)
_CALLS = ("first", "second")
_CHANGES_INPUT = (
    "The {call} call changes {path} in place, and the reference does not. Write to a tensor that "
    "the program allocates, for instance to {path}.clone()."
)
_LEAVES_INPUT = "The {call} call leaves {path} unchanged, and the reference changes it in place."
SIDE_EFFECT_MISSING = "side_effect_missing"
INSENSITIVE_OUTPUT = "insensitive_output"
_MAX_FINDINGS = 20
_PARTS_OF_COMPLEX = {"complex64": "fp32", "complex128": "fp64"}
_DEFAULT_TOLERANCES = OutputTolerances()
PARAMETERS_DIFFER: Final = "parameters_differ"
_MAX_NAMED = 8


class BodyParts:
    """The parts of an order's body, concatenated."""

    def __init__(self) -> None:
        self.parts: list[Body] = []
        self._size = 0

    def add(self, part: Body) -> BodyRange:
        """Append a part; return its offset and size in bytes."""
        place = (self._size, len(part))
        self.parts.append(part)
        self._size += len(part)
        return place


async def compare_outputs(pool: Pool, order: CompareOrder, parts: Sequence[Body]) -> CompareReport:
    """Compare the elements in `parts` in a child, as `order` describes. Raises NotCompared."""
    header, limit_s = header_of(order), COMPARE_DEADLINE_S
    async with body_of(parts) as body:
        outcome = await pool.run(order.profile, header, body, deadline_s=limit_s)
    if outcome.result is None:
        reason = outcome.detail or (outcome.failure or {}).get("message", "")
        raise NotCompared(f"The outputs could not be compared ({reason}). Post the program again.")
    try:
        return CompareReport.read(outcome.result)
    except Malformed as error:
        raise NotCompared(f"The result of the comparison is invalid: {error}") from error


@dataclass(slots=True)
class ComparedProgram:
    """The comparison of outputs, by path: of the first call, or of the one that does not match."""

    outputs: dict[str, ProgramOutput] = field(default_factory=dict)
    matches: list[bool] = field(default_factory=list)
    """One entry for each output of each call that has anything to compare."""
    findings: list[Finding] = field(default_factory=list)
    """Outputs that cannot be compared with each other, and lost precision."""
    unmatchable: Finding | None = None
    """The finding that no program could match the reference."""


async def compare(
    pool: Pool,
    candidate: Replayed,
    reference: Replayed | None,
    tolerances: OutputTolerances = _DEFAULT_TOLERANCES,
    irs: Sequence[bytes] = (),
) -> ComparedProgram:
    """Compare everything that `candidate` returned. Raises NotCompared.

    `irs` are the TTIRs of its kernels, used to find a cause in their precision. An output on
    another device than the reference's does not match, as with torch.
    """
    compared = ComparedProgram()
    causes = await causes_of(pool, irs) if reference is not None else []
    for call, returned in enumerate(candidate.calls):
        expected: ReplayedCall | None = None
        if reference is not None:
            expected = reference.calls[call] if call < len(reference.calls) else {}
        comparison = _Comparison(pool, compared, call, tolerances, causes, candidate.state)
        shared = reference.state if reference is not None else frozenset()
        own = candidate.state - shared
        await comparison.compare(
            {p: value for p, value in returned.items() if p not in own}, expected
        )
    return compared


def judged(
    candidate: Replayed,
    reference: Replayed | None,
    compared: ComparedProgram,
    checks: Sequence[str] = (),
) -> Verdict:
    """Return the verdict, by the rules of launches.

    If results depend on the order of program instances, `determinism` counts even if the request
    did not ask for it. Bits that differ only by rounding are then just a finding.
    """
    findings = [*candidate.findings, *compared.findings]
    if any(finding.kind == ORDER_DEPENDENT for finding in findings):
        checks = (*checks, "determinism")
    return verdict_of(
        Evidence(
            ending=candidate.ending,
            findings=frozenset(evident_kind(item.kind, item.access) for item in findings),
            matches=tuple(compared.matches),
            deterministic=candidate.deterministic,
            checks=frozenset(checks),
            reference_failed=compared.unmatchable is not None
            or (reference is not None and not is_sound(reference)),
        )
    )


def is_sound(reference: Replayed) -> bool:
    """Return True if a reference ran to its end without findings."""
    return reference.is_whole and reference.ending is RunEnding.FINISHED and not reference.findings


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The comparison of one call."""

    pool: Pool
    compared: ComparedProgram
    call: int
    tolerances: OutputTolerances
    causes: list[Cause]
    state: frozenset[str]
    """The paths of the program's parameters and buffers."""

    async def compare(self, returned: ReplayedCall, expected: ReplayedCall | None) -> None:
        bodies = BodyParts()
        orders, dtypes, known = {}, {}, dict[str, ComparedOutput]()
        for path, item in returned.items():
            if not isinstance(item, ReplayedTensor):
                continue
            dtypes[path] = compared_dtype(item.meta.dtype)
            other = self._expected(path, item, expected)
            if item.compared is not None:
                known[path] = item.compared
            elif item.data is not None and (other is None or other.data is not None):
                orders[path] = self._order(bodies, path, item, other)
        self._check_structure(returned, expected)
        causes = self.causes if expected is not None else []
        order = CompareOrder(outputs=orders, causes=causes)
        report = (
            await compare_outputs(self.pool, order, bodies.parts)
            if orders
            else CompareReport(outputs={})
        )
        for path, output in (known | report.outputs).items():
            comparison = output.comparison
            if comparison is not None:
                tolerance = self.tolerances.of(path, dtypes[path])
                comparison = amended(comparison, rtol=tolerance.rtol, atol=tolerance.atol)
                is_downgraded = output.downgrade is not None
                comparison = annotated(
                    comparison, output.summary, dtypes[path], is_downgraded=is_downgraded
                )
                if comparison.compared:
                    self.compared.matches.append(comparison.matches)
            self._put(path, ProgramOutput(summary=output.summary, comparison=comparison))
            self._note_only_nan(path, output)
            weak = weak_comparison(f"output {path}", comparison)
            if weak is not None and not self.call:
                weak = replace(weak, kind=INSENSITIVE_OUTPUT, argument=None)
                self.compared.findings.append(weak)
            if output.downgrade is not None and not self.call:
                message = f"Output {output.downgrade.message}"
                self.compared.findings.append(replace(output.downgrade, message=message))

    def _note_only_nan(self, path: str, output: ComparedOutput) -> None:
        if output.expects_only_nan and self.compared.unmatchable is None:
            what = path if is_side_effect(path) else f"output {path}"
            self.compared.unmatchable = replace(nan_reference(what), argument=path)

    def _put(self, path: str, output: ProgramOutput) -> None:
        """Record an output. The second call's replaces the first's only if it alone mismatches."""
        known = self.compared.outputs.get(path)
        if known is None:
            self.compared.outputs[path] = output
            return
        comparison = output.comparison
        was_right = known.comparison is None or known.comparison.matches
        if was_right and comparison is not None and not comparison.matches:
            note = (
                "of the second call, which gets other inputs, and finds other values in memory "
                "that was never written; the first call matches"
            )
            described = amended(comparison, note=comparison.note or note)
            self.compared.outputs[path] = amended(output, comparison=described)
        elif known.comparison is not None and comparison is not None and not was_right:
            self._note_the_larger(path, known, comparison)

    def _note_the_larger(self, path: str, known: ProgramOutput, comparison: Comparison) -> None:
        """Add the larger tolerance to the first call's note if rounding explains both errors."""
        first = known.comparison
        if first is None or first.note is None or comparison.note is None:
            return
        if float(comparison.max_abs_error or 0) > float(first.max_abs_error or 0):
            described = amended(
                first, note=f"{comparison.note} (From the second call, whose error is larger.)"
            )
            self.compared.outputs[path] = amended(known, comparison=described)

    def _expected(
        self, path: str, item: ReplayedTensor, expected: ReplayedCall | None
    ) -> ReplayedTensor | None:
        """Return the output to compare with; None, after adding a finding, if there is none."""
        if expected is None or path not in expected:
            return None
        other = expected[path]
        if not isinstance(other, ReplayedTensor):
            self._refuse(WRONG_STRUCTURE, path, "a tensor", described(other))
            return None
        if item.meta.shape != other.meta.shape:
            shapes = f"of shape {list(item.meta.shape)}", f"of shape {list(other.meta.shape)}"
            self._refuse(WRONG_SHAPE, path, *shapes)
            return None
        if item.meta.dtype != other.meta.dtype:
            self._refuse(WRONG_DTYPE, path, item.meta.dtype, other.meta.dtype)
            return None
        if item.meta.device != other.meta.device and item.meta.shape:
            actual, where = f"on {item.meta.device}", f"on {other.meta.device}"
            self._refuse(WRONG_DEVICE, path, actual, where)
            return None
        return other

    def _check_structure(self, returned: ReplayedCall, expected: ReplayedCall | None) -> None:
        if expected is None:
            return
        self._check_side_effects(returned, expected)
        for path in expected.keys() - returned.keys():
            if not is_side_effect(path):
                self._refuse(WRONG_STRUCTURE, path, "not there", described(expected[path]))
        for path in returned.keys() - expected.keys():
            if not is_side_effect(path):
                self._refuse(WRONG_STRUCTURE, path, described(returned[path]), "not there")
        for path, item in returned.items():
            if path in expected and not isinstance(item, ReplayedTensor):
                other = expected[path]
                if isinstance(other, ReplayedTensor) or not are_equal(item, other):
                    self._refuse(WRONG_STRUCTURE, path, described(item), described(other))

    def _check_side_effects(self, returned: ReplayedCall, expected: ReplayedCall) -> None:
        """Add findings for what only one of the two changed in place.

        A buffer of the reference's alone is a warning, as is an input whose memory the reference
        returns: that is compared as an output.
        """
        call = _CALLS[self.call]
        for path in filter(is_side_effect, returned.keys() - expected.keys()):
            self._find(INPUT_MODIFIED, path, _CHANGES_INPUT.format(path=path, call=call))
        for path in filter(is_side_effect, expected.keys() - returned.keys()):
            message, item = _LEAVES_INPUT.format(path=path, call=call), expected[path]
            is_own = path.startswith("state[") and path not in self.state
            if is_own or (isinstance(item, ReplayedTensor) and item.is_returned):
                self._find(WARNING, path, message)
            elif returns_tensors(expected):
                self._find(SIDE_EFFECT_MISSING, path, message)
            else:
                self._mismatch(WRONG_STRUCTURE, path, message)

    def _refuse(self, kind: str, path: str, actual: str, expected: str) -> None:
        what = "" if is_side_effect(path) else "Output "
        message = (
            f"{what}{path} of the {_CALLS[self.call]} call is {actual}; the reference's is "
            f"{expected}."
        )
        self._mismatch(kind, path, message)

    def _mismatch(self, kind: str, path: str, message: str) -> None:
        self.compared.matches.append(False)
        if self._find(kind, path, message) and kind != WRONG_STRUCTURE:
            comparison = Comparison(
                matches=False,
                max_abs_error=None,
                max_rel_error=None,
                mismatched=0,
                nonfinite_mismatched=0,
                note=message,
            )
            self._put(path, ProgramOutput(comparison=comparison))

    def _find(self, kind: str, path: str, message: str) -> bool:
        """Add a finding about an output unless it is known; return True if it was added."""
        known = any(
            (finding.kind, finding.argument) == (kind, path) for finding in self.compared.findings
        )
        if known or len(self.compared.findings) >= _MAX_FINDINGS:
            return False
        self.compared.findings.append(Finding(kind=kind, argument=path, message=message))
        return True

    def _order(
        self, bodies: BodyParts, path: str, item: ReplayedTensor, expected: ReplayedTensor | None
    ) -> OutputOrder:
        dtype, shape = _stored(item.meta)
        sides = [side for side in (item, expected) if side is not None]
        data = [bodies.add(side.data or b"") for side in sides]
        bits = [
            None
            if side.unwritten is None or dtype != side.meta.dtype
            else bodies.add(side.unwritten)
            for side in sides
        ]
        return OutputOrder(
            dtype=dtype,
            shape=shape,
            actual=data[0],
            expected=data[1] if expected is not None else None,
            unwritten=bits[0],
            expected_unwritten=bits[1] if expected is not None else None,
            expected_bits=self.tolerances.expected_bits(path, dtype),
            tolerance=self.tolerances.of(path, dtype),
        )


def compared_dtype(dtype: str) -> str:
    """Return the dtype to compare elements as: for complex numbers, that of their parts."""
    return _PARTS_OF_COMPLEX.get(dtype, dtype)


def _stored(meta: TensorMeta) -> tuple[str, list[int]]:
    """Return the dtype and shape to compare elements as: a complex number counts as two."""
    dtype = compared_dtype(meta.dtype)
    return dtype, [*meta.shape, 2] if dtype != meta.dtype else list(meta.shape)


@dataclass(frozen=True, slots=True)
class _Parameter:
    dtype: str
    shape: tuple[int, ...]
    digest: str

    def may_be(self, other: "_Parameter") -> bool:
        """Return True if both have the same dtype and shape."""
        return (self.dtype, self.shape) == (other.dtype, other.shape)


def differing_parameters(
    candidate: Replayed, candidate_tape: Tape, reference: Replayed, reference_tape: Tape
) -> Finding | None:
    """Return a finding that names parameters whose values differ; None if none do.

    A parameter is compared with the one of its name if dtype and shape agree, else with all of
    that dtype and shape. If the candidate has no such parameter, it is not reported: the
    candidate may make it in another way.
    """
    ours = _parameters(candidate, candidate_tape)
    theirs = _parameters(reference, reference_tape)
    differing = [name for name, wanted in theirs.items() if _is_other(name, wanted, ours)]
    if not differing:
        return None
    more = f" and {len(differing) - _MAX_NAMED} more" if len(differing) > _MAX_NAMED else ""
    message = (
        "These parameters or buffers of the program differ from the reference's: "
        f"{', '.join(differing[:_MAX_NAMED])}{more}. Both are made from the same seed. Create the "
        "same parameters with the same calls in the same order as the reference, to draw the same "
        "numbers. Until then, outputs differ whatever the kernels do."
    )
    return Finding(kind=PARAMETERS_DIFFER, message=message)


def _is_other(name: str, wanted: _Parameter, ours: Mapping[str, _Parameter]) -> bool:
    named = ours.get(name)
    if named is not None and named.may_be(wanted):
        return named.digest != wanted.digest
    alike = [parameter.digest for parameter in ours.values() if parameter.may_be(wanted)]
    return bool(alike) and wanted.digest not in alike


def _parameters(replayed: Replayed, tape: Tape) -> dict[str, _Parameter]:
    """Return the parameters by name, with their values before the first call."""
    parameters = {}
    for (name, id_), digest in zip(tape.params, replayed.parameters, strict=False):
        if digest is not None:
            meta: TensorMeta = tape.tensors[id_]
            parameters[name] = _Parameter(meta.dtype, tuple(meta.shape), digest)
    return parameters

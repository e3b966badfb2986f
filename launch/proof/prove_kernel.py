"""The task `prove`: from the text of a TTIR and a contract to a report of every access."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice

from compiler.back import ir_module
from compiler.diagnostic import USER_FILE, Failure, file_in_kernel
from compiler.messages.wire import Send
from compiler.proof import solver
from compiler.proof.binding import AXES, SizeLimits
from compiler.proof.contract import ContractError
from compiler.proof.equivalence import equivalent
from compiler.proof.fusion import Build
from compiler.proof.obligations import Conclusion
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.proof.prove import AccessProof, KernelProof, prove, prover_of
from compiler.proof.structure import name_arguments
from compiler.proof.terms import SymbolicAccess, UnreadAccess, line_of
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from launch.proof.masking import masked
from launch.proof.proof_messages import (
    AccessReport,
    AnswerReport,
    ContractMistake,
    OtherKernel,
    ProofReport,
    ProveOrder,
    WitnessReport,
)
from launch.proof.widening import Place, widened
from launch.proof.witness_replay import NotReplayed
from launch.proof.witness_run import WitnessRun

MAX_WITNESSES = 100
"""Refuted answers of one kernel that have a witness."""
MAX_WITNESS_BYTES = 1 << 20
"""Of all witnesses of one kernel, as JSON."""
MAX_RACES_RUN = 50
"""Races of one kernel whose two programs are run: each of them has all accesses of the kernel."""
MAX_PROPOSALS = 6
"""Changed sources that one kernel's report has, for its first refuted answer that has any."""
MAX_PROPOSED_BYTES = 1 << 20
"""Of them together, as JSON."""
MAX_WIDENED = 50
"""Operations whose results wrap that one proposal widens."""
_STAGE = "ttir"
_LANE = re.compile(r"lane\d+#(\d+)")
_OWN = re.compile(r"([a-z]+)#\d+")
NO_WRAP = "no integer wraps (which the check `overflow` answers)"
"""Assumed by proofs of bounds or races that did not ask for it: integers are mathematical ones."""
_NO_ACCESSES: list[AccessReport] = []


def prove_kernel(order: ProveOrder, body: bytes, _: Send) -> ProofReport:
    """Prove the kernel and replay what the solver calls broken."""
    size = len(body) if order.other is None else order.other.first_bytes
    text = bytes(body[:size]).decode()
    ir_module.check_size(text, _STAGE, order.ir_bounds)
    solver.prepare()
    started = time.process_time()
    try:
        if order.other is not None:
            return _compared(order, order.other, text, bytes(body[size:]).decode(), started)
        limits = SizeLimits(order.most_size, order.most_elements)
        module, contract = _module(order, text, order.parameters), read_contract(order.contract)
        proof = prove(module, contract, order.constants, limits, order.checks)
    except ContractError as error:
        at = error.position
        mistake = ContractMistake(message=error.message, line=at.line, column=at.column)
        return _refused("", None, started, mistake)
    except Unsupported as refusal:
        return _refused(refusal.what, refusal.line, started)
    except (ProofLimitReached, Untranslatable) as refusal:
        return _refused(str(refusal), None, started)
    except RecursionError:
        return _refused("it is nested too deeply", None, started)
    reporter = _Reporter(order, text, proof)
    accesses = [reporter.access(access) for access in proof.accesses]
    effort = proof.prover.linear.effort
    return ProofReport(
        accesses=accesses,
        refused="",
        refused_line=None,
        questions=effort.questions,
        effort=effort.spent,
        solver_ms=_ms_since(started),
    )


def _module(order: ProveOrder, text: str, parameters: Sequence[str] | None) -> Operation:
    generic, _ = generic_form(text, order.target, _STAGE)
    module = module_of(generic)
    if parameters is not None:
        name_arguments(module, parameters)
    return module


def _compared(
    order: ProveOrder, other: OtherKernel, first: str, second: str, started: float
) -> ProofReport:
    """Report whether two kernels store the same."""
    ir_module.check_size(second, _STAGE, order.ir_bounds)
    limits = SizeLimits(order.most_size, order.most_elements)
    provers = [
        prover_of(
            _module(order, text, kernel.parameters),
            read_contract(kernel.contract),
            kernel.constants,
            limits,
        )
        for text, kernel in ((first, order), (second, other))
    ]
    build = Build(order.target.backend, other.has_same_options)
    conclusion = equivalent(provers[0], provers[1], build)
    efforts = [prover.linear.effort for prover in provers]
    return ProofReport(
        accesses=_NO_ACCESSES,
        refused="",
        refused_line=None,
        questions=sum(spending.questions for spending in efforts),
        effort=sum(spending.spent for spending in efforts),
        solver_ms=_ms_since(started),
        equivalent=AnswerReport(
            verdict=conclusion.verdict,
            proved_under=sorted(conclusion.under),
            reason=conclusion.reason,
            line=None,
            expression="",
        ),
    )


def _refused(
    what: str, line: int | None, started: float, mistake: ContractMistake | None = None
) -> ProofReport:
    return ProofReport(
        accesses=_NO_ACCESSES, refused=what, refused_line=line, questions=0, effort=0,
        solver_ms=_ms_since(started), contract_error=mistake,
    )  # fmt: skip


def _ms_since(started: float) -> float:
    return round((time.process_time() - started) * 1000, 3)


@dataclass
class _Reporter:
    """Makes the reports of all accesses, whose witnesses and proposals are bounded together."""

    order: ProveOrder
    text: str
    proof: KernelProof
    witnesses: int = field(default=0, init=False)
    witness_bytes: int = field(default=0, init=False)
    races_run: int = field(default=0, init=False)
    has_proposed: bool = field(default=False, init=False)

    def access(self, proved: AccessProof) -> AccessReport:
        """Return the report of one access."""
        operation = proved.access.operation
        location = operation.locations[0] if operation.locations else None
        answers = {}
        asked = {"bounds": proved.bounds, "overflow": proved.overflow, "race": proved.race}
        for check, finding in asked.items():
            if finding is not None:
                answers[check] = self._answer(proved, finding, is_race=check == "race")
        return AccessReport(
            file=None if location is None else file_in_kernel(location.file),
            line=None if location is None else location.line,
            column=None if location is None else location.column,
            argument=_argument_of(proved.access),
            kind=proved.access.kind,
            answers=answers,
        )

    def _answer(self, proved: AccessProof, finding: Conclusion, *, is_race: bool) -> AnswerReport:
        expression, line = "", None
        if finding.check is not None:
            expression, line = finding.check.result.text(), line_of(finding.check.operation)
        elif finding.case is not None:
            expression = finding.case.offset.text()
        verdict, reason = finding.verdict, finding.reason
        witness = None
        reported: str = verdict
        if verdict == "refuted" and is_race and self.races_run == MAX_RACES_RUN:
            reported = "possible"
            reason = f"not confirmed: a proof runs the programs of its first {MAX_RACES_RUN} races"
        elif verdict == "refuted" and finding.model is not None:
            self.races_run += is_race
            assert isinstance(proved.access, SymbolicAccess)
            try:
                run = WitnessRun(self.order, self.text, self.proof, proved.access, finding)
                witness = run.race(finding.model) if is_race else run.witness(finding.model)
                if not witness.message:
                    reported = "possible"
                    reason = "the CPU device did not confirm the sizes that break it"
            except (NotReplayed, Failure) as failure:
                reported = "possible"
                reason = f"the CPU device cannot run the sizes that break it: {failure}"
        if reported == "refuted" and witness is not None and not self._has_room_for(witness):
            witness = None
            reason = f"its witness is left out: a proof keeps the first {MAX_WITNESSES}"
        proposes = reported == "refuted" and not is_race and not self.has_proposed
        proposals = self._proposals(proved.access, finding) if proposes else []
        self.has_proposed |= bool(proposals)
        unchecked = reported == "proved" and "overflow" not in self.order.checks
        return AnswerReport(
            verdict=reported,  # type: ignore[arg-type]
            proved_under=[*sorted(finding.under), *([NO_WRAP] if unchecked else [])],
            reason=reason,
            line=line,
            expression=_readable(expression),
            witness=witness,
            proposals=proposals,
        )

    def _has_room_for(self, witness: WitnessReport) -> bool:
        """Return whether a witness is within the bounds of all of them, and count it if so."""
        size_bytes = len(json.dumps(asdict(witness)))
        if self.witnesses == MAX_WITNESSES or self.witness_bytes + size_bytes > MAX_WITNESS_BYTES:
            return False
        self.witnesses += 1
        self.witness_bytes += size_bytes
        return True

    def _proposals(self, access: SymbolicAccess | UnreadAccess, finding: Conclusion) -> list[str]:
        """Return the source with a change that may prove what is refuted."""
        operation = access.operation if finding.check is None else finding.check.operation
        place = _place_of(operation)
        if place is None or not self.order.source:
            return []
        if finding.check is None:
            _, line, column = place
            extent = self._extent(_argument_of(access) or "")
            return _bounded(masked(self.order.source, line, column, extent))
        places = [*dict.fromkeys([place, *self._wrapping()])][:MAX_WIDENED]
        return _bounded(widened(self.order.source, places, self.order.constants))

    def _wrapping(self) -> Iterator[Place]:
        """Yield the place of each operation whose result wraps."""
        for proved in self.proof.accesses:
            wraps = proved.overflow
            if wraps is not None and wraps.verdict == "refuted" and wraps.check is not None:
                place = _place_of(wraps.check.operation)
                if place is not None:
                    yield place

    def _extent(self, argument: str) -> str:
        """Return the contract's words for the elements of a buffer."""
        for line in self.order.contract.splitlines():
            name, colon, extent = line.partition("#")[0].partition(":")
            if colon and name.strip() == argument:
                return extent.strip()
        return ""


def _place_of(operation: Operation) -> Place | None:
    """Return the place of an operation in the user's source, None for one elsewhere."""
    [at, *_] = operation.locations or (None,)
    if at is None or file_in_kernel(at.file) != USER_FILE:
        return None
    return operation.name, at.line, at.column


def _bounded(proposals: Iterable[str]) -> list[str]:
    """Return the first proposals that are within the bounds of a report."""
    kept, left_bytes = [], MAX_PROPOSED_BYTES
    for source in islice(proposals, MAX_PROPOSALS):
        left_bytes -= len(json.dumps(source))
        if left_bytes < 0:
            break
        kept.append(source)
    return kept


def _readable(expression: str) -> str:
    """Return an expression in the words of Triton: `program_id(0)` for a program's number."""
    for axis, letter in enumerate(AXES):
        expression = expression.replace(f"program#{letter}", f"program_id({axis})")
    expression = _LANE.sub(r"arange(\1)", expression)
    return _OWN.sub(r"\1", expression)


def _argument_of(access: object) -> str | None:
    if not isinstance(access, SymbolicAccess):
        return None
    bases = {case.base for case in access.pointer.cases if isinstance(case.base, str)}
    return " or ".join(sorted(bases)) or None

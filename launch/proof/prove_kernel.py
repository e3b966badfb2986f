"""The task `prove`: from the text of a TTIR and a contract to a report of every access."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from compiler.back import ir_module
from compiler.diagnostic import Failure, file_in_kernel
from compiler.messages.wire import Send
from compiler.proof import solver
from compiler.proof.binding import AXES, SizeLimits
from compiler.proof.contract import ContractError
from compiler.proof.obligations import Conclusion
from compiler.proof.polynomial import Polynomial
from compiler.proof.proof_limits import ProofLimitReached, Unsupported
from compiler.proof.prove import AccessProof, KernelProof, prove
from compiler.proof.solver import Model
from compiler.proof.terms import SymbolicAccess, line_of
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.mlir_types import TRITON_NAMES, pointee_of
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.task import generic_form
from launch.contract.text import read_contract
from launch.proof.proof_messages import (
    AccessReport,
    AnswerReport,
    ProofReport,
    ProveOrder,
    WitnessReport,
)
from launch.proof.witness_replay import NotReplayed, ReplayedProgram, WitnessLaunch, replay

_STAGE = "ttir"
_LANE = re.compile(r"lane\d+#(\d+)")
_OWN = re.compile(r"([a-z]+)#\d+")
_WRAP_BITS = 32
"""A wrapped integer is a multiple of 2^32 away from the exact one."""
_NO_ACCESSES: list[AccessReport] = []


def prove_kernel(order: ProveOrder, body: bytes, _: Send) -> ProofReport:
    """Prove the kernel and replay what the solver calls broken."""
    text = bytes(body).decode()
    ir_module.check_size(text, _STAGE, order.ir_bounds)
    solver.prepare()
    started = time.process_time()
    try:
        generic, _symbol = generic_form(text, order.target, _STAGE)
        module = module_of(generic)
        limits = SizeLimits(order.most_size, order.most_elements)
        contract = read_contract(order.contract)
        proof = prove(module, contract, order.constants, limits, order.checks)
    except ContractError as error:
        at = error.position
        mistake: dict[str, int | str] = {
            "message": error.message, "line": at.line, "column": at.column,
        }  # fmt: skip
        return _refused("", None, started, mistake)
    except Unsupported as refusal:
        return _refused(refusal.what, refusal.line, started)
    except (ProofLimitReached, Untranslatable) as refusal:
        return _refused(str(refusal), None, started)
    except RecursionError:
        return _refused("it is nested too deeply", None, started)
    reporter = _Reporter(order, text, proof)
    accesses = [reporter.access(one) for one in proof.accesses]
    effort = proof.prover.linear.effort
    return ProofReport(
        accesses=accesses,
        refused="",
        refused_line=None,
        questions=effort.questions,
        effort=effort.spent,
        solver_ms=_ms_since(started),
    )


def _refused(
    what: str, line: int | None, started: float, mistake: dict[str, int | str] | None = None
) -> ProofReport:
    return ProofReport(
        accesses=_NO_ACCESSES, refused=what, refused_line=line, questions=0, effort=0,
        solver_ms=_ms_since(started), contract_error=mistake,
    )  # fmt: skip


def _ms_since(started: float) -> float:
    return round((time.process_time() - started) * 1000, 3)


@dataclass(frozen=True)
class _Reporter:
    order: ProveOrder
    text: str
    proof: KernelProof

    def access(self, proved: AccessProof) -> AccessReport:
        """Return the report of one access."""
        operation = proved.access.operation
        location = operation.locations[0] if operation.locations else None
        answers = {}
        for check, finding in (("bounds", proved.bounds), ("overflow", proved.overflow)):
            if finding is not None:
                answers[check] = self._answer(proved, finding)
        return AccessReport(
            file=None if location is None else file_in_kernel(location.file),
            line=None if location is None else location.line,
            column=None if location is None else location.column,
            argument=_argument_of(proved.access),
            kind=proved.access.kind,
            answers=answers,
        )

    def _answer(self, proved: AccessProof, finding: Conclusion) -> AnswerReport:
        expression, line = "", None
        if finding.check is not None:
            expression, line = finding.check.result.text(), line_of(finding.check.operation)
        elif finding.case is not None:
            expression = finding.case.offset.text()
        verdict, reason = finding.verdict, finding.reason
        witness = None
        said: str = verdict
        if verdict == "refuted" and finding.model is not None:
            assert isinstance(proved.access, SymbolicAccess)
            try:
                witness = self._witness(proved.access, finding, finding.model)
                if not witness.message:
                    said = "possible"
                    reason = "the CPU device did not confirm the sizes that break it"
            except (NotReplayed, Failure) as failure:
                said = "possible"
                reason = f"the CPU device cannot run the sizes that break it: {failure}"
        return AnswerReport(
            verdict=said,  # type: ignore[arg-type]
            proved_under=sorted(finding.proved_under),
            reason=reason,
            line=line,
            expression=_readable(expression),
            witness=witness,
        )

    def _witness(self, access: SymbolicAccess, finding: Conclusion, model: Model) -> WitnessReport:
        launch = self._launch(model)
        ran = replay(self.order, self.text, launch)
        confirmed, index = self._confirmed(access, finding, model, ran)
        bound = self.proof.contract
        own = [text for text in bound.sizes if text not in bound.arguments]
        types = {
            name: TRITON_NAMES.get(pointee_of(bound.arguments[name]) or "", "fp32")
            for name in launch.extents
        }
        return WitnessReport(
            scalars=dict(launch.scalars),
            sizes={text: model[text] for text in own},
            extents=dict(launch.extents),
            types=types,
            grid=list(launch.grid),
            program=list(launch.program),
            values={
                name: {str(at): value for at, value in found.items()}
                for name, found in launch.values.items()
            },
            index=index,
            message=confirmed,
        )

    def _launch(self, model: Model) -> WitnessLaunch:
        """Return the launch that a model describes."""
        bound, evaluator = self.proof.contract, self.proof.prover.evaluator
        scalars = {
            name: _value(bound.fixed[name], model) if name in bound.fixed else model[name]
            for name, kind in bound.arguments.items()
            if kind[:1] == "i" and kind[1:].isdigit()
        }
        buffers = [n for n, kind in bound.arguments.items() if pointee_of(kind) is not None]
        missing = [name for name in buffers if name not in bound.extents]
        if missing:
            raise NotReplayed(f"the contract does not say how many elements {missing[0]} has")
        values: dict[str, dict[int, int]] = {}
        for text, loaded in evaluator.loaded.items():
            if text in model.values:
                at = _value(loaded.offset, model)
                values.setdefault(loaded.base, {})[at] = model[text]
        return WitnessLaunch(
            parameters=list(bound.arguments),
            types=bound.arguments,
            scalars=scalars,
            extents={name: _value(bound.extents[name], model) for name in buffers},
            values=values,
            fill={name: _value(low, model) for name, (low, _) in bound.value_ranges.items()},
            grid=[_value(size, model) for size in bound.grid],
            program=[model[f"program#{axis}"] for axis in AXES],
        )

    def _confirmed(
        self, access: SymbolicAccess, finding: Conclusion, model: Model, ran: ReplayedProgram
    ) -> tuple[str, int | None]:
        """Return what the CPU device saw of the broken obligation, "" where it saw nothing."""
        location = access.operation.locations[0] if access.operation.locations else None
        if location is None:
            return "", None
        where = location.line, location.column
        here = [one for one in ran.touched if (one.location.line, one.location.column) == where]
        for one in here:
            outside = one.outside()
            if outside is not None and one.argument is not None:
                verb = "reads" if access.kind == "load" else "writes"
                return f"{verb} {one.argument}[{outside:,}] of {one.size:,} elements", outside
        expected = _offset_of(access, model)
        if finding.check is None or expected is None or ran.ended:
            return "", None
        # a loop touches the line in each turn: none may have reached the element in question
        lanes = [(one, _lanes_of(model, one.elements.shape[1:])) for one in here]
        seen = [int(one.elements[at]) for one, at in lanes if one.live[at]]
        wrapped = [at for at in seen if (expected - at) % (1 << _WRAP_BITS) == 0]
        if not wrapped or expected in seen:
            return "", None
        name = here[0].argument
        return f"uses {name}[{wrapped[0]:,}] in place of [{expected:,}]", wrapped[0]


def _readable(expression: str) -> str:
    """Return an expression in the words of Triton: `program_id(0)` for a program's number."""
    for axis, letter in enumerate(AXES):
        expression = expression.replace(f"program#{letter}", f"program_id({axis})")
    expression = _LANE.sub(r"arange(\1)", expression)
    return _OWN.sub(r"\1", expression)


def _offset_of(access: SymbolicAccess, model: Model) -> int | None:
    cases = access.pointer.cases
    return _value(cases[0].offset, model) if len(cases) == 1 else None


def _lanes_of(model: Model, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (0, *(model[f"lane{axis}#{size}"] for axis, size in enumerate(shape)))


def _value(polynomial: Polynomial, model: Model) -> int:
    return polynomial.value(model)


def _argument_of(access: object) -> str | None:
    if not isinstance(access, SymbolicAccess):
        return None
    bases = {case.base for case in access.pointer.cases if isinstance(case.base, str)}
    return " or ".join(sorted(bases)) or None

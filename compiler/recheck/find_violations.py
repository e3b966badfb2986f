"""Looks for sizes that keep a contract and break what was proved. The way into this package."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

import z3

from compiler.recheck.bit_ranges import has_products
from compiler.recheck.elements import (
    FALSE,
    TRUE,
    BlockDescriptor,
    Element,
    Index,
    PointedBuffer,
    Wrap,
    any_of,
    both,
    lane,
    opposite,
    simplified,
    widened,
)
from compiler.recheck.integer_form import IntegerForm
from compiler.recheck.integer_products import TooManyProducts
from compiler.recheck.machine import ACCESSES, MAX_TURNS, BitMachine, Run
from compiler.recheck.not_modelled import NotModelled
from compiler.recheck.reader import ReadOperation, kernel_of
from compiler.recheck.size_contract import SizeContract, read_contract
from compiler.recheck.tensor_operations import element_at, masked_operands
from compiler.recheck.written_buffers import written_buffers

Outcome = Literal["agrees", "violated", "timeout", "not_modelled"]
EFFORT = 2_500_000
"""Units of z3's own count for all questions about one kernel: about 0.5 s."""
_OF_BITS = (
    "simplify", "propagate-values", "solve-eqs", "simplify", "ackermannize_bv", "bit-blast", "sat",
)  # fmt: skip
_LINEAR = ("simplify", "propagate-values", "solve-eqs", "simplify", "smt")
GUESS_EFFORT = 150_000
SHARE_AT_ONCE = 0.8
"""The share of the effort that one question about all addresses may take in addition."""
MAX_ROUNDS = 16
"""Questions without products, each of which learns from the one before."""
MAX_PAIRS = 400
"""Pairs of executions that one question about a race has."""
_BLOCK = re.compile(r"tensordesc<(?:tensor<)?((?:\d+x)+)", re.ASCII)
_OF_A_BLOCK = "2 : i32"
"""The scope of an atomic operation that holds for one program only."""


@dataclass(frozen=True)
class CheckedAnswer:
    """The result of one check of an access; for a violation, the sizes that break it."""

    outcome: Outcome
    sizes: dict[str, int] = field(default_factory=dict)
    reason: str = ""
    probed: bool = False
    """True if a further condition holds at these sizes."""


@dataclass(frozen=True)
class RecheckedAccess:
    """One access of the kernel, in the order of the text."""

    operation: str
    answers: dict[str, CheckedAnswer]


@dataclass(frozen=True, eq=False)
class _Touched:
    """One execution of an access, at any of its elements."""

    live: z3.BoolRef
    """It runs, and its mask is true there."""
    cases: tuple[PointedBuffer, ...]
    outside: z3.BoolRef
    wraps: z3.BoolRef
    """An integer that a proof of overflow covers is wrong."""
    is_exact: bool


@dataclass(frozen=True)
class _Known:
    """The answer to a question, which several accesses ask. The terms keep their numbers."""

    terms: tuple[z3.BoolRef, z3.BoolRef]
    effort: int
    answer: CheckedAnswer


def find_violations(
    text: str,
    parameters: Sequence[str] | None,
    contract: str,
    constants: Mapping[str, int],
    most_size: int,
    most_elements: int,
    checks: Collection[str] = ("bounds", "overflow"),
    effort: int = EFFORT,
    most_turns: int = MAX_TURNS,
    wanted: Sequence[Collection[str]] | None = None,
) -> list[RecheckedAccess]:
    """Return the answers about every access of a module in generic form.

    Loops are unrolled `most_turns` times. `wanted` has the checks of each access that are asked
    about, of all `checks`; None for all. A kernel with another number of accesses has all asked.

    Raises NotModelled where the kernel or the contract cannot be read.
    """
    kernel = kernel_of(text)
    operations = [operation for operation in kernel.inside() if operation.name in ACCESSES]
    arguments = kernel.regions[0][0].arguments
    if parameters is None or len(parameters) != len(arguments):
        raise NotModelled("parameters that are not those of the kernel")
    typed = [(name, type_) for name, (_, type_) in zip(parameters, arguments, strict=True)]
    bound = read_contract(contract, typed, constants, most_size, most_elements)
    written = written_buffers(kernel, parameters)
    machines = [BitMachine(kernel, bound, written, tag, most_turns=most_turns) for tag in ("", "'")]
    if wanted is None or len(wanted) != len(operations):
        wanted = [checks] * len(operations)
    asked = {
        operation: frozenset(checks) & set(of)
        for operation, of in zip(operations, wanted, strict=True)
    }
    machines[0].execute(parameters)
    if any("races" in asked_checks for asked_checks in asked.values()):
        machines[1].execute(parameters)
    return _Questions(bound, machines, asked, effort).answers()


class _Questions:
    def __init__(
        self,
        contract: SizeContract,
        machines: Sequence[BitMachine],
        asked: Mapping[ReadOperation, frozenset[str]],
        effort: int,
    ) -> None:
        self._contract, self._machines = contract, machines
        self._operations, self._wanted, self._effort = list(asked), asked, effort
        self._touched: dict[tuple[ReadOperation, str], list[_Touched]] = {}
        self._known: dict[tuple[int, int], _Known] = {}
        self._spent = 0

    def answers(self) -> list[RecheckedAccess]:
        rechecked = []
        left = len(self._operations)
        agreeing = (
            self._agreeing_at_once() if any(map(self._address_checks, self._operations)) else ()
        )
        for operation in self._operations:
            asked = self._address_checks(operation)
            answers: dict[str, CheckedAnswer] = {}
            rest = self._effort - self._spent
            share = min(2 * rest // left, rest * 2 // 3) if left > 1 else rest
            if operation in agreeing:
                answers = dict.fromkeys(asked, CheckedAnswer("agrees"))
            elif asked:
                answers = self._addresses(operation, asked, share)
            if "races" in self._wanted[operation] and _writes(operation):
                answers["race"] = self._race(operation, share)
            rechecked.append(RecheckedAccess(operation.name, answers))
            left -= 1
        return rechecked

    def _address_checks(self, operation: ReadOperation) -> list[str]:
        """Return what is asked about an address."""
        return [check for check in ("bounds", "overflow") if check in self._wanted[operation]]

    def _agreeing_at_once(self) -> frozenset[ReadOperation]:
        """Ask one question about all addresses, which is often as easy as one about each."""
        violations: list[z3.BoolRef] = []
        operations = set[ReadOperation]()
        for operation in self._operations:
            asked = self._address_checks(operation)
            if not asked:
                continue
            try:
                runs = self._runs(operation, self._machines[0])
            except (NotModelled, RecursionError, KeyError):
                continue
            operations.add(operation)
            violations += [condition for condition, _ in _violations(runs, asked)]
        formulas = [*self._facts(), simplified(any_of(violations))]
        outcome, _ = self._in_integers(formulas, int(self._effort * SHARE_AT_ONCE))
        self._spent = 0
        return frozenset(operations if outcome == z3.unsat else ())

    def _addresses(
        self, operation: ReadOperation, asked: Sequence[str], share: int
    ) -> dict[str, CheckedAnswer]:
        try:
            runs = self._runs(operation, self._machines[0])
        except (NotModelled, RecursionError, KeyError) as refused:
            return dict.fromkeys(asked, CheckedAnswer("not_modelled", reason=str(refused)))
        if len(asked) == 1:
            return {asked[0]: self._ask(_violations(runs, asked), share)}
        wrapping = _violations(runs, ["overflow"])
        wrapped = any_of([condition for condition, _ in wrapping])
        answer = self._ask(_violations(runs, asked), share, probe=wrapped)
        if answer.outcome != "violated":
            return dict.fromkeys(asked, answer)
        if answer.probed:
            in_numbers = _violations(runs, ["bounds"])
            return {"bounds": self._ask(in_numbers, share), "overflow": answer}
        return {"bounds": answer, "overflow": self._ask(wrapping, share)}

    def _runs(self, operation: ReadOperation, machine: BitMachine) -> list[_Touched]:
        key = operation, machine.tag
        if key not in self._touched:
            executed = machine.runs.get(operation, [])
            self._touched[key] = [_touched(machine, run) for run in executed]
        return self._touched[key]

    def _race(self, operation: ReadOperation, share: int) -> CheckedAnswer:
        """Return whether another program may meet a write."""
        try:
            pairs = list(islice(self._meetings(operation), MAX_PAIRS + 1))
        except (NotModelled, RecursionError, KeyError) as refused:
            return CheckedAnswer("not_modelled", reason=str(refused))
        if len(pairs) > MAX_PAIRS:
            return CheckedAnswer("not_modelled", reason="more executions than are compared")
        programs = zip(*(machine.program for machine in self._machines), strict=True)
        return self._ask(pairs, share, any_of([x != y for x, y in programs]))

    def _meetings(self, operation: ReadOperation) -> Iterator[tuple[z3.BoolRef, bool]]:
        """Yield when two programs meet in an element, one of them by this write."""
        first, second = self._machines
        others = [other for other in self._operations if not _commute(operation, other)]
        for a in self._runs(operation, first):
            for b in (run for other in others for run in self._runs(other, second)):
                same = [
                    both(x.condition, y.condition, x.offset == y.offset)
                    for x in a.cases
                    for y in b.cases
                    if x.buffer == y.buffer
                ]
                is_real = both(a.live, b.live, opposite(a.wraps), opposite(b.wraps))
                yield both(is_real, any_of(same)), a.is_exact and b.is_exact

    def _ask(
        self,
        violations: Sequence[tuple[z3.BoolRef, bool]],
        share: int,
        condition: z3.BoolRef = TRUE,
        probe: z3.BoolRef = FALSE,
    ) -> CheckedAnswer:
        """Return whether some violation is possible, and whether it is sure to be one."""
        if len(violations) > 1 and has_products(formula for formula, _ in violations):
            return self._ask_each(violations, share, condition, probe)
        answer = self._sizes([formula for formula, _ in violations], share, condition, probe)
        if answer.outcome != "violated" or all(is_exact for _, is_exact in violations):
            return answer
        exact = [formula for formula, is_exact in violations if is_exact]
        answer = self._sizes(exact, share, condition, probe)
        if answer.outcome == "agrees":
            return CheckedAnswer(
                "not_modelled", reason="it depends on values that are not modelled"
            )
        return answer

    def _ask_each(
        self,
        violations: Sequence[tuple[z3.BoolRef, bool]],
        share: int,
        condition: z3.BoolRef,
        probe: z3.BoolRef,
    ) -> CheckedAnswer:
        """Ask about one violation after the other, which is easier where there are products."""
        end, worst = self._spent + share, CheckedAnswer("agrees")
        for number, violation in enumerate(violations):
            left = (end - self._spent) // (len(violations) - number)
            answer = self._ask([violation], 2 * left, condition, probe)
            if answer.outcome == "violated":
                return answer
            if answer.outcome != "agrees":
                worst = answer
                if answer.outcome == "timeout" and number == 0:
                    break
        return worst

    def _sizes(
        self, violations: list[z3.BoolRef], share: int, condition: z3.BoolRef, probe: z3.BoolRef
    ) -> CheckedAnswer:
        broken = simplified(any_of(violations))
        if z3.is_false(broken):
            return CheckedAnswer("agrees")
        left = min(share, self._effort - self._spent)
        key = broken.get_id(), condition.get_id()
        known = self._known.get(key)
        if known is not None and (known.answer.outcome == "agrees" or left <= known.effort):
            return known.answer
        if left <= 0:
            return CheckedAnswer("timeout")
        answer = self._asked(broken, condition, probe, left)
        self._known[key] = _Known((broken, condition), left, answer)
        return answer

    def _asked(
        self, broken: z3.BoolRef, condition: z3.BoolRef, probe: z3.BoolRef, left: int
    ) -> CheckedAnswer:
        formulas = [*self._facts(), condition, broken]
        end = self._spent + left
        outcome, model = self._in_integers(formulas, left * 2 // 3)
        if outcome == z3.unknown and self._spent < end:
            outcome, model = self._solved(formulas, end - self._spent)
        if model is None:
            return CheckedAnswer("agrees" if outcome == z3.unsat else "timeout")
        probed = z3.is_true(model.eval(probe, model_completion=True))
        return CheckedAnswer("violated", self._launch(model), probed=probed)

    def _facts(self) -> list[z3.BoolRef]:
        return [
            *self._contract.facts,
            *(fact for machine in self._machines for fact in machine.facts),
        ]

    def _in_integers(
        self, formulas: list[z3.BoolRef], effort: int
    ) -> tuple[z3.CheckSatResult, z3.ModelRef | None]:
        """Return whether formulas have a solution; unknown where integers do not decide it."""
        form = IntegerForm(self._machines[0].arithmetic.ranges)
        end = self._spent + effort
        try:
            known = [form.formula(formula) for formula in formulas]
        except TooManyProducts:
            return z3.unknown, None
        known += [*form.facts, *form.products.facts()]
        for _ in range(MAX_ROUNDS):
            outcome, model = self._solved(known, end - self._spent, _LINEAR)
            if model is None:
                return outcome, None
            learned = form.products.learned(model)
            if learned:
                guess = [*known, *form.products.guess(model)]
                _, guessed = self._solved(guess, min(end - self._spent, GUESS_EFFORT), _LINEAR)
            else:
                guessed = model
            if guessed is not None:
                solution = self._in_bits(formulas, form, guessed)
                if solution is not None:
                    return z3.sat, solution
            if not learned or self._spent >= end:
                break
            known += learned
        return z3.unknown, None

    def _in_bits(
        self, formulas: list[z3.BoolRef], form: IntegerForm, model: z3.ModelRef
    ) -> z3.ModelRef | None:
        """Return the solution in bits that has the numbers of one in integers, if it is one."""
        fixed = []
        for term, number in form.constants:
            value = model.eval(number, model_completion=True)
            if isinstance(value, z3.IntNumRef):
                fixed.append(term == value.as_long())
            elif z3.is_bool(term):
                fixed.append(term == value)
            else:
                fixed.append(term == int(z3.is_true(value)))
        return self._solved([*formulas, *fixed], GUESS_EFFORT)[1]

    def _solved(
        self, formulas: list[z3.BoolRef], effort: int, tactics: Sequence[str] = _OF_BITS
    ) -> tuple[z3.CheckSatResult, z3.ModelRef | None]:
        """Ask z3, with a bounded effort."""
        solver = z3.Then(*tactics).solver()
        solver.set("rlimit", max(effort, 1))
        solver.add(*formulas)
        before = _count()
        try:
            outcome = solver.check()
            model = solver.model() if outcome == z3.sat else None
        except z3.Z3Exception:  # it needs more memory than it may have
            outcome, model = z3.unknown, None
        self._spent += max(_count() - before, 1)
        return outcome, model

    def _launch(self, model: z3.ModelRef) -> dict[str, int]:
        """Return the sizes of a model, its grid, and its programs."""
        named = dict(self._contract.chosen)
        named |= {
            f"grid.{axis}": size.term for axis, size in zip("xyz", self._contract.grid, strict=True)
        }
        for machine in self._machines:
            for axis, program in zip("xyz", machine.program, strict=False):
                named[f"program{machine.tag}.{axis}"] = program
        return {
            name: model.eval(term, model_completion=True).as_signed_long()
            for name, term in named.items()
        }


def _count() -> int:
    """Return z3's count of its effort in this process."""
    solver = z3.Solver()
    solver.check()
    return int(solver.statistics().get_key_value("rlimit count"))


def _violations(runs: Sequence[_Touched], asked: Sequence[str]) -> list[tuple[z3.BoolRef, bool]]:
    """Return what breaks the asked checks of an access, and whether it is sure to."""
    if "overflow" not in asked:
        return [(both(run.outside, opposite(run.wraps)), run.is_exact) for run in runs]
    if "bounds" not in asked:
        return [(run.wraps, run.is_exact) for run in runs]
    return [(any_of([run.outside, run.wraps]), run.is_exact) for run in runs]


def _writes(operation: ReadOperation) -> bool:
    return operation.name not in ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")


def _commute(a: ReadOperation, b: ReadOperation) -> bool:
    """Return True for accesses of two programs that may meet: loads, and alike atomic ones."""
    is_atomic = "atomic" in a.name or a.name == "tt.descriptor_reduce"
    is_alike = a.name == b.name and a.attributes == b.attributes
    return is_atomic and is_alike and a.text("scope") != _OF_A_BLOCK


def _touched(machine: BitMachine, run: Run) -> _Touched:
    if run.operation.name.startswith("tt.descriptor"):
        return _by_descriptor(machine, run)
    shape = run.operation.operand_types[0].shape
    index = _lanes(machine, shape)
    pointer = element_at(run.operands[0], index)
    mask, _ = masked_operands(run.operation, run.operands)
    by = () if mask is None else (element_at(mask, index),)
    conditions = [element.is_true for element in by]
    path = run.path.under(*conditions, by=by)
    # a mask decides only where the access is reached: a sum of a loop may wrap after its last turn
    of_mask = {
        Wrap(both(run.path.condition, wrap.condition)) for wrap in path.wraps - run.path.wraps
    }
    always = run.path.wraps | of_mask
    return _checked(machine, path.condition, pointer, always, path.is_exact)


def _checked(
    machine: BitMachine,
    live: z3.BoolRef,
    pointer: Element,
    always: frozenset[Wrap],
    is_exact: bool,
) -> _Touched:
    """Return an access whose address is `pointer`; integers in `always` count without its mask."""
    if not pointer.cases:
        raise NotModelled("an address that is not modelled")
    outside = []
    for case in pointer.cases:
        extent = machine.contract.extents.get(case.buffer)
        if extent is not None:
            leaves = z3.Or(case.offset < 0, case.offset >= extent)
            outside.append(both(live, case.condition, leaves))
    wraps = [wrap.condition for wrap in always]
    wraps += [both(live, wrap.condition) for wrap in pointer.wraps - always]
    return _Touched(
        live, pointer.cases, any_of(outside), any_of(wraps), is_exact and pointer.is_exact
    )


def _by_descriptor(machine: BitMachine, run: Run) -> _Touched:
    """Return an access by descriptor, which a device keeps inside of the descriptor's shape."""
    operation, descriptor = run.operation, run.operands[0]
    match = _BLOCK.search(operation.operand_types[0].text)
    if (
        not isinstance(descriptor, BlockDescriptor)
        or match is None
        or "_gather" in operation.name
        or "_scatter" in operation.name
    ):
        raise NotModelled(operation.name)
    index = _lanes(machine, tuple(int(size) for size in match[1].split("x") if size))
    first = 1 if operation.name == "tt.descriptor_load" else 2
    starts = [element_at(operand, ()) for operand in run.operands[first:]]
    if not len(starts) == len(index) == len(descriptor.sizes) == len(descriptor.strides):
        raise NotModelled("a descriptor of another rank")
    inside, some = [run.path.condition], [run.path.condition]
    offset = descriptor.pointer.cases
    coordinates = []
    for start, i, size, stride in zip(
        starts, index, descriptor.sizes, descriptor.strides, strict=True
    ):
        if start.bits is None or size.bits is None or stride.bits is None:
            raise NotModelled("a descriptor of unknown shape")
        coordinate = widened(start.bits) + z3.ZeroExt(32, i)
        inside += [coordinate >= 0, coordinate < widened(size.bits)]
        some.append(size.bits >= 1)
        coordinates.append(coordinate * widened(stride.bits))
    made = tuple(
        PointedBuffer(case.condition, case.buffer, sum(coordinates, case.offset)) for case in offset
    )
    shapes = [*descriptor.sizes, *descriptor.strides, descriptor.pointer]
    always = run.path.wraps.union(*(element.wraps for element in shapes))
    is_exact = run.path.is_exact and all(element.is_exact for element in (*shapes, *starts))
    pointer = Element(None, made, always)
    touched = _checked(machine, both(*inside), pointer, always, is_exact)
    wraps = [both(*some, wrap.condition) for start in starts for wrap in start.wraps - always]
    return _Touched(touched.live, made, touched.outside, any_of([touched.wraps, *wraps]), is_exact)


def _lanes(machine: BitMachine, shape: tuple[int, ...]) -> Index:
    """Return any index of a shape."""
    index = []
    for axis, size in enumerate(shape):
        length = (size - 1).bit_length()
        if not length:
            index.append(lane(0))
            continue
        bits = z3.BitVec(f"lane.{axis}.{size}{machine.tag}", length)
        index.append(z3.ZeroExt(32 - length, bits))
        if size & (size - 1):
            machine.facts.append(z3.ULT(bits, size))
    return tuple(index)

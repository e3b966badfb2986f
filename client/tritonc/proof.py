"""A proof as answered by the service: frozen views of the JSON.

Parsing is lenient, so that newer services work; unknown members stay in `raw`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tritonc.compilation import UNFINISHED
from tritonc.diagnostic import POSTED_SOURCE, Problem, posted_names
from tritonc.members import read_members
from tritonc.service_errors import TritoncError

PROVED = "proved"
_LIMITS = "scalars and sizes"
_EXTENT = ": its extent"
_LOADED = re.compile(r"the values of (\w+), loaded")
_MAX_RUNS = 12
"""Runs of equal values of a buffer that are shown."""
_TITLES = {"bounds": "in bounds", "overflow": "32-bit overflow", "race": "no race"}
_OF_A_PAIR = "store the same"
_BITS = {
    "agrees": "agrees with",
    "timeout": "reached its limit for",
    "not_modelled": "does not cover",
}


def _held(witness: Mapping[str, Any]) -> Iterator[str]:
    """Yield what buffers hold where a launch lists it: `table_ptr = [0 (3 times), 7]`."""
    for name, argument in (witness.get("arguments") or {}).items():
        init = argument.get("init") if isinstance(argument, Mapping) else None
        if isinstance(init, Mapping) and init.get("kind") == "values":
            runs = [(value, len(list(same))) for value, same in groupby(init.get("values") or ())]
            texts = [f"{v} ({n:,} times)" if n > 1 else str(v) for v, n in runs[:_MAX_RUNS]]
            more = ["..."] if len(runs) > _MAX_RUNS else []
            yield f"{name} = [{', '.join([*texts, *more])}]"


def _is_of_all(statement: str) -> bool:
    """Return whether nearly all proofs rest on a statement: a report has these once, at its end."""
    return statement.startswith(_LIMITS) or statement.endswith(_EXTENT)


def _by_bits(outcomes: Sequence[str | None]) -> str:
    """Return what bit-vectors did with the proofs: to reach a limit is not to disagree."""
    counts = Counter(outcomes)
    if counts["agrees"] == len(outcomes):
        return "agrees"
    return ", ".join(
        f"{verb} {counts[outcome]} of {len(outcomes)} proofs"
        for outcome, verb in _BITS.items()
        if counts[outcome]
    )


@dataclass(frozen=True, slots=True)
class ProofAnswer:
    """The answer to one question about one access: `proved`, `refuted`, `possible`, `unknown`."""

    verdict: str = ""
    proved_under: tuple[str, ...] = ()
    reason: str | None = None
    line: int | None = None
    expression: str | None = None
    witness: Mapping[str, Any] | None = None
    """Sizes that break it, as a launch request."""
    replay: Mapping[str, Any] | None = None
    fix: Mapping[str, Any] | None = None
    """A change that proves it: `patch`, and `registers` and `instructions` (by class) before and
    after on a `target`."""
    rechecked: Mapping[str, Any] | None = None
    """Of `proved`: the `runs` that reached the access, and `bits`, the answer of bit-vectors."""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ProofAnswer":
        """Parse an answer; unknown members are ignored."""
        return read_members(cls, body, proved_under=tuple(body.get("proved_under") or ()))

    def on_one_line(self, check: str) -> str:
        """Return the answer for a report without its own lines."""
        return "; ".join(map(str.strip, self.sentence(check).splitlines()))

    def sentence(self, check: str) -> str:
        """Return the answer, of a refutation with indented lines below it."""
        if self.verdict == "proved":
            own = ", ".join(text for text in self.proved_under if not _is_of_all(text))
            return f"proved for all sizes{f' ({own})' if own else ''}{self._recheck_gap()}"
        if self.verdict != "refuted" or self.replay is None:
            return f"{self.verdict}: {self.reason or 'no reason given'}"
        sizes = self.replay.get("sizes") or {}
        known = [f"{name} = {value:,}" for name, value in sizes.items()]
        named = ", ".join([*known, *_held(self.witness or {})])
        verbs = {"overflow": "wraps", "race": "meets another program"}
        verb = verbs.get(check, "leaves its buffer")
        what = f"{'offset ' if check == 'race' else ''}{self.expression} {verb}"
        where = f" at line {self.line}" if self.line and check == "overflow" else ""
        return (
            f"REFUTED: {what}{where}, first at {named or 'any sizes'}\n"
            f"{'':19}replayed on the CPU device: {self.replay.get('message')}{self._fix_text()}"
        )

    def _recheck_gap(self) -> str:
        """Return that no run re-checked a proof, "" where one did."""
        if self.rechecked is None or self.rechecked.get("runs"):
            return ""
        is_agreed = self.rechecked.get("bits") == "agrees"
        return "; re-checked by bit-vectors alone" if is_agreed else "; not re-checked"

    def _fix_text(self) -> str:
        """Return the change that proves it, "" where none is known."""
        if self.fix is None:
            return ""
        changed = [
            line[1:].strip()
            for line in str(self.fix.get("patch")).splitlines()
            if line.startswith("+") and not line.startswith("+++")
        ]
        counts = self.fix.get("instructions") or ()
        costs: dict[str, Sequence[int | None]] = {
            "registers": self.fix.get("registers") or (),
            "instructions": [sum(each.values()) if each else None for each in counts],
        }
        increases = [
            f"{what} {pair[0]} to {pair[1]}"
            for what, pair in costs.items()
            if len(pair) == 2 and None not in pair
        ]
        cost = f"; {', '.join(increases)} on {self.fix.get('target')}" if costs else ""
        return f"\n{'':19}proved with: {'; '.join(changed)}{cost}"


@dataclass(frozen=True, slots=True)
class ProvedAccess:
    """One access of the kernel, with the answers by check."""

    kind: str = ""
    file: str | None = None
    line: int | None = None
    column: int | None = None
    argument: str | None = None
    answers: Mapping[str, ProofAnswer] = field(default_factory=dict)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "ProvedAccess":
        """Parse an access; unknown members are ignored."""
        posted = {name: body[name] for name in _TITLES if body.get(name) is not None}
        answers = {name: ProofAnswer.from_json(answer) for name, answer in posted.items()}
        return read_members(cls, body, answers=answers)


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof at the time of the request.

    `verdict` is that of the worst access; `contract` the text it was proved against. `sources` are
    the texts that this client posted, by file.
    """

    id: str
    state: str
    verdict: str | None = None
    reason: str | None = None
    contract: str | None = None
    is_inferred: bool = False
    accesses: tuple[ProvedAccess, ...] = ()
    equivalent: ProofAnswer | None = None
    """Of two kernels: `proved` if they store the same."""
    cache: str | None = None
    solver_ms: float | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    problem: Problem | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Proof":
        """Parse a proof. Raises KeyError or TypeError if it is malformed."""
        accesses = tuple(map(ProvedAccess.from_json, body.get("accesses") or ()))
        pair = body.get("equivalent")
        equivalent = None if pair is None else ProofAnswer.from_json(pair)
        problem = Problem.of(body)
        return read_members(
            cls, body, accesses=accesses, equivalent=equivalent, problem=problem, raw=body
        )

    def _answers(self) -> Iterator[ProofAnswer]:
        for access in self.accesses:
            yield from access.answers.values()
        if self.equivalent is not None:
            yield self.equivalent

    def unproved(self) -> Iterator[tuple[ProvedAccess, str, ProofAnswer]]:
        """Yield what is not proved: an access, the check, and its answer."""
        for access in self.accesses:
            for check, answer in access.answers.items():
                if answer.verdict != PROVED:
                    yield access, check, answer

    @property
    def finished(self) -> bool:
        """True if the proof is over; states newer than this client count as over."""
        return self.state not in UNFINISHED

    def rechecks(self) -> str:
        """Return what the re-checks of all proofs saw, "" without any."""
        seen = [answer.rechecked for answer in self._answers() if answer.rechecked is not None]
        if not seen:
            return ""
        runs = sorted(int(item.get("runs") or 0) for item in seen)
        spread = f"{runs[0]:,}" if runs[0] == runs[-1] else f"{runs[0]:,} to {runs[-1]:,}"
        return (
            f"{spread} runs, the bit-vector check {_by_bits([item.get('bits') for item in seen])}"
        )

    def render(self, name: str = POSTED_SOURCE) -> str:
        """Return the answers as lines; `name` is the file's."""
        return "\n".join(self._lines(name))

    def short_lines(self, name: str = POSTED_SOURCE) -> Iterator[str]:
        """Yield the verdict, and what is not proved, for the report of a launch."""
        why = str(self.problem) if self.problem is not None else self.reason
        yield f"proof for all sizes: {self.verdict or self.state}{f': {why}' if why else ''}"
        for access, check, answer in self.unproved():
            file = posted_names(name).get(access.file, access.file) if access.file else name
            place = f"{file}:{access.line}: {access.kind} of {access.argument}"
            yield f"  {place}: {_TITLES[check]}: {answer.on_one_line(check)}"

    def _lines(self, name: str) -> Iterator[str]:
        if self.problem is not None:
            yield f"{self.problem.title}: {self.problem.detail}"
        for access in (item for item in self.accesses if item.answers):
            file = posted_names(name).get(access.file, access.file) if access.file else name
            yield f"{file}:{access.line}  {self._text_of(access)}"
            for check, answer in access.answers.items():
                yield f"  {_TITLES[check]:15}  {answer.sentence(check)}"
        if self.equivalent is not None:
            yield f"{name}  two kernels"
            yield f"  {_OF_A_PAIR:15}  {self.equivalent.sentence(_OF_A_PAIR)}"
        yield from self._hints()
        if self.reason:
            yield f"{name}: not read: {self.reason}"
        if rechecks := self.rechecks():
            yield f"re-checked: {rechecks}"
        if self.verdict is not None:
            under = (text for answer in self._answers() for text in answer.proved_under)
            limits = [text for text in dict.fromkeys(under) if text.startswith(_LIMITS)]
            is_proved = self.verdict == PROVED and limits
            bounds = " and ".join(text.removeprefix(f"{_LIMITS} are ") for text in limits)
            where = f", where {_LIMITS} are {bounds}" if is_proved else ""
            yield f"verdict: {self.verdict}{where}"

    def _hints(self) -> Iterator[str]:
        """Yield statements that the contract lacks."""
        reasons = "\n".join(answer.reason or "" for _, _, answer in self.unproved())
        for name in dict.fromkeys(_LOADED.findall(reasons)):
            if f"values {name}:" not in (self.contract or ""):
                yield f"hint: add the range of {name} to the contract: `values {name}: 0 .. SIZE`"

    def _text_of(self, access: ProvedAccess) -> str:
        lines = self.sources.get(access.file or POSTED_SOURCE, "").splitlines()
        known = access.line is not None and 0 < access.line <= len(lines)
        return (
            lines[(access.line or 1) - 1].strip() if known else f"{access.kind} {access.argument}"
        )


class ProofFailed(TritoncError):
    """A proof found nothing out: the kernel does not compile, or the contract does not fit it."""

    def __init__(self, proof: Proof, name: str = "") -> None:
        problem = proof.problem
        detail = problem.detail if problem else f"the proof {proof.id} is {proof.state}"
        super().__init__(f"{name}: {detail}" if name else detail)
        self.proof = proof


def prove_request(
    kernel: Mapping[str, Any],
    contract: str | None,
    cases: Sequence[Mapping[str, Any]],
    checks: Iterable[str],
    limits: Mapping[str, int] | None,
) -> dict[str, Any]:
    """Return the body of a request to prove a kernel."""
    settings = {
        "contract": contract,
        "cases": [dict(case) for case in cases] or None,
        "checks": list(checks) or None,
        "limits": None if limits is None else dict(limits),
    }
    return {**kernel, **{name: member for name, member in settings.items() if member is not None}}

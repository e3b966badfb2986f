"""Has children record the candidate, its reference, and the code that makes inputs.

A program's code ran in such a child, so it may have forged anything that the child sends. The tape
is parsed as hostile bytes, and every other ending maps to a named problem.

This worker caches the tapes of references and of code that makes inputs, separately for each
caller, since many candidates share one reference.
"""

import asyncio
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from compiler.diagnostic import USER_FILE
from compiler.messages.wire import header_of
from compiler.parameter_binding import BindingFailed
from jobs.deadline import Deadline, DeadlinePassed
from programs.program_job import (
    CANDIDATE,
    REFERENCE,
    ProgramEntry,
    ProgramJob,
    program_problem,
)
from programs.program_record import ProgramFlag, ProgramProblem
from programs.program_request import InputsRequest
from programs.recorder.record_order import (
    MAX_ATTEMPTS,
    REASONS,
    SLUGS,
    RecordOrder,
    RecordReport,
    SandboxAttempt,
    Unrecordable,
)
from programs.tape.inputs_tape import inputs_text, makes_equal_inputs
from programs.tape.read_tape import read_tape
from programs.tape.schema import (
    MAX_LINE,
    DictOf,
    InvalidTape,
    ListOf,
    Structure,
    Tape,
    TapeKernel,
    TensorRef,
    TupleOf,
)
from worker.compile.child_failure import misreported, signal_name, violation_of
from worker.compile.lru_cache import LRUCache
from worker.compile.message_limits import MessageLimits
from worker.compile.reports import FailureReport, Malformed, Message
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import Pool, killed_from_outside

TAPE = "tape"
TAPE_OVERHEAD = 10
"""The approximate ratio of a parsed tape's size to its text's."""
_NOT_IMPORTED = frozenset({"syntax_error", "missing_module"})
_ENTRY_NAMES = {"model": "class", "function": "name", "inputs": "name"}


@dataclass(frozen=True, slots=True)
class ProgramTape:
    """A tape, and the JSON that it was read from."""

    tape: Tape
    text: bytes
    inputs_seed: int | None = None
    """The seed of the plain numbers among its inputs; None if it draws none."""
    attempts: tuple[ProgramFlag, ...] = ()
    """A flag for each attempt to leave the sandbox."""


class NotRecorded(Exception):
    """There is no tape; `problem` gives the reason and the program."""

    def __init__(self, problem: ProgramProblem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


async def record_program(
    pool: Pool, order: RecordOrder, body: bytes, program: str, timeout_s: float, deadline: Deadline
) -> ProgramTape:
    """Return the tape of a `program`: `candidate` or `reference`.

    Raises NotRecorded, DeadlinePassed, ZygoteError.
    """
    step = deadline.step(timeout_s)
    outcome = await pool.run(
        order.profile, header_of(order), body, deadline_s=step.limit_s, stages={TAPE}
    )
    if outcome.ending is Ending.DEADLINE:
        step.timed_out()
    if outcome.result is None:
        raise NotRecorded(_problem_of(outcome, order, program, timeout_s))
    text, report = _sent(outcome, program)
    try:
        # in a thread: a long tape takes seconds to read
        tape = await asyncio.to_thread(read_tape, text)
    except InvalidTape as forged:
        detail = f"The process that recorded the program sent an invalid tape: {forged}."
        raise NotRecorded(program_problem("invalid_tape", detail, program=program)) from None
    attempts = tuple(map(_flag, report.attempts))
    return ProgramTape(tape, text, order.inputs_seed if report.draws_inputs else None, attempts)


_File = Annotated[str, Field(max_length=256)]
_Line = Annotated[int, Field(ge=0, le=MAX_LINE)]
_LIMITS = MessageLimits({str | None: _File | None, int: _Line, int | None: _Line | None})
_ATTEMPT: Any = _LIMITS.within(SandboxAttempt, what=Message, file=_File)
_read_report = _LIMITS.reader(
    RecordReport,
    not_recordable=_LIMITS.within(
        Unrecordable, reason=Annotated[str, Field(max_length=64)], detail=Message
    )
    | None,
    attempts=Annotated[list[_ATTEMPT], Field(max_length=MAX_ATTEMPTS)],
)


def _flag(attempt: SandboxAttempt) -> ProgramFlag:
    message = (
        f"the program tried {attempt.what} while it was recorded, which the sandbox refuses; "
        "it gets its inputs, and needs nothing else"
    )
    return ProgramFlag(
        kind="sandbox_attempt", message=message, file=attempt.file, line=attempt.line
    )


def _sent(outcome: ChildOutcome, program: str) -> tuple[bytes, RecordReport]:
    """Return the tape that was sent, and the report of its recording.

    Raises NotRecorded if there is none.
    """
    try:
        report = _read_report(outcome.result or {})
    except Malformed as error:
        raise NotRecorded(_invalid(str(error), program)) from None
    if report.not_recordable is not None:
        raise NotRecorded(_refusal(report.not_recordable, program))
    if not outcome.stages:
        raise NotRecorded(_invalid("there is no tape", program))
    return outcome.stages[0].body, report


def _refusal(why: Unrecordable, program: str) -> ProgramProblem:
    known = REASONS.get(why.reason)
    if known is None:
        return _invalid("an unknown reason", program)
    known = known.replace("The program", f"The {_words_of(program)}", 1)
    is_slug = why.reason in SLUGS
    return program_problem(
        why.reason if is_slug else "not_recordable",
        f"{known}: {why.detail}" if why.detail else f"{known}.",
        program=program,
        reason=None if is_slug else why.reason,
        file=why.file,
        line=why.line,
    )


def _words_of(program: str) -> str:
    """Return what messages call a program: "reference" or "program"."""
    return REFERENCE if program == REFERENCE else "program"


def _invalid(detail: str, program: str) -> ProgramProblem:
    return program_problem("invalid_tape", misreported(detail), program=program)


def _problem_of(
    outcome: ChildOutcome, order: RecordOrder, program: str, timeout_s: float
) -> ProgramProblem:
    """Return the problem of a program whose recorder sent nothing."""
    slug, detail = _named(outcome, order, _words_of(program), timeout_s)
    return program_problem(slug, detail, program=program)


def _named(
    outcome: ChildOutcome, order: RecordOrder, who: str, timeout_s: float
) -> tuple[str, str]:
    if outcome.ending is Ending.SANDBOX:
        return "worker_lost", "A layer of the sandbox failed, so nothing was recorded."
    if killed_from_outside(outcome, order.profile):
        detail = f"The process that recorded the {who} died ({outcome.detail}); post it again."
        return "worker_lost", detail
    if outcome.ending is Ending.DEADLINE:
        return "record_timeout", (
            f"Recording the {who} did not end within timeout_s = {timeout_s:g} s. Recording "
            f"computes no tensor values, so the time went into the {who}'s Python: look for a long "
            "loop."
        )
    if (violation := violation_of(outcome)) is not None:
        return "sandbox_violation", violation
    if outcome.failure is not None:
        return _of_failure(outcome.failure, who)
    return (
        "recorder_crashed",
        f"The process that recorded the {who} ended by {signal_name(outcome)}.",
    )


def _of_failure(failure: dict[str, Any], who: str) -> tuple[str, str]:
    try:
        report = FailureReport.read(failure)
    except Malformed as error:
        return "invalid_tape", misreported(str(error))
    if report.slug == "memory_exceeded":
        return "recorder_crashed", (
            f"Recording the {who} needs more memory than its process may use. Tensors take no "
            f"memory there, so the {who}'s Python does."
        )
    return "recorder_crashed", f"The recorder of the {who} failed: {report.message}"


@dataclass(frozen=True, slots=True)
class PostedKernel:
    """A source with a kernel called `name`, and the files that it imports.

    With `is_own`, it is the program's source, so lines agree; else it only imports the kernel.
    """

    source: str
    files: Mapping[str, str]
    name: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class ProgramTexts:
    """A program's own source, and its other files by path."""

    source: str
    files: Mapping[str, str]

    @property
    def body(self) -> bytes:
        """The body of a record order, as JSON."""
        return json.dumps({"source": self.source, "files": dict(self.files)}).encode()

    def of(self, kernel: TapeKernel) -> PostedKernel:
        """Return the source to compile `kernel` from. Raises BindingFailed if there is none."""
        name = kernel.name
        if not all(part.isidentifier() for part in name.split(".")):
            message = f"`{kernel.name}` is not a function's name, so no kernel can have it"
            raise BindingFailed("unknown_kernel", message, kernel.name)
        if kernel.file == USER_FILE:
            return PostedKernel(self.source, self.files, name, is_own=True)
        if kernel.file not in self.files:
            message = (
                f"the kernel `{kernel.name}` is defined in {kernel.file}, which is missing: "
                "add it to `files`, so that the kernel can be compiled"
            )
            raise BindingFailed("unknown_kernel", message, kernel.name)
        module = kernel.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        owner, *attributes = name.split(".")
        text = f"from {module} import {owner}\n"
        if attributes:
            text += f"{attributes[-1]} = {name}\n"
        return PostedKernel(text, self.files, [owner, *attributes][-1], is_own=False)


@dataclass(frozen=True, slots=True)
class RecordedCase:
    """The tapes of one case. The ops of `inputs` make the inputs; None: each tape makes its own.

    `inputs_text` is the part of that tape that makes them. Replays of other programs get no more.
    """

    candidate: ProgramTape
    reference: ProgramTape | None
    inputs: ProgramTape | None = None
    inputs_text: bytes | None = None

    def makes_equal_inputs(self) -> bool:
        """Return True if both calls get equal inputs, so that a cached result goes unnoticed."""
        try:
            return makes_equal_inputs((self.inputs or self.candidate).tape)
        except InvalidTape:  # a program without inputs is refused at its replay
            return False

    def inputs_of(self, program: ProgramTape) -> bytes | None:
        """Return the tape that makes the inputs of `program`; None if its own tape does."""
        return None if program is self.inputs else self.inputs_text


@dataclass(frozen=True, slots=True)
class Recordings:
    """Records the programs of one job."""

    job: ProgramJob
    pool: Pool
    deadline: Deadline
    cache: LRUCache[ProgramTape] = field(default_factory=LRUCache)

    @property
    def texts(self) -> ProgramTexts:
        """The texts of the candidate."""
        return ProgramTexts(self.job.candidate.source, self.job.candidate.files)

    @property
    def reference_texts(self) -> ProgramTexts | None:
        """The texts of the reference, None without one."""
        reference = self.job.reference
        return None if reference is None else ProgramTexts(reference.source, reference.files)

    async def case(self, inputs: InputsRequest | None) -> RecordedCase:
        """Return the tapes of the program on `inputs`; None: on the inputs that its code makes.

        Raises NotRecorded, DeadlinePassed, ZygoteError. If the reference fails, too, a candidate
        that cannot be imported is the reason.
        """
        try:
            made = None if inputs is None else await self._inputs(inputs)
            reference = await self._reference(made)
        except NotRecorded:
            await self._import_candidate()
            raise
        if self.job.candidate.is_script:
            return RecordedCase(await self._candidate(None, None), reference)
        tape_of_inputs = made or reference
        runs = self.job.stop_after is None
        text = await _inputs_text(tape_of_inputs) if tape_of_inputs is not None and runs else None
        return RecordedCase(
            await self._candidate(tape_of_inputs, reference), reference, tape_of_inputs, text
        )

    async def _inputs(self, inputs: InputsRequest) -> ProgramTape:
        texts = ProgramTexts(inputs.source, {})
        order = self._order([{"kind": "inputs", "name": inputs.function}])
        return await self._remembered(order, texts)

    async def _reference(self, inputs: ProgramTape | None) -> ProgramTape | None:
        texts, reference = self.reference_texts, self.job.reference
        if texts is None or reference is None:
            return None
        order = self._order(_entries(reference.entries), inputs)
        return await self._remembered(order, texts)

    async def _candidate(
        self, inputs: ProgramTape | None, reference: ProgramTape | None
    ) -> ProgramTape:
        entries = _entries(self.job.candidate.entries)
        order = self._order(entries, inputs, reference)
        body = self.texts.body
        return await record_program(
            self.pool, order, body, CANDIDATE, self.job.timeout_s, self.deadline
        )

    async def _import_candidate(self) -> None:
        """Raise NotRecorded if the candidate cannot be imported, whatever its inputs are."""
        try:
            await self._candidate(None, None)
        except DeadlinePassed:
            return  # the reference took the time, and failed
        except NotRecorded as refused:
            if refused.problem.slug in _NOT_IMPORTED:
                raise

    def _order(
        self,
        entries: Sequence[Mapping[str, Any]],
        inputs: ProgramTape | None = None,
        init_inputs: ProgramTape | None = None,
    ) -> RecordOrder:
        """Return the order. It has shapes of inputs and of a model's arguments, but no values.

        It leaves out the request's seed, from which the values of inputs follow.
        """
        inputs_tape, made_with = (
            None if recording is None else recording.tape for recording in (inputs, init_inputs)
        )
        first = None if inputs_tape is None else specs(inputs_tape, inputs_tape.inputs)
        second = None if inputs_tape is None else specs(inputs_tape, inputs_tape.inputs2)
        return RecordOrder(
            entries=entries,
            inputs=first,
            inputs2=second if repr(second) != repr(first) else None,  # 1 is not True here
            init_inputs=None if made_with is None else specs(made_with, made_with.init_inputs),
        )

    async def _remembered(self, order: RecordOrder, texts: ProgramTexts) -> ProgramTape:
        """Return the cached or new tape of a reference or of inputs. These may know the seed."""
        # in a thread: the sources may be long
        key, seed = await asyncio.to_thread(self._key, order, texts), self.job.seed
        known = self.cache.get(key)
        if known is not None and known.inputs_seed in (None, seed):
            return known
        order = replace(order, inputs_seed=seed)
        recorded = await record_program(
            self.pool, order, texts.body, REFERENCE, self.job.timeout_s, self.deadline
        )
        self.cache.put(key, recorded, TAPE_OVERHEAD * len(recorded.text))
        return recorded

    def _key(self, order: RecordOrder, texts: ProgramTexts) -> str:
        """Return the cache key of a recording: all that its child gets, except `inputs_seed`.

        The seed is compared only if the tape depends on it (`ProgramTape.inputs_seed`).
        """
        members = {"entries": order.entries, "seed": order.seed}
        inputs = [order.inputs, order.inputs2, order.init_inputs]
        parts = [self.job.caller, members, inputs, self.pool.facts["libraries"]]
        text = json.dumps(parts, sort_keys=True).encode()
        return hashlib.sha256(text + b"\0" + texts.body).hexdigest()


async def _inputs_text(program: ProgramTape) -> bytes:
    """Return the part of a tape that makes its inputs. Raises NotRecorded if none does."""
    try:
        # in a thread: the tape may be long
        return await asyncio.to_thread(inputs_text, program.tape, program.text)
    except InvalidTape as forged:
        detail = f"{forged.what[:1].upper()}{forged.what[1:]}."
        problem = program_problem("not_recordable", detail, program=REFERENCE, reason="bad_inputs")
        raise NotRecorded(problem) from None


def _entries(entries: Sequence[ProgramEntry]) -> list[dict[str, Any]]:
    return [_entry(entry) for entry in entries]


def _entry(entry: ProgramEntry) -> dict[str, Any]:
    if entry.kind == "script":
        outputs = None if entry.outputs is None else list(entry.outputs)
        return {"kind": entry.kind, "outputs": outputs}
    return {"kind": entry.kind, _ENTRY_NAMES[entry.kind]: entry.name}


def specs(tape: Tape, structures: tuple[Structure, ...]) -> list[Any]:
    """Return structures of `tape` for a record order, with tensors replaced by specs.

    Views keep their common storage: a tensor's offset decides how its kernels are compiled, and a
    change of one view shows in the others.
    """
    numbers: dict[int, int] = {}
    return [_spec(tape, structure, numbers) for structure in structures]


def _spec(tape: Tape, structure: Structure, numbers: dict[int, int]) -> Any:
    """Return one spec. `numbers` counts storages from 0, so that equal calls have equal specs."""
    match structure:
        case TensorRef():
            tensor = tape.tensors[structure.id]
            return {
                "tensor": {
                    "dtype": tensor.dtype,
                    "shape": list(tensor.shape),
                    "strides": list(tensor.strides),
                    "offset": tensor.offset,
                    "storage": numbers.setdefault(tensor.storage, len(numbers)),
                    "storage_bytes": tape.storages[tensor.storage],
                    "device": tensor.device,
                }
            }
        case ListOf():
            return {"list": [_spec(tape, item, numbers) for item in structure.items]}
        case TupleOf():
            return {"tuple": [_spec(tape, item, numbers) for item in structure.items]}
        case DictOf():
            return {"dict": {name: _spec(tape, item, numbers) for name, item in structure.items}}
        case complex():
            return {"complex": [_number(structure.real), _number(structure.imag)]}
        case float():
            return _number(structure)
    return structure


def _number(value: float) -> Any:
    return value if math.isfinite(value) else {"float": str(value)}

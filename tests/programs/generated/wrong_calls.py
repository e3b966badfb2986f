"""Generates calls of recorded overloads, most with wrong arguments, and compares their errors.

`python -m tests.programs.generated.wrong_calls [--seed 1] [--calls 8] [--only aten.add]`: where
eager torch raises, the recording or the replay must raise too, and nowhere else. A refusal that
names the op is allowed, and counted.
"""

from __future__ import annotations

import argparse
import builtins
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import torch

from compiler.diagnostic import Failure
from programs.tape.allowed_overloads import ALLOWED
from programs.worker.program_children import ENVIRONMENT
from tests.programs.generated.forked import in_child
from tests.programs.with_torch.recording_process import RecordingProcess
from tests.programs.with_torch.replaying import replayed

AGREES, REFUSED, DISAGREES, UNKNOWN = "agrees", "refused", "DISAGREES", "eager torch died"
OTHER_TYPE = "raises another type"
DIED = "died"
REFUSALS = frozenset({
    "NotRecordable", "DataDependentOutputException", "DynamicOutputShapeException",
    "UnsupportedOperatorException",
})  # fmt: skip
ENTRY = {"kind": "script", "outputs": ["out"]}
_HEAD = """import torch

import builtins

ENDED = builtins.ended = []

def tensor(dtype, shape, grad=False):
    made = torch.arange(3, 3 + torch.Size(shape).numel(), device='cuda') % 5
    made = made.reshape(shape).to(dtype)
    return made.requires_grad_() if grad else made

def call(made):
    try:
        made()
        ENDED.append("")
    except BaseException as error:
        ENDED.append(type(error).__name__)

"""
_CHUNK = 30
"""Overloads in one program."""
_SHAPES = ((3, 4), (4,), (4, 3), (2, 3, 4), (2, 3, 8, 8), (), (0, 4), (1, 4), (3, 5), (3, 3))
_DTYPES = ("float32", "float32", "float32", "int64", "bool", "float16", "int32", "float64", "uint8")
_INTEGERS = (-5, -2, -1, 0, 0, 1, 1, 2, 3, 4, 7, 100)
_FAR = (2**31, -(2**31) - 1, 2**63 - 1, -(2**63))
_NUMBERS = ("0", "1", "-1", "2", "0.5", "-1.5", "True", "1e300", "float('nan')", "2**40", "1j")
_TEXTS = ("'none'", "'tanh'", "'mean'", "'sum'", "'floor'", "'trunc'", "'amax'", "'bogus'", "'ij'")


@dataclass(frozen=True)
class Verdict:
    """A word from above, and the details."""

    word: str
    detail: str = ""


def own_overloads() -> list[str]:
    """Return the overloads that programs call themselves, not by another op or a derivative."""
    packets = {name: name.split(".")[1] for name in ALLOWED}
    return [
        name
        for name, packet in packets.items()
        if not packet.startswith("_") and "backward" not in packet
    ]


def calls_of(name: str, seed: int, count: int) -> list[str]:
    """Return calls of an overload as expressions."""
    draw = random.Random(f"{name} {seed}")
    _, packet, which = name.split(".")
    schema = getattr(getattr(torch.ops.aten, packet), which)._schema
    return [_call(f"torch.ops.{name}", schema, draw) for _ in range(count)]


def _call(name: str, schema: Any, draw: random.Random) -> str:
    usual = draw.choice(_SHAPES), draw.choice(_DTYPES)
    given = []
    for argument in schema.arguments:
        is_left_out = argument.has_default_value() and draw.random() < 0.5
        if is_left_out or argument.name in {"pin_memory", "generator"}:
            continue
        value = _value(str(argument.type), argument.name, usual, draw)
        if value == "None" and argument.kwarg_only:
            continue
        named = argument.kwarg_only or argument.has_default_value()
        given.append(f"{argument.name}={value}" if named else value)
    return f"{name}({', '.join(given)})"


def _value(kind: str, name: str, usual: tuple[Sequence[int], str], draw: random.Random) -> str:
    """Return an argument of a type of a schema, as an expression."""
    if kind.startswith("Optional["):
        return "None" if draw.random() < 0.5 else _value(kind[9:-1], name, usual, draw)
    if kind.startswith("List["):
        items = [_value(kind[5:-1], name, usual, draw) for _ in range(draw.randint(0, 4))]
        return f"[{', '.join(items)}]"
    match kind:
        case "Tensor":
            return _tensor(name, usual, draw)
        case "int" | "SymInt":
            if name in {"dtype", "layout", "memory_format"}:
                return _constant(name, draw)
            is_far = draw.random() < 0.04 and name in {"dim", "index", "start", "end", "dim0", "k"}
            return str(draw.choice(_FAR if is_far else _INTEGERS))
        case "bool":
            return draw.choice(("True", "False"))
        case "float":
            return draw.choice(("0.0", "0.5", "1.0", "-1.0", "1e30", "float('nan')"))
        case "number" | "Scalar":
            return draw.choice(_NUMBERS)
        case "str":
            return draw.choice(_TEXTS)
    return _constant(name, draw)


def _constant(name: str, draw: random.Random) -> str:
    choices = {
        "dtype": [f"torch.{kind}" for kind in _DTYPES],
        "device": ["'cuda'"],
        "memory_format": ["torch.contiguous_format", "torch.channels_last"],
        "layout": ["torch.strided"],
    }
    return draw.choice(choices.get(name, ["None"]))


def _tensor(name: str, usual: tuple[Sequence[int], str], draw: random.Random) -> str:
    shape, dtype = usual
    if draw.random() < 0.3:
        shape = draw.choice(_SHAPES)
    if draw.random() < 0.2:
        dtype = draw.choice(_DTYPES)
    if "index" in name or "indices" in name:
        dtype = draw.choice(("int64", "int64", "int64", dtype))
    grad = ", True" if dtype.startswith("float") and draw.random() < 0.15 else ""
    return f"tensor(torch.{dtype}, {tuple(shape)}{grad})"


def program_of(calls: Sequence[str]) -> str:
    """Return a script that notes for each call the name of its error."""
    return _HEAD + "\n".join(f"call(lambda: {one})" for one in calls) + "\nout = torch.ones(1)\n"


def single_of(calls: Sequence[str]) -> str:
    """Return a script of calls outside of `try`."""
    return _HEAD + "\n".join(calls) + "\nout = torch.ones(1, device='cuda')\n"


def ended_eagerly(calls: Sequence[str]) -> list[str]:
    """Return what eager torch raises at each call; DIED for one that kills the process."""

    def run() -> list[str]:
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(program_of(calls).replace("'cuda'", "'cpu'"), scope)
        found: list[str] = scope["ENDED"]
        return found

    ended = in_child(run, timeout_s=120)
    if isinstance(ended, list):
        return ended
    if len(calls) == 1:
        return [DIED]
    half = len(calls) // 2
    return ended_eagerly(calls[:half]) + ended_eagerly(calls[half:])


class EndingProcess:
    """A process that records programs, and answers with the errors that their calls raised."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.programs.generated.wrong_calls", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **ENVIRONMENT, "TORCH_LOGS": "-all"},
        )

    def ended(self, calls: Sequence[str]) -> list[str]:
        """Return what the recording raises at each call; DIED for one that kills the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(program_of(calls)), file=self._process.stdin, flush=True)
        ended = json.loads(self._process.stdout.readline())
        if isinstance(ended, list) and len(ended) == len(calls):
            # a recording that was refused refuses all that follows
            first = next((at for at, one in enumerate(ended) if one in REFUSALS), len(calls))
            rest = calls[first + 1 :]
            found: list[str] = ended[: first + 1]
            return found + (self.ended(rest) if rest else [])
        if len(calls) == 1:
            return [DIED]
        half = len(calls) // 2
        return self.ended(calls[:half]) + self.ended(calls[half:])

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()  # closes the pipes


def _serve() -> None:
    from programs.recorder.record import record
    from programs.recorder.record_order import RecordOrder
    from programs.recorder.record_tasks import warm_up

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warm_up()
    for line in sys.stdin:

        def run(source: str = json.loads(line)) -> list[str]:
            with suppress(BaseException):  # a refusal, which `ended` holds, too
                record(RecordOrder(entries=[ENTRY]), source, {})
            found: list[str] = builtins.ended  # type: ignore[attr-defined]
            return found

        print(json.dumps(in_child(run, timeout_s=120)), file=answers, flush=True)


@dataclass
class Comparison:
    """Compares calls by an `ending` process, and by replays of tapes from `recorder`."""

    ending: EndingProcess
    recorder: RecordingProcess

    def verdicts(self, calls: Sequence[str]) -> Iterator[Verdict]:
        """Yield a verdict of each call."""
        both: list[str] = []
        for call, theirs, ours in zip(
            calls, ended_eagerly(calls), self.ending.ended(calls), strict=True
        ):
            words = f"{call}: torch raises {theirs or 'nothing'}, the recording {ours or 'nothing'}"
            if theirs == DIED:
                yield Verdict(UNKNOWN, call)
            elif ours in REFUSALS:
                yield Verdict(REFUSED, words)
            elif theirs and ours:
                yield Verdict(AGREES if theirs == ours else OTHER_TYPE, words)
            elif ours:
                yield Verdict(DISAGREES, words)
            elif theirs:
                yield self._raises_later(call, words)
            else:
                both.append(call)
        yield from self._run_alike(both)

    def _raises_later(self, call: str, words: str) -> Verdict:
        found = self._replayed([call])
        if found is None:
            return Verdict(DISAGREES, f"{words}; the replay finds nothing")
        return Verdict(REFUSED if found.startswith("refused") else AGREES, f"{words}; {found}")

    def _run_alike(self, calls: Sequence[str]) -> Iterator[Verdict]:
        """Yield verdicts of calls that neither torch nor the recording refuses."""
        found = self._replayed(calls) if calls else None
        if found is None:
            yield from (Verdict(AGREES) for _ in calls)
        elif len(calls) == 1:
            word = REFUSED if found.startswith("refused") else DISAGREES
            yield Verdict(word, f"{calls[0]}: torch raises nothing; {found}")
        else:
            half = len(calls) // 2
            yield from self._run_alike(calls[:half])
            yield from self._run_alike(calls[half:])

    def _replayed(self, calls: Sequence[str]) -> str | None:
        """Return what ends a replay of these calls, None: nothing."""
        answer = self.recorder.record(single_of(calls), ENTRY)
        if "ops" not in answer:
            return f"the recording ends: {answer!s:.300}"

        def run() -> str | None:
            try:
                findings = replayed(answer).report.findings
            except Failure as failure:
                return f"refused: {failure}"
            return f"the replay finds {findings[0].message}" if findings else None

        found: str | None = in_child(run, timeout_s=120)
        return found


def main() -> int:
    """Compare calls of all overloads, or of some."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=6, help="of each overload")
    parser.add_argument("--only", default="", help="the beginning of overloads' names")
    parser.add_argument("--serve", action="store_true")
    given = parser.parse_args()
    if given.serve:
        _serve()
        return 0
    counts: Counter[str] = Counter()
    names = [name for name in own_overloads() if name.startswith(given.only)]
    comparison = Comparison(EndingProcess(), RecordingProcess())
    try:
        for start in range(0, len(names), _CHUNK):
            some = names[start : start + _CHUNK]
            calls = [call for name in some for call in calls_of(name, given.seed, given.calls)]
            for verdict in comparison.verdicts(calls):
                counts[verdict.word] += 1
                if verdict.word in {DISAGREES, OTHER_TYPE}:
                    print(f"{verdict.word}: {verdict.detail}", flush=True)
            print(f"{start + len(some)} of {len(names)} overloads: {dict(counts)}", flush=True)
    finally:
        comparison.ending.close()
        comparison.recorder.close()
    return int(counts[DISAGREES] > 0)


if __name__ == "__main__":
    sys.exit(main())

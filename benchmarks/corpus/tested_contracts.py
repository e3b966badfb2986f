"""Infers a kernel's contract from the launches in its package's tests.

Launches with the same types and flags are cases of one contract, even where integer constexprs such
as blocks differ: these are sizes of the cases then, and constants of the proof.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from corpus.guesses import Guess
from corpus.test_launches import Launch
from launch.contract.guesses import MARK
from launch.contract.infer_contract import (
    CaseBuffer,
    InferenceCase,
    NotInferable,
    Values,
    inferred_contract,
)

MAX_CASES = 12
MIN_CASES = 2
_NO_SIZES = frozenset({"num_warps", "num_stages", "num_ctas"})
_INDICES = frozenset({"*i32", "*i64"})


@dataclass(frozen=True)
class TestedContract:
    """A specialization that tests launch, and what its launches have in common."""

    guess: Guess
    text: str
    cases: int


def tested_contract(launches: Sequence[Launch]) -> TestedContract | None:
    """Return the contract of the specialization with most sizes; None for too few of them."""
    groups = defaultdict[str, list[Launch]](list)
    for launch in launches:
        if _is_readable(launch):
            groups[_specialization(launch)].append(launch)
    for group in sorted(groups.values(), key=lambda alike: -len(_distinct(alike))):
        cases = _distinct(group)[:MAX_CASES]
        if len({json.dumps(_sizes(case)) for case in cases}) < MIN_CASES:
            return None
        try:
            return _contract(cases)
        except NotInferable:
            continue  # tests give a buffer several ranks
    return None


def _is_readable(launch: Launch) -> bool:
    values = [*launch["constexprs"].values(), *launch["arguments"].values()]
    return not any(isinstance(value, dict) and "object" in value for value in values)


def _blocks(launch: Launch) -> dict[str, int]:
    """Return the integer constexprs that the kernel declares; others are what Triton makes of 1."""
    return {
        name: value
        for name, value in launch["constexprs"].items()
        if type(value) is int and value > 1 and name in launch["is_constexpr"]
    }


def _specialization(launch: Launch) -> str:
    blocks = _blocks(launch)
    kept = {name: value for name, value in launch["constexprs"].items() if name not in blocks}
    ranks = {n: len(v["shape"]) for n, v in launch["arguments"].items() if isinstance(v, dict)}
    return json.dumps([launch["signature"], kept, ranks], sort_keys=True)


def _sizes(launch: Launch) -> list[Any]:
    shapes = {n: v["shape"] if isinstance(v, dict) else v for n, v in launch["arguments"].items()}
    return [shapes, launch["grid"]]


def _distinct(launches: Sequence[Launch]) -> list[Launch]:
    """Return launches that differ in what the contract is about."""
    return list(
        {json.dumps([_sizes(launch), _blocks(launch)]): launch for launch in launches}.values()
    )


def _contract(cases: Sequence[Launch]) -> TestedContract:
    blocks = [_blocks(case) for case in cases]
    ((chosen, _),) = Counter(json.dumps(sizes) for sizes in blocks).most_common(1)
    constants: dict[str, int] = json.loads(chosen)
    varying = {
        name for name in constants if any(sizes.get(name) != constants[name] for sizes in blocks)
    }
    fixed = {name: v for name, v in constants.items() if name not in varying | _NO_SIZES}
    inferred = [_case(case, varying) for case in cases]
    text = "".join(
        line.removeprefix(MARK) for line in inferred_contract(inferred, fixed).splitlines(True)
    )
    # a block is no argument, so it is given no value: that is a relation of its constant
    lines = [
        line.replace(" = ", " == ", 1) if line.split(" ", 1)[0] in varying else line
        for line in text.splitlines()
    ]
    stated = {line.split(" ", 1)[0] for line in lines}
    start = len([line for line in lines if line.split(" ", 1)[0] in ("sizes", "any")])
    lines[start:start] = _constants_of(inferred, text, stated)  # before what is made of them
    lines += _value_ranges(cases, inferred, text)
    first = cases[0]
    signature = {n: kind for n, kind in first["signature"].items() if kind != "constexpr"}
    guess = Guess(signature, {**first["constexprs"], **constants}, first["options"])
    return TestedContract(guess, "\n".join(lines) + "\n", len(cases))


def _constants_of(cases: Sequence[InferenceCase], text: str, stated: set[str]) -> Iterator[str]:
    """Yield scalars and sizes that no test varied."""
    for name, values in _named_sizes(cases, text):
        if len(set(values)) == 1 and values[0] > 0 and name not in stated:
            yield f"{name} {'=' if name in cases[0].scalars else '=='} {values[0]}"


def _case(launch: Launch, varying: set[str]) -> InferenceCase:
    buffers, scalars = {}, {}
    for name, value in launch["arguments"].items():
        if isinstance(value, dict):
            buffers[name] = CaseBuffer(value["shape"], _strides(value))
        elif type(value) is int:
            scalars[name] = value
    scalars |= {name: value for name, value in _blocks(launch).items() if name in varying}
    return InferenceCase(buffers, scalars, launch["grid"])


def _strides(buffer: Mapping[str, Any]) -> list[int] | None:
    """Return the strides, None for a contiguous buffer."""
    expected = 1
    for length, stride in zip(buffer["shape"][::-1], buffer["strides"][::-1], strict=True):
        if length != 1 and stride != expected:
            return list(buffer["strides"])
        expected *= length
    return None


def _value_ranges(
    cases: Sequence[Launch], inferred: Sequence[InferenceCase], text: str
) -> Iterator[str]:
    """Yield how far buffers of integers go: below the smallest size that none of them reached."""
    sizes = dict(_named_sizes(inferred, text))
    for name, kind in cases[0]["signature"].items():
        ranges = [case["arguments"][name]["range"] for case in cases if kind in _INDICES]
        if not ranges or None in ranges:
            continue
        low, highs = min(span[0] for span in ranges), [span[1] for span in ranges]
        ends = [
            (sum(values) + more, size if not more else f"{size} + 1")
            for size, values in sizes.items()
            for more in (0, 1)
            if all(high < value + more for high, value in zip(highs, values, strict=True))
        ]
        if ends and low >= 0:
            yield f"values {name}: 0 .. {min(ends)[1]}"


def _named_sizes(cases: Sequence[InferenceCase], text: str) -> Iterator[tuple[str, Values]]:
    """Yield scalars and sizes of a contract with their values in the cases."""
    for name in cases[0].scalars:
        yield name, tuple(case.scalars[name] for case in cases)
    head = text.splitlines()[0].split()
    declared = head[1:] if head[0] == "sizes" else []
    for buffer, first in cases[0].buffers.items():
        for axis in range(len(first.shape)):
            if f"{buffer}_{axis}" in declared:
                yield f"{buffer}_{axis}", tuple(case.buffers[buffer].shape[axis] for case in cases)


def plan_guess(contract: TestedContract) -> dict[str, Any]:
    """Return the specialization as a plan has it."""
    return asdict(contract.guess)

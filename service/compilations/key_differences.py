"""Why a compilation was not in the cache: the parts of its key that no earlier one had.

Runs in: service. The key is compared with those of the caller's own newest compilations. Only the
nearest is shown: the one with the fewest other parts.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from pydantic import BaseModel, Field

from compiler.job import CompileJob
from service.caller import Caller
from service.compilations.retrieval import read_compile_job
from service.compilations.submission import LISTING
from service.state import ServiceState
from store.stored import Unreadable, read_stored

MAX_COMPARED: Final = 50
MAX_COMPARED_BYTES: Final = 16 << 20
MAX_DIFFERENCES: Final = 50
_MAX_CHARS = 200


class KeyDifference(BaseModel):
    """One part of a key that is not the same in both; a text is shown at its first other line."""

    part: str = Field(description="such as source, constexprs.BLOCK or options.num_warps")
    value: str | None = Field(description="of this compilation; null: it has no such part")
    nearest: str | None = Field(description="of the nearest one; null: it has no such part")


class KeyDifferences(BaseModel):
    """The parts of a key that made a compilation a miss of the cache."""

    key: str
    nearest: str | None = Field(
        description="the key of your own compilation that differs least; null: there is no other"
    )
    differs: list[KeyDifference] = Field(max_length=MAX_DIFFERENCES)
    compared: int = Field(description="the number of your own compilations that were compared")
    message: str


async def key_differences(state: ServiceState, caller: Caller, key: str) -> KeyDifferences:
    """Return the differences of a key from the nearest among the caller's own.

    Raises ProblemRaised (404) as `read_compile_job`.
    """
    job = await read_compile_job(state, caller, key)
    await state.lists.flush()  # the caller sees what this process has just answered
    listed = await state.lists.page(LISTING.collection, caller.id, None, MAX_COMPARED + 1)
    payloads: list[bytes] = []
    left = MAX_COMPARED_BYTES
    for other in listed:
        if other.id == key:
            continue
        payload = await state.jobs.kept_payload(other.id) or await state.compilations.request(
            other.id
        )
        if payload is None:
            continue
        left -= len(payload)
        if left < 0 or len(payloads) == MAX_COMPARED:
            break
        payloads.append(payload)
    # in a thread: sources may be long
    return await state.threads.run(differences_of, job, payloads)


def differences_of(job: CompileJob, payloads: Sequence[bytes]) -> KeyDifferences:
    """Return the differences of a job from the nearest of stored ones, the newest first."""
    parts, others = key_parts(job), []
    for payload in payloads:
        try:
            other = read_stored(CompileJob, payload)
        except Unreadable:  # of an earlier version
            continue
        if other.namespace == job.namespace:
            others.append((other.key, key_parts(other)))
    if not others:
        message = "You have no other compilation to compare it with."
        return KeyDifferences(key=job.key, nearest=None, differs=[], compared=0, message=message)
    nearest, theirs = min(others, key=lambda other: len(_differing(parts, other[1])))
    names = _differing(parts, theirs)
    differs = [_difference(name, parts, theirs) for name in names[:MAX_DIFFERENCES]]
    return KeyDifferences(
        key=job.key,
        nearest=nearest,
        differs=differs,
        compared=len(others),
        message=_message(nearest, names),
    )


def key_parts(job: CompileJob) -> dict[str, Any]:
    """Return the inputs of a compile key, by the names that requests have for them."""
    named = job.specialization.to_request()
    parts: dict[str, Any] = {
        "source": job.source,
        "module": job.module,
        "ir": None if job.ir is None else job.ir.text,
        "absent": sorted(job.absent) or None,
        "kernel": job.kernel,
        "target": job.target_name,
        "stop_after": job.stop_after,
        "toolchain": job.toolchain_id,
    }
    if job.ir is not None:
        parts |= {f"ir.{name}": item for name, item in job.ir.model_dump(exclude={"text"}).items()}
    groups = {"files": job.files, "options": job.options, **named}
    for group, members in groups.items():
        if isinstance(members, Mapping):
            parts |= {f"{group}.{name}": member for name, member in members.items()}
        else:
            parts[group] = members
    return {name: part for name, part in parts.items() if part is not None}


def _differing(parts: Mapping[str, Any], others: Mapping[str, Any]) -> list[str]:
    missing = object()
    names = [*parts, *(name for name in others if name not in parts)]
    return [name for name in names if _other(parts.get(name, missing), others.get(name, missing))]


def _other(part: Any, other: Any) -> bool:
    return type(part) is not type(other) or part != other


def _difference(name: str, parts: Mapping[str, Any], others: Mapping[str, Any]) -> KeyDifference:
    value, nearest = parts.get(name), others.get(name)
    if isinstance(value, str) and isinstance(nearest, str) and "\n" in value + nearest:
        value, nearest = _first_other_line(value, nearest)
    return KeyDifference(part=name, value=_shown(value), nearest=_shown(nearest))


def _first_other_line(text: str, other: str) -> tuple[str, str]:
    """Return the first line in which two texts differ, of each, with its number."""
    ours, theirs = text.split("\n"), other.split("\n")
    pairs = enumerate(zip(ours, theirs, strict=False), 1)
    number = next((n for n, (a, b) in pairs if a != b), min(len(ours), len(theirs)) + 1)
    shown = (lines[number - 1] if number <= len(lines) else "(its end)" for lines in (ours, theirs))
    first, second = (f"line {number}: {line.strip()}" for line in shown)
    return first, second


def _shown(part: Any) -> str | None:
    if part is None:
        return None
    text = part if isinstance(part, str) else orjson.dumps(part).decode()
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"


def _message(nearest: str, names: Sequence[str]) -> str:
    if not names:
        return (
            f"It has the same parts as {nearest}, which an earlier version of the service compiled."
        )
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"It differs from {nearest} in {', '.join(names[:5])}{more}."

"""Winners of a sweep, to be used elsewhere: JSON, Triton's configurations, its caches.

A bundle is exports of a sweep's winners, or of all that compiled, in one tar as it is sent. An
export stays the file that it is; only one of them is in memory at a time.

A derivation for winners is like any other, made once and kept; here many are asked for at once.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from compiler.autotune import TunedResults
from compiler.compilation import Compilation
from compiler.derivation import Derivation
from jobs.deadline import Deadline
from service.caller import Caller
from service.compilations.answer import RETRY_AFTER_S, server_timing
from service.compilations.bundle import (
    AT_ONCE,
    END,
    INSTALL,
    Member,
    Refusal,
    exports,
    member_of,
    outcome_of,
    size_bytes,
    tar_of,
)
from service.compilations.derivations import DerivationRequest, read_finished, tuned
from service.gather_limited import gather_limited
from service.http.openapi import wait_parameter
from service.http.problems import ProblemRaised
from service.http.query import requested_wait
from service.state import ServiceState, state_of
from store.stored import read_stored
from sweeps.search.winning import Winner
from sweeps.service.find_sweep import FoundSweep
from sweeps.service.sweep_examples import TRITON_CONFIG, WAITING, WINNERS
from sweeps.service.sweep_routes import SCOPE_OF_KIND, awaited_sweep
from sweeps.sweep_job import sweep_url
from sweeps.winners.triton_config import triton_config
from sweeps.winners.tuned_results import tuned_results
from sweeps.winners.winner import UsableWinner, usable_winner


@dataclass(frozen=True, slots=True)
class CompiledWinner:
    """A winner with the record of its compilation."""

    winner: UsableWinner
    compilation: Compilation

    @property
    def name(self) -> str:
        """The difference from the other winners, for messages."""
        size = self.winner.problem_size
        return f"{'the one size' if size is None else size} on {self.winner.target}"


@dataclass(frozen=True, slots=True)
class CacheFile:
    """A file of Triton's autotuner, and the folder of Triton's cache that it is looked for in."""

    folder: str
    file: str
    text: str

    @property
    def path(self) -> str:
        """The file's place in Triton's cache."""
        return f"{self.folder}/{self.file}"

    @property
    def chosen(self) -> Any:
        """The configuration that Triton chooses: the first has the least time."""
        return orjson.loads(self.text)["configs_timings"][0][0]


async def compiled_winners(asked: DerivationRequest, sweep: FoundSweep) -> list[CompiledWinner]:
    """Return the winners of a finished sweep.

    Raises ProblemRaised: 404 (`no_winner`) saying why there is none, 410 for an evicted one.
    """
    winners = [item for item in sweep.end.winners if item.variant is not None]
    if not winners:
        raise ProblemRaised("no_winner", _why_none(sweep))

    async def read(stored: Winner) -> CompiledWinner:
        assert stored.compilation_key is not None
        compilation = await read_finished(asked.state, asked.caller, stored.compilation_key)
        winner = usable_winner(stored.model_dump(mode="json"), compilation.key, compilation.options)
        return CompiledWinner(winner, compilation)

    return await gather_limited(AT_ONCE, winners, read)


def _why_none(sweep: FoundSweep) -> str:
    if sweep.plan.kind == "compilations":
        return (
            "A sweep over compilations measures no times, so nothing can win; sweep over launches "
            "on a GPU. All that was compiled is in winners/bundle?of=all"
        )
    notes = [item.note for item in sweep.end.winners if item.note]
    why = "; ".join(dict.fromkeys(notes)) or sweep.end.note
    if not why and sweep.job.search is None:
        why = "it was asked for without a `search`"
    elif not why and sweep.end.state != "completed":
        why = f"it was {sweep.end.state} before one was known"
    return f"The sweep has no winner: {why or 'no variant was timed'}"


async def cache_files(
    asked: DerivationRequest, sweep: FoundSweep, winners: Sequence[CompiledWinner]
) -> list[CacheFile | Refusal | None]:
    """Return the file of Triton's autotuner for each winner; None for one not there in time."""

    async def cache_file(item: CompiledWinner) -> CacheFile | Refusal | None:
        results: TunedResults = await asked.state.threads.run(
            tuned_results, sweep.plan, sweep.rows, item.winner
        )
        outcome = await outcome_of(asked, lambda again: tuned(again, item.compilation, results))
        if not isinstance(outcome, Derivation):
            return outcome
        return read_stored(CacheFile, await blob(asked.state, outcome))

    return await gather_limited(AT_ONCE, winners, cache_file)


def sorted_out(
    winners: Sequence[CompiledWinner], files: Sequence[CacheFile | Refusal]
) -> tuple[dict[str, CacheFile], list[tuple[CompiledWinner, Refusal]]]:
    """Return the files by path, and the winners that have none, or have one with another winner."""
    kept: dict[str, tuple[CompiledWinner, CacheFile]] = {}
    without = []
    for item, file in zip(winners, files, strict=True):
        if isinstance(file, Refusal):
            without.append((item, file))
            continue
        other, first = kept.setdefault(file.path, (item, file))
        if first.chosen != file.chosen:
            detail = (
                f"{item.name} and {other.name} have one tuning key, for which Triton keeps one "
                "configuration, and different winners. Add what tells them apart to the `key` of "
                "@triton.autotune"
            )
            without.append((item, Refusal("not_derivable", detail)))
    return {path: file for path, (_, file) in kept.items()}, without


async def blob(state: ServiceState, made: Derivation) -> bytes:
    """Return what was derived. Raises ProblemRaised (410) when it has left the cache."""
    data = await state.blobs.get(made.digest or "")
    if data is None:
        detail = f"What was derived ({made.what}) has left the cache; ask again"
        raise ProblemRaised("evicted", detail)
    return data


MAX_COMPILATIONS = 1_000
DONE = ("succeeded", "completed")
MEDIA_TYPES = {
    "json": "application/json",
    "triton-config": "text/x-python",
    "autotune-cache": "application/x-tar",
    "bundle": "application/x-tar",
}
SUFFIXES = {"json": "json", "triton-config": "py", "autotune-cache": "tar", "bundle": "tar"}

router = APIRouter(prefix="/v1/sweeps", tags=["sweeps"])


@router.get(
    "/{sweep_id}/winners/{format}",
    summary="Winners to take away: json, triton-config, autotune-cache, bundle",
    response_class=Response,
    responses={
        200: {
            "content": {
                "application/json": {"schema": {"type": "object"}, "example": WINNERS},
                "text/x-python": {"schema": {"type": "string"}, "example": TRITON_CONFIG},
                "application/x-tar": {"schema": {"type": "string", "format": "binary"}},
            }
        },
        202: {
            "description": "Not yet; ask again",
            "content": {"application/json": {"schema": {"type": "object"}, "example": WAITING}},
        },
    },
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_winners(
    request: Request,
    sweep_id: str,
    format: str,  # noqa: A002
    of: Annotated[
        Literal["winners", "all"],
        Query(description="all: of a bundle, every variant that compiled"),
    ] = "winners",
) -> Response:
    """Answer the winners; 202 while their files are made; 404 with the reason if there is none.

    `autotune-cache` is to be unpacked into Triton's cache folder, of a `bundle` `install.py` does
    so.
    """
    started = time.perf_counter()
    state = state_of(request)
    caller = await state.callers.identify(request, *SCOPE_OF_KIND.values())
    wait = requested_wait(request, state.settings.max_wait_s)
    deadline = Deadline(wait.seconds)
    _check(format, of)
    sweep = await _finished(state, caller, sweep_id, wait.seconds)
    asked = DerivationRequest(state, caller, deadline)
    response = await _answer(asked, sweep, format, of)
    if response is None:
        url = request.url.path + ("?of=all" if of == "all" else "")
        body = {"state": "running", "url": url}
        response = Response(orjson.dumps(body), status_code=202, media_type="application/json")
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    response.headers.update(wait.headers | {"Server-Timing": server_timing(started)})
    return response


def _check(format: str, of: str) -> None:  # noqa: A002
    if format not in MEDIA_TYPES:
        known = ", ".join(MEDIA_TYPES)
        detail = f"Winners have no format {format[:40]!r}; the formats are {known}"
        raise ProblemRaised("not_found", detail)
    if of == "all" and format != "bundle":
        detail = "`of=all` is for a bundle; the other formats are of winners"
        raise ProblemRaised("invalid_request", detail, parameter="of")


async def _finished(
    state: ServiceState, caller: Caller, sweep_id: str, wait_s: float
) -> FoundSweep:
    sweep = await awaited_sweep(state, caller, sweep_id, wait_s)
    if not sweep.is_finished:
        detail = "The sweep is still running; ask again, or wait with ?wait=S"
        raise ProblemRaised("not_finished", detail, headers={"Retry-After": str(RETRY_AFTER_S)})
    return sweep


async def _answer(
    asked: DerivationRequest,
    sweep: FoundSweep,
    format: str,  # noqa: A002
    of: str,
) -> Response | None:
    headers = {
        "Cache-Control": "private, no-cache",
        "Content-Disposition": f'attachment; filename="winners-{sweep.job.id}.{SUFFIXES[format]}"',
    }
    if of == "all":
        return _bundle(asked.state, await bundle_of_all(asked, sweep), headers)
    winners = await compiled_winners(asked, sweep)
    match format:
        case "json":
            body: bytes | None = _json(sweep, winners)
        case "triton-config":
            usable = [item.winner for item in winners]
            body = triton_config(sweep_url(sweep.job.id), sweep.plan, usable).encode()
        case "autotune-cache":
            body = await _autotune_cache(asked, sweep, winners)
        case _:
            members = await bundle_of_winners(asked, sweep, winners)
            return _bundle(asked.state, members, headers)
    if body is None:
        return None
    return Response(body, headers=headers, media_type=MEDIA_TYPES[format])


def _json(sweep: FoundSweep, winners: list[CompiledWinner]) -> bytes:
    none = [item.model_dump(mode="json") for item in sweep.end.winners if item.variant is None]
    rows: list[dict[str, Any]] = [
        {
            **item.winner.document,
            "options": item.compilation.options,
            "request": sweep.plan.variant(item.winner.variant).body,
        }
        for item in winners
    ]
    return orjson.dumps({"sweep": sweep_url(sweep.job.id), "winners": rows, "without": none})


async def _autotune_cache(
    asked: DerivationRequest, sweep: FoundSweep, winners: list[CompiledWinner]
) -> bytes | None:
    """Return a tar of the files, None while one is made.

    Raises ProblemRaised for one that Triton would not find, and for two that are one to it.
    """
    files = await cache_files(asked, sweep, winners)
    made = [file for file in files if file is not None]
    if len(made) < len(files):
        return None
    kept, without = sorted_out(winners, made)
    for item, refused in without:
        raise ProblemRaised(refused.slug, f"{item.name}: {refused.detail}")
    members = [member_of(path, file.text.encode()) for path, file in kept.items()]
    parts = [member.header + (member.data or b"") + member.padding for member in members]
    return b"".join([*parts, END])


def _bundle(
    state: ServiceState, members: list[Any] | None, headers: dict[str, str]
) -> Response | None:
    if members is None:
        return None
    return StreamingResponse(
        tar_of(state, members),
        headers=headers | {"Content-Length": str(size_bytes(members))},
        media_type=MEDIA_TYPES["bundle"],
    )


async def bundle_of_winners(
    asked: DerivationRequest, sweep: FoundSweep, winners: Sequence[CompiledWinner]
) -> list[Member] | None:
    """Return the files of the winners' bundle, None while they are being made.

    Raises ProblemRaised (422) where nothing of it can be made.
    """
    compilations = {item.compilation.key: item.compilation for item in winners}
    exported = await _exported(asked, list(compilations.values()))
    files = await cache_files(asked, sweep, winners)
    made = [file for file in files if file is not None]
    if exported is None or len(made) < len(files):
        return None
    kept, without = sorted_out(winners, made)
    left_out = [
        {"winner": item.winner.variant, "of": "autotune-cache", "why": refused.detail}
        for item, refused in without
    ]
    contents = {
        "winners": [item.winner.document for item in winners],
        "left_out": [*left_out, *_left_out(exported)],
    }
    text = triton_config(sweep_url(sweep.job.id), sweep.plan, [item.winner for item in winners])
    return _members(
        sweep,
        exported,
        contents,
        [
            member_of("triton_config.py", text.encode()),
            *(member_of(f"autotune-cache/{path}", f.text.encode()) for path, f in kept.items()),
        ],
    )


async def bundle_of_all(asked: DerivationRequest, sweep: FoundSweep) -> list[Member] | None:
    """Return the files of the bundle of every variant that compiled, None while they are made.

    Raises ProblemRaised (422) for too many, and where nothing of it can be made.
    """
    done = [row for row in sweep.rows if row["state"] in DONE and row["compilation_key"]]
    keys = list(dict.fromkeys(row["compilation_key"] for row in done))
    if len(keys) > MAX_COMPILATIONS:
        detail = f"{len(keys)} compilations; a bundle has {MAX_COMPILATIONS} at most"
        raise ProblemRaised("invalid_request", detail, limit=MAX_COMPILATIONS)
    if not keys:
        raise ProblemRaised("no_winner", "No variant of the sweep has a finished compilation")
    read = partial(read_finished, asked.state, asked.caller)
    compilations = await gather_limited(AT_ONCE, keys, read)
    exported = await _exported(asked, compilations)
    if exported is None:
        return None
    rows = [{name: row[name] for name in ("index", "values", "compilation_key")} for row in done]
    return _members(sweep, exported, {"rows": rows, "left_out": _left_out(exported)}, [])


_Exported = Sequence[tuple[Compilation, Derivation | Refusal]]


async def _exported(
    asked: DerivationRequest, compilations: Sequence[Compilation]
) -> _Exported | None:
    outcomes = await exports(asked, compilations)
    answers = [
        (compilation, outcome)
        for compilation, outcome in zip(compilations, outcomes, strict=True)
        if outcome is not None
    ]
    return answers if len(answers) == len(compilations) else None


def _left_out(exported: _Exported) -> list[dict[str, Any]]:
    return [
        {"compilation_key": compilation.key, "of": "triton-cache", "why": outcome.detail}
        for compilation, outcome in exported
        if isinstance(outcome, Refusal)
    ]


def _members(
    sweep: FoundSweep, exported: _Exported, facts: dict[str, Any], more: Sequence[Member]
) -> list[Member]:
    entries, tars = [], []
    for compilation, outcome in exported:
        if isinstance(outcome, Refusal):
            continue
        path = f"triton-cache/{compilation.key}.tar"
        tars.append(Member(path, outcome.size_bytes or 0, digest=outcome.digest))
        entries.append(
            {
                "file": path,
                "kernel": compilation.kernel,
                "target": compilation.target,
                "triton": compilation.toolchain.triton,
            }
        )
    if not tars and not any(item.path.startswith("autotune-cache/") for item in more):
        why = facts["left_out"][0]["why"] if facts["left_out"] else "nothing was compiled"
        raise ProblemRaised("not_derivable", f"Nothing of this sweep can be bundled: {why}")
    contents = {"sweep": sweep_url(sweep.job.id), "entries": entries, **facts}
    manifest = orjson.dumps(contents, option=orjson.OPT_INDENT_2)
    return [
        member_of("install.py", INSTALL.encode()),
        member_of("bundle.json", manifest),
        *more,
        *tars,
    ]

"""The bundle of a sweep: exports of its winners, or of all that compiled, in one tar as it is sent.

An export stays the file that it is; only one of them is in memory at a time.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson

from compiler.compilation import Compilation
from compiler.derivation import Derivation
from service.compilations.bundle import AT_ONCE, INSTALL, Member, Refusal, exports, member_of
from service.compilations.derivations import DerivationRequest, read_finished
from service.gather_limited import gather_limited
from service.http.problems import ProblemRaised
from sweeps.service.find_sweep import FoundSweep
from sweeps.service.winner_derivations import (
    CompiledWinner,
    cache_files,
    sorted_out,
)
from sweeps.sweep_job import sweep_url
from sweeps.winners.triton_config import triton_config

MAX_COMPILATIONS = 1_000
DONE = ("succeeded", "completed")


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
    said = {
        "winners": [item.winner.said for item in winners],
        "left_out": [*left_out, *_left_out(exported)],
    }
    text = triton_config(sweep_url(sweep.job.id), sweep.plan, [item.winner for item in winners])
    return _members(
        sweep,
        exported,
        said,
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
    found = [
        (compilation, outcome)
        for compilation, outcome in zip(compilations, outcomes, strict=True)
        if outcome is not None
    ]
    return found if len(found) == len(compilations) else None


def _left_out(exported: _Exported) -> list[dict[str, Any]]:
    return [
        {"compilation_key": compilation.key, "of": "triton-cache", "why": outcome.detail}
        for compilation, outcome in exported
        if isinstance(outcome, Refusal)
    ]


def _members(
    sweep: FoundSweep, exported: _Exported, said: dict[str, Any], more: Sequence[Member]
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
        why = said["left_out"][0]["why"] if said["left_out"] else "nothing was compiled"
        raise ProblemRaised("not_derivable", f"Nothing of this sweep can be bundled: {why}")
    contents = {"sweep": sweep_url(sweep.job.id), "entries": entries, **said}
    manifest = orjson.dumps(contents, option=orjson.OPT_INDENT_2)
    return [
        member_of("install.py", INSTALL.encode()),
        member_of("bundle.json", manifest),
        *more,
        *tars,
    ]

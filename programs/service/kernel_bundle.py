"""The bundle of a program: an export for Triton's cache of each specialization that it launches.

It is one tar with the same layout as a sweep's bundle.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from compiler.compilation import Compilation
from compiler.derivation import Derivation
from service.compilations.bundle import INSTALL, Member, Refusal, exports, member_of
from service.compilations.derivations import DerivationRequest, read_finished
from service.http.problems import ProblemRaised

MOST_KERNELS = 1_000


async def bundle_of_kernels(
    asked: DerivationRequest, program: Mapping[str, Any]
) -> list[Member] | None:
    """Return the files of the bundle of a finished `program`; None if some are not ready yet.

    Raises ProblemRaised: 422 if nothing can be bundled, 404 and 410 for missing compilations.
    """
    kernels = program["kernels"]
    good = [kernel["compilation_key"] for kernel in kernels if kernel["problem"] is None]
    keys = [key for key in dict.fromkeys(good) if key is not None]
    if len(keys) > MOST_KERNELS:
        detail = f"The program has {len(keys)} compilations; a bundle takes at most {MOST_KERNELS}"
        raise ProblemRaised("not_derivable", detail, limit=MOST_KERNELS)
    compilations = [await read_finished(asked.state, asked.caller, key) for key in keys]
    outcomes = await exports(asked, compilations)
    made = [outcome for outcome in outcomes if outcome is not None]
    if len(made) < len(outcomes):
        return None
    failed = [
        _left_out(kernel["name"], kernel["compilation_key"], kernel["problem"]["detail"])
        for kernel in kernels
        if kernel["problem"] is not None
    ]
    return _members(program, list(zip(compilations, made, strict=True)), failed)


def _left_out(name: str, key: str | None, why: str) -> dict[str, Any]:
    return {"kernel": name, "compilation_key": key, "why": why}


def _members(
    program: Mapping[str, Any],
    exported: Sequence[tuple[Compilation, Derivation | Refusal]],
    left_out: list[dict[str, Any]],
) -> list[Member]:
    entries, tars = [], []
    for compilation, outcome in exported:
        if isinstance(outcome, Refusal):
            left_out.append(_left_out(compilation.kernel or "", compilation.key, outcome.detail))
            continue
        path = f"triton-cache/{compilation.key}.tar"
        tars.append(Member(path, outcome.size_bytes or 0, digest=outcome.digest))
        entries.append(_entry(path, compilation))
    if not tars:
        why = left_out[0]["why"] if left_out else "it launches no kernel"
        raise ProblemRaised("not_derivable", f"Nothing of this program can be bundled: {why}")
    manifest = {"program": program["url"], "entries": entries, "left_out": left_out}
    return [
        member_of("install.py", INSTALL.encode()),
        member_of("bundle.json", orjson.dumps(manifest, option=orjson.OPT_INDENT_2)),
        *tars,
    ]


def _entry(path: str, compilation: Compilation) -> dict[str, Any]:
    return {
        "file": path,
        "kernel": compilation.kernel,
        "target": compilation.target,
        "triton": compilation.toolchain.triton,
    }

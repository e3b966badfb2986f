"""The results that can be derived from a finished compilation, and the job that derives one.

Job and outcome as service and worker exchange them; how it is made is not known here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from compiler.autotune import TunedResults
from compiler.compilation import Compilation
from compiler.job import CompileJob
from compiler.key import comparison_key, derivation_key
from compiler.problem import Problem, failure_problem
from compiler.stages import BY_NAME

DERIVATION_VERSION = 3
"""Increase it with every change to a derivation's content, so that stored ones are ignored."""

EXPORTS = "exports/"
AUTOTUNE_CACHE = "autotune-cache"
"""For a sweep's winner: the file that Triton's autotuner loads, with its folder."""
DIFF = "diff"
EXPLAINED = ("ttgir", "ptx", "amdgcn")
"""The stages that an explanation reads."""


@dataclass(frozen=True, slots=True)
class DerivationKind:
    """One thing that can be derived.

    It needs one of the stages in `needs`; `suffix` is that of a file to save it in.
    """

    media_type: str
    suffix: str
    needs: tuple[str, ...]
    needs_request: bool = False


def _of_stage(name: str, *, suffix: str, needs_request: bool = False) -> DerivationKind:
    stage = BY_NAME[name]
    return DerivationKind(stage.media_type, suffix, stage.derived_from, needs_request)


KINDS: Mapping[str, DerivationKind] = {
    "sass": _of_stage("sass", suffix="sass"),
    "lines": DerivationKind("application/json", "lines.json", ("source", "ttir", "ttgir")),
    "instructions": DerivationKind("application/json", "instructions.json", ("cubin", "amdgcn")),
    "explanation": DerivationKind("application/json", "explanation.json", EXPLAINED),
    "passes": DerivationKind(
        "application/json", "passes.json", ("source", "ttir", "ttgir"), needs_request=True
    ),
    "layouts": DerivationKind("application/json", "layouts.json", ("ttgir",)),
    AUTOTUNE_CACHE: DerivationKind(
        "application/json", "autotune.json", ("source", "ttir", "ttgir"), needs_request=True
    ),
    DIFF: DerivationKind("application/json", "diff.json", (), needs_request=True),
    "numpy": _of_stage("numpy", suffix="py", needs_request=True),
    EXPORTS + "c": DerivationKind("text/x-c", "h", ("cubin",)),
    EXPORTS + "cuda-inline": DerivationKind("text/x-cuda", "cuh", ("ptx",)),
    EXPORTS + "rust": DerivationKind("text/rust", "rs", ("cubin",)),
    EXPORTS + "python": DerivationKind("text/x-python", "py", ("cubin",)),
    EXPORTS + "triton-cache": DerivationKind(
        "application/x-tar", "tar", ("cubin", "hsaco"), needs_request=True
    ),
}
"""By name, which is also the path behind that of the compilation; those without a folder of their
own, `sass` and `numpy`, are artifacts."""


class ComparedCompilation(BaseModel):
    """The second compilation of a diff, and the disassembly of both, by digest.

    `stages` are those whose texts are compared, in the order of the pipeline.
    """

    model_config = ConfigDict(frozen=True)

    compilation: Compilation
    compile_job: CompileJob
    sass: str | None
    sass_of_first: str | None
    stages: tuple[str, ...]


class DeriveJob(BaseModel):
    """A derivation as it is queued; `key` is its id, over all that it depends on.

    `compile_job` is there for what needs the compilation's own request, `tuned` for the file that
    keeps an autotuner's results, `compared` for a diff.
    """

    model_config = ConfigDict(frozen=True)

    key: str
    what: str
    compilation: Compilation
    compile_job: CompileJob | None
    tuned: TunedResults | None = None
    compared: ComparedCompilation | None = None


class Derivation(BaseModel):
    """The end of a derivation: the resulting blob, or the reason why there is none."""

    model_config = ConfigDict(frozen=True)

    state: Literal["succeeded", "failed"]
    what: str
    digest: str | None = None
    size_bytes: int | None = None
    problem: Problem | None = None


def cancelled_derivation(job: DeriveJob) -> Derivation:
    """Return the end of a derivation without interested callers."""
    problem = failure_problem("derivation_failed", "Everybody who asked for it withdrew.")
    return Derivation(state="failed", what=job.what, problem=problem)


def key_of(compilation: Compilation, what: str) -> str:
    """Return the id of the derivation: it changes when the compilation is made anew."""
    return derivation_key(
        compilation_key=compilation.key,
        what=what,
        artifact_digests={
            stage: artifact.digest for stage, artifact in compilation.artifacts.items()
        },
        derivation_version=DERIVATION_VERSION,
    )


def tuned_key_of(compilation: Compilation, results: TunedResults) -> str:
    """Return the id of the file that keeps `results`."""
    digest = hashlib.sha256(results.model_dump_json().encode()).hexdigest()
    return key_of(compilation, f"{AUTOTUNE_CACHE}/{digest}")


def diff_key_of(
    first: Compilation,
    second: Compilation,
    disassembly_digests: Sequence[str | None],
    stages: Sequence[str],
) -> str:
    """Return the id of the diff between two compilations, which has a direction."""
    return comparison_key(
        derivations=[key_of(first, DIFF), key_of(second, DIFF)],
        disassembly_digests=disassembly_digests,
        stages=stages,
    )

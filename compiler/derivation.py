"""The results that can be derived from a finished compilation, and the job that derives one.

Job and outcome as service and worker exchange them; how it is made is not known here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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


JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivationKind:
    """One thing that can be derived. It needs one of the stages in `needs`."""

    media_type: str = JSON
    suffix: str
    """The suffix of a file to save it in."""
    needs: tuple[str, ...]
    reads: tuple[str, ...] = ()
    """The stages whose texts or binaries alone make it; () where `worker/compile/derive.py` has
    more to do."""
    needs_request: bool = False
    summary: str = ""
    """The summary of its route; "" for one without a route of that shape."""
    description: str = ""


def _of_stage(name: str, **row: Any) -> DerivationKind:
    stage = BY_NAME[name]
    return DerivationKind(media_type=stage.media_type, needs=stage.derived_from, **row)


KINDS: Mapping[str, DerivationKind] = {
    "sass": _of_stage(
        "sass",
        suffix="sass",
        reads=("cubin", "ptx"),
        summary="Disassembled machine code, with its source lines",
        description="Answer nvdisasm's listing of the cubin.",
    ),
    "numpy": _of_stage(
        "numpy",
        suffix="py",
        needs_request=True,
        summary="The kernel translated to a NumPy module, with its source lines",
        description=(
            "Answer a module that computes the same as the kernel's TTIR. It needs only NumPy."
        ),
    ),
    "lines": DerivationKind(
        suffix="lines.json",
        needs=("source", "ttir", "ttgir"),
        summary="Map each source line to its lines in every artifact",
        description=(
            "Answer 1-based lines. Inlined code appears at the helper's line and at the call's."
        ),
    ),
    "instructions": DerivationKind(
        suffix="instructions.json",
        needs=("cubin", "amdgcn"),
        summary="Count instructions by class, opcode and line",
        description="Answer counts for SASS or AMD assembly. Each instruction counts once.",
    ),
    "explanation": DerivationKind(
        suffix="explanation.json",
        needs=EXPLAINED,
        summary="What makes the kernel costly, by source line",
        description=(
            "Answer which unit multiplies matrices and why no faster one, accesses, and "
            "conversions."
        ),
    ),
    "passes": DerivationKind(
        suffix="passes.json",
        needs=("source", "ttir", "ttgir"),
        needs_request=True,
        summary="List the compiler passes, with the module before and after",
        description=("Answer the passes in order. Passes that changed the module have its text."),
    ),
    "layouts": DerivationKind(
        suffix="layouts.json",
        needs=("ttgir",),
        summary="Tell which lane, register and warp holds each element of a TTGIR type",
        description=(
            "Answer the types that the TTGIR's tensors have, each with its layout in linear "
            "form.\n\n"
            "`bases` holds offsets into the tensor: those of register 1, 2, 4 and so on, and the "
            "same for\nlanes, warps and blocks of a cluster. The place of any register is the XOR "
            "of those whose bits\nits number has, and likewise for lanes. For shared memory they "
            "are of element offsets in it,\nfor tensor memory of rows and of columns as wide as an "
            "element. `problem` is why a type has\nno bases: Triton does not tell its layout, or "
            "it is a part of an allocation."
        ),
    ),
    AUTOTUNE_CACHE: DerivationKind(
        suffix="autotune.json", needs=("source", "ttir", "ttgir"), needs_request=True
    ),
    DIFF: DerivationKind(suffix="diff.json", needs=(), needs_request=True),
    EXPORTS + "c": DerivationKind(media_type="text/x-c", suffix="h", needs=("cubin",)),
    EXPORTS + "cuda-inline": DerivationKind(media_type="text/x-cuda", suffix="cuh", needs=("ptx",)),
    EXPORTS + "rust": DerivationKind(media_type="text/rust", suffix="rs", needs=("cubin",)),
    EXPORTS + "python": DerivationKind(media_type="text/x-python", suffix="py", needs=("cubin",)),
    EXPORTS + "triton-cache": DerivationKind(
        media_type="application/x-tar",
        suffix="tar",
        needs=("cubin", "hsaco"),
        needs_request=True,
    ),
}
"""By name, which is also the path behind that of the compilation; stages are artifacts."""


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
    problem = failure_problem("derivation_failed", "All callers that asked for it withdrew.")
    return Derivation(state="failed", what=job.what, problem=problem)


def key_of(compilation: Compilation, what: str) -> str:
    """Return the id of the derivation: it changes when the compilation is repeated."""
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

"""The order of a diff: the records of two compilations, and the texts to compare as its parts.

Runs in the worker, which moves blobs into a child and parses none.
"""

import json
from collections.abc import Mapping

from compiler.compilation import Compilation
from compiler.derivation import DeriveJob
from compiler.job import CompileJob
from compiler.messages.orders import DiffOrder, DiffSide
from store.blobs import Blobs

ASSEMBLY = "amdgcn"
"""Counted in any case; the other kind of assembly, SASS, is no artifact."""
_OF_NO_DIFF = frozenset({"artifacts", "stdout", "timings_ms", "abi", "metadata", "assumptions"})


class ArtifactEvicted(Exception):
    """An artifact has left the cache."""


async def diff_order_of(job: DeriveJob, blobs: Blobs) -> tuple[DiffOrder, dict[str, bytes]]:
    """Return the order and the parts of its body, in their order. Raises ArtifactEvicted."""
    compared = job.compared
    assert compared is not None
    assert job.compile_job is not None
    sides = (
        (job.compilation, job.compile_job, compared.sass_of_first),
        (compared.compilation, compared.compile_job, compared.sass),
    )
    found = [
        await _parts(compilation, request, sass, compared.stages, blobs)
        for compilation, request, sass in sides
    ]
    a, b = (
        DiffSide(
            record=compilation.model_dump(mode="json", exclude={*_OF_NO_DIFF}),
            sizes={name: len(data) for name, data in parts.items()},
        )
        for (compilation, _, _), parts in zip(sides, found, strict=True)
    )
    body = {f"a/{name}": data for name, data in found[0].items()}
    body |= {f"b/{name}": data for name, data in found[1].items()}
    return DiffOrder(a=a, b=b, compared=list(compared.stages)), body


async def _parts(
    compilation: Compilation,
    request: CompileJob,
    sass: str | None,
    stages: tuple[str, ...],
    blobs: Blobs,
) -> dict[str, bytes]:
    """Return the texts of one side by stage, and the user's files."""
    artifacts = compilation.artifacts
    digests: Mapping[str, str] = {
        stage: artifacts[stage].digest for stage in (*stages, ASSEMBLY) if stage in artifacts
    } | ({"sass": sass} if sass is not None else {})
    parts = {}
    for stage, digest in digests.items():
        data = await blobs.get(digest)
        if data is None:
            raise ArtifactEvicted(
                f"The artifact {stage} has left the cache. Post the compilation again."
            )
        parts[stage] = data
    return parts | {"files": json.dumps(request.texts).encode()}

"""The keys of compilations and of data derived from them, each with an explicit list of its inputs.

Other keys are next to what they are of: the alias of a posted body in
`service/compilations/response_cache.py`, a reference's result in
`worker/launch/stored_references.py`, a proof in `proofs/worker/do_proof.py`.

A wrong key silently returns another kernel. If you give a compilation or one of its children a new
input, add it to the list here, raise KEY_VERSION (`labelled_digest.py`), and add its values that
must differ to the table in `tests/unit/compiler/key_inputs.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.labelled_digest import labelled_digest


def compile_key(
    *,
    namespace: str,
    source: str | None,
    module: str | None,
    ir: Mapping[str, Any] | None,
    files: Mapping[str, str],
    absent: Sequence[str],
    kernel: str | None,
    specialization_json: Mapping[str, Any],
    options: Mapping[str, Any],
    target_name: str,
    stop_after: str,
    toolchain_id: str,
) -> str:
    """Return the key of a compilation: the id of the resource and of the job."""
    return labelled_digest(
        "compilation",
        [
            ("namespace", namespace),
            ("source", source),
            ("module", module),
            ("ir", ir),
            ("files", files),
            ("absent", absent),
            ("kernel", kernel),
            ("specialization", specialization_json),
            ("options", options),
            ("target", target_name),
            ("stop_after", stop_after),
            ("toolchain", toolchain_id),
        ],
    )


def front_key(
    *,
    text: str,
    module: str | None,
    kernel: str | None,
    files: Mapping[str, str],
    absent: Sequence[str],
    signature: Mapping[str, Any],
    constexprs: Mapping[str, Any],
    hints: Mapping[str, Sequence[str]],
    options: Mapping[str, Any],
    hidden: Sequence[str] | None,
    target: Mapping[str, Any],
    toolchain_id: str,
    namespace: str,
) -> str:
    """Return the key of the result of executing `text`, however many stages are asked for.

    `options` are those that the front end sees, `hidden` the names of the others: None where it
    sees all of them.
    """
    return labelled_digest(
        "front",
        [
            ("text", text),
            ("module", module),
            ("kernel", kernel),
            ("files", files),
            ("absent", absent),
            ("signature", signature),
            ("constexprs", constexprs),
            ("hints", hints),
            ("options", options),
            ("hidden", hidden),
            ("target", target),
            ("toolchain", toolchain_id),
            ("namespace", namespace),
        ],
    )


def back_key(
    *,
    ir: bytes,
    language: str,
    locations: Mapping[str, Any],
    options: Mapping[str, Any],
    target: Mapping[str, Any],
    toolchain_id: str,
    namespace: str,
) -> str:
    """Return the key of the back end's result for a front end's IR, for any last stage."""
    return labelled_digest(
        "back",
        [
            ("ir", ir),
            ("language", language),
            ("locations", locations),
            ("options", options),
            ("target", target),
            ("toolchain", toolchain_id),
            ("namespace", namespace),
        ],
    )


def posted_ir_key(
    *,
    text: bytes,
    language: str,
    stage: str,
    canonicalize: bool,
    options: Mapping[str, Any],
    target: Mapping[str, Any],
    toolchain_id: str,
    namespace: str,
) -> str:
    """Return the key of the back end's result for posted IR, for any last stage."""
    return labelled_digest(
        "posted ir",
        [
            ("text", text),
            ("language", language),
            ("stage", stage),
            ("canonicalize", canonicalize),
            ("options", options),
            ("target", target),
            ("toolchain", toolchain_id),
            ("namespace", namespace),
        ],
    )


def inspection_key(
    *,
    namespace: str,
    source: str,
    module: str | None,
    files: Mapping[str, str],
    absent: Sequence[str],
    kernel: str | None,
    target_name: str | None,
    toolchain_id: str,
) -> str:
    """Return the key of an inspection: the id of its job."""
    return labelled_digest(
        "inspection",
        [
            ("namespace", namespace),
            ("source", source),
            ("module", module),
            ("files", files),
            ("absent", absent),
            ("kernel", kernel),
            ("target", target_name),
            ("toolchain", toolchain_id),
        ],
    )


def reading_key(
    *,
    namespace: str,
    source: str | None,
    module: str | None,
    files: Mapping[str, str],
    kernel: str | None,
    functions: Sequence[str],
    toolchain_id: str,
) -> str:
    """Return the key of the facts that parsing a source gives, for any target."""
    return labelled_digest(
        "reading",
        [
            ("namespace", namespace),
            ("source", source),
            ("module", module),
            ("files", files),
            ("kernel", kernel),
            ("functions", functions),
            ("toolchain", toolchain_id),
        ],
    )


def kernel_source_key(
    *,
    namespace: str,
    source: str | None,
    module: str | None,
    files: Mapping[str, str],
    absent: Sequence[str],
    kernel: str | None,
    functions: Sequence[str],
    target_name: str,
    toolchain_id: str,
) -> str:
    """Return the key of the facts about a kernel; `functions` are those its constexprs pass."""
    return labelled_digest(
        "kernel source",
        [
            ("namespace", namespace),
            ("source", source),
            ("module", module),
            ("files", files),
            ("absent", absent),
            ("kernel", kernel),
            ("functions", functions),
            ("target", target_name),
            ("toolchain", toolchain_id),
        ],
    )


def derivation_key(
    *,
    compilation_key: str,
    what: str,
    artifact_digests: Mapping[str, str],
    derivation_version: int,
) -> str:
    """Return the key of a derivation: the id of its job."""
    return labelled_digest(
        "derivation",
        [
            ("compilation", compilation_key),
            ("what", what),
            ("artifacts", artifact_digests),
            ("derivation_version", derivation_version),
        ],
    )


def comparison_key(
    *,
    derivations: Sequence[str],
    disassembly_digests: Sequence[str | None],
    stages: Sequence[str],
) -> str:
    """Return the key of the difference between two compilations: the id of its job.

    `derivations` are the keys of derivations from the first and from the second.
    """
    return labelled_digest(
        "comparison",
        [
            ("derivations", derivations),
            ("disassembly", disassembly_digests),
            ("stages", stages),
        ],
    )

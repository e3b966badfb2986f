"""Resolves a request: fills defaults in, checks everything, and computes the key.

Pure: the same request and toolchain give the same job. The source is never parsed here.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from compiler.job import SOURCE_PATH, CompileJob
from compiler.key import compile_key
from compiler.rejection import FieldError, RequestRejected, collecting, pointer, shown
from compiler.request.compile_request import CompileRequest
from compiler.request.options import resolve_options
from compiler.request.signature import parse_specialization
from compiler.request.specialization_data import JitData, read_jit_data
from compiler.specialization import Specialization
from compiler.target import Target, parse_target
from compiler.toolchain import Toolchain
from compiler.type_name import canonical_type

OF_SOURCES = (
    "module", "files", "absent", "kernel", "signature", "hints", "constexprs", "specialization_data"
)  # fmt: skip
"""Fields about a source; posted IR contains the same itself."""

_MODULE_PATH = re.compile(r"(?:[A-Za-z_]\w*/){0,32}[A-Za-z_]\w*\.py", re.ASCII)


def resolve(request: CompileRequest, toolchain: Toolchain, namespace: str) -> CompileJob:
    """Return the job that `request` asks of `toolchain`.

    Raises RequestRejected naming every field that cannot be.
    """
    errors: list[FieldError] = []
    with collecting(errors):
        _check_input(request)
    with collecting(errors):
        check_texts(request.source or "", request.files)
    with collecting(errors):
        jit_data = read_specialization(request)
    with collecting(errors):
        target = offered_target(request.target, toolchain)
        stop_after = request.stop_after or target.stages[-1]
        with collecting(errors):
            _check_stages(request, target, stop_after)
        table = toolchain.options[target.backend]
        with collecting(errors):
            options = resolve_options(request.options, table, target)
    if errors:
        raise RequestRejected(*errors)
    if inherited := jit_data.options_for(target, table):
        options = resolve_options(inherited | request.options, table, target)
    parts: dict[str, Any] = {
        "namespace": namespace,
        "source": request.source,
        "module": request.module,
        "ir": request.ir.model_dump() if request.ir else None,
        "files": request.files,
        "absent": sorted(set(request.absent)),
        "kernel": request.kernel or jit_data.kernel,
        "specialization_json": jit_data.specialization.to_json(),
        "options": options,
        "target_name": str(target),
        "stop_after": stop_after,
        "toolchain_id": toolchain.id,
    }
    return _with_key(parts, request.timeout_s)


def specialized_job(job: CompileJob, specialization: Specialization) -> CompileJob:
    """Return `job` for another specialization, with the key that posting it would give."""
    parts = job.model_dump(exclude={"key", "timeout_s"})
    named = {
        name: replace(item, type=_spelled_as_posted(item.type))
        for name, item in specialization.named.items()
    }
    parts["specialization_json"] = replace(specialization, named=named).to_json()
    return _with_key(parts, job.timeout_s)


def job_for(job: CompileJob, toolchain: Toolchain) -> CompileJob:
    """Return `job` for another toolchain with the same Triton, with the key that it has there."""
    parts = job.model_dump(exclude={"key", "timeout_s"})
    return _with_key(parts | {"toolchain_id": toolchain.id}, job.timeout_s)


def _spelled_as_posted(kind: Any) -> Any:
    """Return a type as a request would have it: Triton's JIT calls a bool u1, we call it i1."""
    if isinstance(kind, list):
        return [_spelled_as_posted(item) for item in kind]
    if not isinstance(kind, str):
        return kind
    name, colon, suffix = kind.partition(":")
    return canonical_type(name) + colon + suffix


def _with_key(parts: dict[str, Any], timeout_s: float) -> CompileJob:
    return CompileJob(key=compile_key(**parts), timeout_s=timeout_s, **parts)


def read_specialization(request: CompileRequest) -> JitData:
    """Return a request's values for the kernel's parameters, in either form.

    Raises RequestRejected.
    """
    if request.specialization_data is None:
        return JitData(parse_specialization(request.signature, request.hints, request.constexprs))
    if request.signature or request.hints or request.constexprs:
        message = "it replaces signature, hints and constexprs; give either it or them"
        raise RequestRejected(FieldError("/specialization_data", message))
    return read_jit_data(request.specialization_data)


def offered_target(written: str, toolchain: Toolchain) -> Target:
    """Return the target that is written. Raises RequestRejected for one that is not offered."""
    target = parse_target(written)
    if str(target) not in toolchain.targets:
        offered = ", ".join(toolchain.targets)
        message = (
            f"Triton {toolchain.triton} on this deployment cannot compile for {target}, only for "
            f"{offered}."
        )
        raise RequestRejected(FieldError("/target", message))
    return target


def _check_stages(request: CompileRequest, target: Target, stop_after: str) -> None:
    stages = target.stages
    first = request.ir.stage if request.ir else stages[0]
    if stop_after not in stages:
        message = f"{target.backend} has no stage {stop_after}; it has {', '.join(stages)}"
        raise RequestRejected(FieldError("/stop_after", message))
    reached = stages[stages.index(first) : stages.index(stop_after) + 1]
    if not reached:
        message = f"{stop_after} comes before {first}, which is what was posted"
        raise RequestRejected(FieldError("/stop_after", message))
    for index, stage in enumerate(request.include):
        if stage not in reached:
            given = f"{first} posted and stop_after" if request.ir else "stop_after"
            message = f"{stage} is not made for {target} with {given} {stop_after}"
            raise RequestRejected(FieldError(pointer("include", index), message))


def _check_input(request: CompileRequest) -> None:
    ir = request.ir
    if ir is None:
        check_absent(request.module, request.absent)
        if request.source is None:
            message = "give `source` (Python text), or `ir` (TTIR or TTGIR text)"
            raise RequestRejected(FieldError("/source", message))
        return
    errors = [
        FieldError(
            pointer(name), "posted IR already defines this: leave the field out, or post `source`"
        )
        for name in OF_SOURCES
        if getattr(request, name, None)
    ]
    if request.source is not None:
        errors.append(FieldError("/ir", "give `source` or `ir`, not both"))
    if "\0" in ir.text:
        errors.append(FieldError("/ir/text", "IR cannot contain NUL characters"))
    if ir.canonicalize and ir.language != "ttir":
        message = "only TTIR can be canonicalized; TTGIR comes after those passes"
        errors.append(FieldError("/ir/canonicalize", message))
    if errors:
        raise RequestRejected(*errors)


def check_absent(module: str | None, absent: Sequence[str]) -> None:
    """Refuse a list of absent modules for a source without a `module`."""
    if absent and module is None:
        message = (
            "it only applies with `module`; without one, every missing module counts as absent"
        )
        raise RequestRejected(FieldError("/absent", message))


def check_texts(source: str, files: dict[str, str]) -> None:
    """Check what Python could not read: NUL characters, paths that no import finds.

    Raises RequestRejected.
    """
    texts = {"/source": source}
    texts |= {pointer("files", path): text for path, text in files.items()}
    errors = [
        FieldError(at, "Python source cannot contain NUL characters")
        for at, text in texts.items()
        if "\0" in text
    ]
    for path in files:
        if path == SOURCE_PATH:
            errors.append(
                FieldError(pointer("files", path), f"{path} is `source` itself; rename it")
            )
        elif not _MODULE_PATH.fullmatch(path):
            message = f"{shown(path)} is not a module path such as helpers.py or package/helpers.py"
            errors.append(FieldError(pointer("files", path), message))
    if errors:
        raise RequestRejected(*errors)

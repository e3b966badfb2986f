"""Resolves a request: fills defaults in, checks everything, and computes the key.

Pure: the same request and toolchain give the same job. The source is never parsed here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from compiler.job import SOURCE_PATH, CompileJob
from compiler.key import compile_key
from compiler.rejection import FieldError, RequestRejected, collecting, pointer, shown
from compiler.request.compile_request import CompileRequest
from compiler.request.options import misfit, resolve_options
from compiler.request.signature import parse_specialization
from compiler.specialization import Specialization
from compiler.stages import pipeline
from compiler.target import BACKENDS, Target, parse_target
from compiler.toolchain import OptionSpec, Toolchain
from compiler.type_name import SCALARS, canonical_dtype, canonical_type

OF_SOURCES = (
    "module", "files", "absent", "kernel", "signature", "hints", "constexprs", "specialization_data"
)  # fmt: skip
"""Fields about a source; posted IR contains the same itself."""

_MODULE_PATH = re.compile(r"(?:[A-Za-z_]\w*/){0,32}[A-Za-z_]\w*\.py", re.ASCII)
_JIT_DATA = "/specialization_data"
_DTYPES = frozenset(name for name in SCALARS if name[0] not in "iu") | frozenset(
    "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
)
"""Spellings of dtypes as constants, which look like strings."""
_HINTS = {("tt.divisibility", 16): "divisible_by_16", ("tt.pointer_range", 32): "pointer_range_32"}


def resolve(request: CompileRequest, toolchain: Toolchain, namespace: str) -> CompileJob:
    """Return the job that `request` asks of `toolchain`.

    Raises RequestRejected with an error for every field that is wrong.
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


def offered_target(written: str, toolchain: Toolchain) -> Target:
    """Return the target named `written`. Raises RequestRejected if it is not offered."""
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
        others = [name for name in BACKENDS if stage in pipeline(name)]
        if stage not in stages and others:
            message = f"{stage} is made for {' or '.join(others)} targets, not for {target}"
            raise RequestRejected(FieldError(pointer("include", index), message))
        if stage not in reached:
            fields = f"{first} posted and stop_after" if request.ir else "stop_after"
            message = f"{stage} is not made for {target} with {fields} {stop_after}"
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


def read_specialization(request: CompileRequest) -> JitData:
    """Return a request's values for the kernel's parameters, in either form.

    Raises RequestRejected.
    """
    if request.specialization_data is None:
        return JitData(parse_specialization(request.signature, request.hints, request.constexprs))
    if request.signature or request.hints or request.constexprs:
        message = "it replaces signature, hints and constexprs; give either it or them"
        raise RequestRejected(FieldError(_JIT_DATA, message))
    return read_jit_data(request.specialization_data)


@dataclass(frozen=True, slots=True)
class JitData:
    """The content of `specialization_data`, the JSON that Triton's JIT gives its hooks.

    `options` are all those of `backend`, not only the offered ones.
    """

    specialization: Specialization
    kernel: str | None = None
    backend: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def options_for(self, target: Target, table: dict[str, OptionSpec]) -> dict[str, Any]:
        """Return the options that mean something for `target`, whose own are in `table`.

        Data that does not name its backend is taken to be made for that of the target.
        """
        if self.backend not in {None, target.backend}:
            return {}
        return {
            name: value
            for name, value in self.options.items()
            if name in table and misfit(value, table[name]) is None
        }


def read_jit_data(written: Any) -> JitData:
    """Read `specialization_data`: an object, or its text, which is what hooks get.

    Its shape is that of `serialize_specialization_data` in triton/runtime/jit.py (3.6 to 3.9):
    types by name, constants and attributes by their paths in the list of parameters. Raises
    RequestRejected at `/specialization_data`.
    """
    data = _object(written)
    signature = data.get("signature")
    if not isinstance(signature, dict):
        raise _fault("has no `signature` by parameter name: it is not what Triton's hooks give")
    names = list(signature)
    try:
        constants = {
            path: _constant(value) for path, value in _pairs(data, "constant", names) if path
        }
        hints = {path: _hints(value) for path, value in _pairs(data, "attrs", names) if path}
    except (TypeError, ValueError, LookupError) as error:
        raise _fault(f"cannot be read: {error}") from None
    types = {name: kind for name, kind in signature.items() if kind != "constexpr"}
    hints = {path: named for path, named in hints.items() if named and path not in constants}
    try:
        specialization = parse_specialization(types, hints, constants)
    except RequestRejected as rejected:
        errors = [FieldError(_JIT_DATA + error.pointer, error.message) for error in rejected.errors]
        raise RequestRejected(*errors) from None
    options = data.get("options")
    return JitData(
        specialization=specialization,
        kernel=_kernel(data.get("name")),
        backend=_backend(options, data.get("target")),
        options=options if isinstance(options, dict) else {},
    )


def _object(written: Any) -> dict[str, Any]:
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError):
            raise _fault("is not JSON") from None
    if not isinstance(written, dict):
        raise _fault("must be an object, or the text of one")
    return written


def _pairs(data: dict[str, Any], kind: str, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Return (path, value) of every entry, such as `pair.1` for the index path [2, 1]."""
    keys, values = data.get(f"{kind}_keys") or [], data.get(f"{kind}_vals") or []
    if len(keys) != len(values):
        message = f"`{kind}_keys` has {len(keys)} entries, `{kind}_vals` has {len(values)}"
        raise ValueError(message)
    for indices, value in zip(keys, values, strict=True):
        first, *rest = indices
        if first not in range(len(names)):
            message = f"`{kind}_keys` names parameter {first}, but `signature` has {len(names)}"
            raise ValueError(message)
        yield ".".join([names[first], *(str(int(index)) for index in rest)]), value


def _constant(value: Any) -> Any:
    if isinstance(value, str) and value in _DTYPES:
        return {"dtype": canonical_dtype(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, list):
        return {"tuple": [_constant(item) for item in value]}
    if not isinstance(value, dict):
        return value
    [(tag, inner)] = value.items()
    if tag == "constexpr":
        return _constant(inner)
    if tag == "jit_function" and isinstance(inner, str):
        return {"function": inner.rpartition(":")[2].rpartition(".")[2]}
    message = f"{shown(value)} is not a constant"
    raise ValueError(message)


def _hints(attributes: Any) -> list[str]:
    return [hint for (name, value), hint in _HINTS.items() if [name, value] in attributes]


def _kernel(name: Any) -> str | None:
    return name.rpartition(".")[2] if isinstance(name, str) and name else None


def _backend(options: Any, target: Any) -> str | None:
    """Return the backend; Triton 3.6 does not name the target, but the options name it too."""
    for described, name in (target, "backend"), (options, "backend_name"):
        if isinstance(described, dict) and isinstance(described.get(name), str):
            return str(described[name])
    return None


def _fault(message: str) -> RequestRejected:
    return RequestRejected(FieldError(_JIT_DATA, message))

"""Compile requests of Compiler Explorer's API, translated to this service's own API.

A user's errors appear on `stderr`, as a compiler prints them. Only errors that the plug-in or the
operator must fix are problems.

Annotations and autotune configurations of the source complete a request. Nothing is guessed from
names: for values that neither the source nor `userArguments` give, the answer lists flags to add.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from adapters.compiler_explorer.compile_result import (
    AssemblyLine,
    CompileResult,
    assembly,
    failed,
    output_lines,
    plain_lines,
    sources_of,
)
from adapters.compiler_explorer.offered_compilers import OfferedCompiler
from adapters.compiler_explorer.user_arguments import (
    MAX_CHARS,
    ArgumentsRefused,
    UserArguments,
    read_arguments,
)
from compiler.compilation import CompilationAnswer
from compiler.inspection import InspectedKernel, InspectedParameter, Inspection
from compiler.request.compile_request import MAX_PATH_CHARS, Name, Text
from compiler.stages import BINARY, STAGES
from compiler.target import parse_target
from service.adapter_host import host_of
from service.http.inner_request import InnerAnswer, ask_itself

_TYPE = re.compile(
    r"[\"']?(\*?k?(?:i1|[iu](?:8|16|32|64)|u1|bf16|fp(?:8\w{0,12}|16|32|64))(?::16)?)[\"']?"
)


@dataclass(frozen=True)
class InferredRequest:
    """Members of a compile request, notes about them, and missing flags."""

    members: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Required flags, such as `--signature x_ptr=TYPE`."""
    line: int | None = None
    """The line of the kernel with these parameters."""


def infer(arguments: UserArguments, inspection: Inspection) -> InferredRequest:
    """Return the values in `arguments` for a kernel, completed from the source."""
    kernel = _chosen(arguments.kernel, inspection)
    if kernel is None or arguments.signature_by_position is not None:
        return InferredRequest(_members(arguments, {}, {}, {}))
    types = {
        parameter.name: kind
        for parameter in kernel.parameters
        if not _is_given(arguments, parameter.name) and (kind := _annotated(parameter))
    }
    constexprs, options = _first_configuration(arguments, kernel)
    inferred = [f"{name}: {kind}, from its annotation" for name, kind in types.items()]
    if constexprs or options:
        values = ", ".join(f"{name}={value}" for name, value in {**constexprs, **options}.items())
        inferred.append(f"{values}: the first of {len(kernel.configs)} autotune configurations")
    missing = [
        _flag(parameter)
        for parameter in kernel.parameters
        if parameter.default is None
        and parameter.name not in types
        and parameter.name not in constexprs
        and not _is_given(arguments, parameter.name)
    ]
    members = _members(arguments, types, constexprs, options)
    return InferredRequest(members, tuple(inferred), tuple(missing), kernel.line)


def _chosen(named: str | None, inspection: Inspection) -> InspectedKernel | None:
    """Return the kernel that a compilation chooses, None if compiling will report the error."""
    called = {name for kernel in inspection.kernels for name in kernel.calls}
    fitting = [
        kernel
        for kernel in inspection.kernels
        if (kernel.name == named if named else kernel.name not in called)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _members(
    arguments: UserArguments,
    types: Mapping[str, str],
    constexprs: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    signature: Any = {**types, **arguments.signature}
    if arguments.signature_by_position is not None:
        signature = arguments.signature_by_position
    every = {
        "kernel": arguments.kernel,
        "signature": signature,
        "constexprs": {**constexprs, **arguments.constexprs},
        "options": {**options, **arguments.options},
    }
    return {name: value for name, value in every.items() if value}


def _is_given(arguments: UserArguments, name: str) -> bool:
    return name in arguments.signature or name in arguments.constexprs


def _annotated(parameter: InspectedParameter) -> str | None:
    match = _TYPE.fullmatch(parameter.annotation or "")
    return match[1] if match and not parameter.constexpr else None


def _first_configuration(
    arguments: UserArguments, kernel: InspectedKernel
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return constexprs and options of the first readable autotune configuration."""
    first = kernel.configs[0] if kernel.configs else {}
    constexprs = {
        name: value["literal"]
        for name, value in first.get("constexprs", {}).items()
        if "literal" in value and not _is_given(arguments, name)
    }
    options = {
        name: value["literal"]
        for name, value in first.get("options", {}).items()
        if "literal" in value and name not in arguments.options and value["literal"] is not None
    }
    return constexprs, options


def _flag(parameter: InspectedParameter) -> str:
    if parameter.constexpr:
        return f"--constexpr {parameter.name}=VALUE"
    return f"--signature {parameter.name}=TYPE"


_DERIVED = {stage.name: stage.derived_from[-1] for stage in STAGES if stage.is_derived}
"""Stages made on demand, each with the stage that it derives from."""


_MAX_IGNORED = 1000
_Ignored = Annotated[list[Any] | dict[Name, Any], Field(max_length=_MAX_IGNORED)]


class CompilePart(BaseModel):
    """One further file."""

    filename: str = Field(max_length=MAX_PATH_CHARS)
    contents: Text


class CompileOptions(BaseModel):
    """Options of a plug-in; those without a meaning here are accepted and ignored."""

    userArguments: str = Field(  # noqa: N815 - Compiler Explorer's names
        default="",
        max_length=MAX_CHARS,
        description="--kernel --signature --constexpr --option --stage, as in `tritonc compile`",
    )
    filters: dict[Name, Any] = Field(
        default_factory=dict,
        max_length=_MAX_IGNORED,
        description="binary: SASS; commentOnly and directives omit comments and debug data",
    )
    compilerOptions: dict[Name, Any] = Field(  # noqa: N815
        default_factory=dict, max_length=_MAX_IGNORED
    )
    tools: _Ignored = Field(default_factory=list)
    libraries: _Ignored = Field(default_factory=list)


class ExplorerCompileRequest(BaseModel):
    """The body of `POST /api/compiler/{id}/compile`; newer plug-ins may send unknown fields."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    source: Annotated[Text, Field(min_length=1)]
    options: CompileOptions = CompileOptions()
    lang: Name | None = None
    files: list[CompilePart] = Field(default_factory=list, max_length=1000, fail_fast=True)
    bypassCache: bool | int = False  # noqa: N815


EXAMPLE: dict[str, Any] = {
    "source": (
        "import triton\nimport triton.language as tl\n\n\n"
        "@triton.jit\n"
        "def fill(x_ptr, value, BLOCK: tl.constexpr):\n"
        "    tl.store(x_ptr + tl.arange(0, BLOCK), value)\n"
    ),
    "options": {
        "userArguments": "--signature x_ptr=*fp32:16 value=fp32 --constexpr BLOCK=1024",
        "filters": {"binary": False, "commentOnly": True, "directives": True},
    },
    "lang": "triton",
}


async def compile_for_explorer(
    request: Request, compiler: OfferedCompiler, asked: ExplorerCompileRequest, wait_s: float
) -> CompileResult:
    """Return the result of `asked`, waiting for at most `wait_s` for each step.

    Raises ProblemRaised for errors that no argument can fix.
    """
    try:
        arguments = read_arguments(asked.options.userArguments)
        stage = _stage(arguments, asked, compiler)
    except ArgumentsRefused as error:
        return failed(str(error))
    inspected = await _inspect(request, asked, wait_s)
    if isinstance(inspected, CompileResult):
        return inspected
    inferred = infer(arguments, inspected)
    if inferred.missing:
        flags = " ".join(inferred.missing)
        message = f"types or values are missing; add to the compiler's arguments: {flags}"
        return failed(message, line=inferred.line)
    body = _compile_body(compiler, asked, inferred, stage)
    answer = await ask_itself(request, "POST", "/v1/compilations", body, {"wait": wait_s})
    if refused := _refusal(answer):
        return refused
    result = await _result(request, answer, stage, asked.options.filters, wait_s)
    result.stdout[:0] = plain_lines("\n".join(_notes(inferred, asked)))
    return result


async def _inspect(
    request: Request, asked: ExplorerCompileRequest, wait_s: float
) -> Inspection | CompileResult:
    """Return the kernels of the source, or a failed result if it cannot be parsed."""
    body: dict[str, Any] = {"source": asked.source}
    if asked.files:
        body["files"] = {part.filename: part.contents for part in asked.files}
    answer = await ask_itself(request, "POST", "/v1/inspect", body, {"wait": wait_s})
    if refused := _refusal(answer):
        return refused
    inspection = Inspection.model_validate_json(answer.body)
    if inspection.problem is None:
        return inspection
    lines = output_lines(inspection.diagnostics) or plain_lines(
        f"error: {inspection.problem.detail}"
    )
    return CompileResult(code=1, stderr=lines)


def _stage(
    arguments: UserArguments, asked: ExplorerCompileRequest, compiler: OfferedCompiler
) -> str:
    """Return the stage to show: the requested one, by default the assembly.

    Raises ArgumentsRefused for a stage that this target does not have as text.
    """
    target = parse_target(compiler.target)
    texts = [stage for stage in target.stages if stage not in BINARY]
    default = texts[-1]
    texts += [stage for stage, made_from in _DERIVED.items() if made_from in target.stages]
    if arguments.stage is None:
        return "sass" if asked.options.filters.get("binary") and "sass" in texts else default
    if arguments.stage not in texts:
        shown = f"{arguments.stage[:100]!r} for {target}; write one of {', '.join(texts)}"
        raise ArgumentsRefused(f"there is no stage {shown}")
    return arguments.stage


def _compile_body(
    compiler: OfferedCompiler, asked: ExplorerCompileRequest, inferred: InferredRequest, stage: str
) -> dict[str, Any]:
    stop_after = _DERIVED.get(stage, stage)
    return {
        "source": asked.source,
        "files": {part.filename: part.contents for part in asked.files},
        "target": compiler.target,
        "triton": compiler.triton,
        "stop_after": stop_after,
        "include": [] if stage in _DERIVED else [stage],
        "refresh": bool(asked.bypassCache),
        **inferred.members,
    }


def _refusal(answer: InnerAnswer) -> CompileResult | None:
    """Return a failed result if the arguments are wrong, None if the answer is not a problem.

    Raises ProblemRaised for every other problem, unchanged.
    """
    if answer.status == HTTPStatus.ACCEPTED:
        return _unfinished(answer.json.get("url"))
    if not answer.is_problem:
        return None
    problem = answer.json
    if answer.status in {HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_FOUND}:
        return failed(
            *[item["message"] for item in problem.get("errors", ())] or [problem["detail"]]
        )
    raise answer.raised


def _unfinished(url: str | None) -> CompileResult:
    message = "this takes longer than a request may wait; compile again to get the result"
    result = failed(message)
    return result.model_copy(
        update={"code": -1, "timedOut": True, "okToCache": False, "compilation": url}
    )


async def _result(
    request: Request,
    answer: InnerAnswer,
    stage: str,
    filters: Mapping[str, Any],
    wait_s: float,
) -> CompileResult:
    compilation = CompilationAnswer.model_validate_json(answer.body)
    result = CompileResult(
        code=0,
        stdout=plain_lines(compilation.stdout),
        stderr=output_lines(compilation.diagnostics),
        compilation=compilation.url,
    )
    problem = compilation.problem
    if problem is not None:
        result.code, result.okToCache = 1, not problem.retryable
        if not any(item.severity == "error" for item in compilation.diagnostics):
            result.stderr += plain_lines(f"error: {problem.detail}")
        return result
    text = compilation.included.get(stage)
    if stage in _DERIVED:
        path = f"{compilation.url}/artifacts/{stage}"
        made = await ask_itself(request, "GET", path, query={"wait": wait_s})
        if refused := _refusal(made):
            return refused
        text = made.body.decode(errors="replace")
    result.asm = await _assembly(request, compilation.url, stage, text or "", filters, wait_s)
    return result


async def _assembly(
    request: Request, url: str, stage: str, text: str, filters: Mapping[str, Any], wait_s: float
) -> list[AssemblyLine]:
    """Return the lines with their locations, or without if the line map is not ready in time."""
    lines = await ask_itself(request, "GET", f"{url}/lines", query={"wait": wait_s})
    rows = lines.json["lines"] if lines.status == HTTPStatus.OK else []
    host = host_of(request)
    sources = await host.in_thread(sources_of, rows, stage)
    return await host.in_thread(assembly, text, stage, sources, filters)


def _notes(inferred: InferredRequest, asked: ExplorerCompileRequest) -> list[str]:
    """Return notes on values taken from the source, and on ignored requests."""
    notes = list(inferred.notes)
    if asked.options.libraries or asked.options.tools:
        notes.append("this service has no libraries and no tools; the request for them was ignored")
    if asked.options.filters.get("execute"):
        notes.append("nothing was executed; POST /v1/launches runs kernels")
    return notes

"""The part of Compiler Explorer's API that editor plug-ins use. See docs/how-to/tools.md."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from adapters.compiler_explorer.compile_result import CompileResult
from adapters.compiler_explorer.compiling import (
    EXAMPLE,
    ExplorerCompileRequest,
    compile_for_explorer,
)
from adapters.compiler_explorer.offered_compilers import (
    LANGUAGE,
    OfferedCompiler,
    as_text,
    described_languages,
    offered_compilers,
)
from compiler.rejection import did_you_mean
from service.adapter_host import host_of
from service.http.body import parse_body, read_body
from service.http.inner_request import ask_itself
from service.http.openapi import body_of
from service.http.problems import ProblemRaised

router = APIRouter(prefix="/api", tags=["compiler explorer"])
builtin = APIRouter(prefix="/source/builtin", tags=["compiler explorer"])
"""Outside of `/api`, as in Compiler Explorer."""
Fields = Annotated[str, Query(description="members to return, with commas; `all` for all")]
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {}}}}


@router.get("/languages", summary="The languages of the compilers: one, Triton", responses=_TEXT)
async def get_languages(request: Request, fields: Fields = "") -> Response:
    """Answer JSON if `Accept` names it, otherwise text."""
    languages = described_languages(await _compilers(request))
    if not _wants_json(request):
        rows = "".join(f"{language['id']} | {language['name']}\n" for language in languages)
        return PlainTextResponse(f"Id | Name\n{rows}")
    names = [name for name in fields.split(",") if name and name != "all"]
    return JSONResponse(
        [{n: v for n, v in language.items() if not names or n in names} for language in languages]
    )


@router.get("/compilers", summary="A compiler for each target of each Triton", responses=_TEXT)
async def get_compilers(request: Request, fields: Fields = "") -> Response:
    """Answer JSON if `Accept` names it, otherwise text."""
    return _listing(request, await _compilers(request), fields)


@router.get("/compilers/{language}", summary="The compilers of one language", responses=_TEXT)
async def get_compilers_of(request: Request, language: str, fields: Fields = "") -> Response:
    """Answer JSON if `Accept` names it, otherwise text; none for languages except `triton`."""
    compilers = await _compilers(request)
    return _listing(request, compilers if language == LANGUAGE else [], fields)


@router.get("/libraries/{language}", summary="The libraries of one language: none")
async def get_libraries(request: Request, language: str) -> list[Any]:  # noqa: ARG001
    """Answer an empty list, which plug-ins accept."""
    await host_of(request).identify(request, "compile")
    return []


@router.get("/tools/{language}", summary="The tools of one language: none")
async def get_tools(request: Request, language: str) -> list[Any]:  # noqa: ARG001
    """Answer an empty list, so that plug-ins offer no choice."""
    await host_of(request).identify(request, "compile")
    return []


@router.get("/formats", summary="Formatters of sources: none")
async def get_formats(request: Request) -> list[Any]:
    """Answer an empty list, so that plug-ins offer no choice."""
    await host_of(request).identify(request, "compile")
    return []


@builtin.get("/list", summary="Examples of sources: none; the page has some")
async def get_builtin_sources(request: Request) -> list[Any]:
    """Answer an empty list, so that plug-ins offer no choice."""
    await host_of(request).identify(request, "compile")
    return []


@router.post(
    "/compiler/{compiler_id}/compile",
    summary="Compile a kernel and answer like Compiler Explorer",
    responses={200: {"model": CompileResult, "content": {"text/plain": {}}}},
    openapi_extra={"requestBody": body_of(ExplorerCompileRequest, {"fill": EXAMPLE})},
)
async def post_compile(request: Request, compiler_id: str) -> Response:
    """Answer 200 even if the kernel does not compile: see `code` and `stderr`."""
    host = host_of(request)
    await host.identify(request, "compile")
    asked = parse_body(await read_body(request, host.max_body_bytes), ExplorerCompileRequest)
    compiler = _find(await _compilers(request), compiler_id)
    result = await compile_for_explorer(request, compiler, asked, host.max_wait_s)
    if _wants_json(request):
        return Response(result.model_dump_json(), media_type="application/json")
    return PlainTextResponse(result.as_text)


async def _compilers(request: Request) -> list[OfferedCompiler]:
    answer = await ask_itself(request, "GET", "/v1/targets")
    if answer.is_problem:
        raise answer.raised
    return offered_compilers(answer.json)


def _find(compilers: Sequence[OfferedCompiler], named: str) -> OfferedCompiler:
    by_id = {compiler.id: compiler for compiler in compilers}
    if named not in by_id:
        meant = did_you_mean(named, by_id)
        detail = f"There is no compiler {named[:100]!r}.{meant} GET /api/compilers lists all"
        raise ProblemRaised("not_found", detail)
    return by_id[named]


def _listing(request: Request, compilers: Sequence[OfferedCompiler], fields: str) -> Response:
    if not _wants_json(request):
        return PlainTextResponse(as_text(compilers))
    names = tuple(filter(None, fields.split(",")))
    return JSONResponse([compiler.described(names) for compiler in compilers])


def _wants_json(request: Request) -> bool:
    return "json" in request.headers.get("accept", "").lower()

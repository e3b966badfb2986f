"""The FastAPI application: routes, documentation, and problems for all errors."""

from collections.abc import Sequence

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from compiler.inspection import InspectRequest
from compiler.problem import Problem
from compiler.request.compile_request import CompileRequest
from jobs import tracing
from launch.request.launch_request import LaunchRequest
from service import VERSION
from service.batches.batch import EXAMPLES, BatchRequest
from service.batches.batch_document import describe_batches
from service.feature import Feature
from service.http.browser import BrowserMiddleware
from service.http.middleware import HeadMiddleware, RequestIdMiddleware
from service.http.openapi_document import (
    ADAPTERS_TITLE,
    OpenApiDocument,
    adapter_operation_id,
    describe,
    operation_id,
)
from service.http.problems import install_handlers
from service.http.query import refuse_wrong_query
from service.http.request_spans import TracingMiddleware
from service.http.traffic import Traffic
from service.lifespan import OWNED, lifespan
from service.page_state import PageState
from service.routes import (
    artifacts,
    batches,
    compilations,
    derived,
    diffs,
    events,
    inspect,
    launches,
    lessons,
    pages,
    states,
    system,
    tensors,
    usage,
)
from service.settings import ServiceSettings

DESCRIPTION = """Compile, cache and run Triton GPU kernels over HTTP.

Post a kernel with its signature, constexprs and a target; get its TTIR, TTGIR, LLVM IR, PTX and
cubin, its registers and spills, and errors that point at your own line. No GPU is needed.

Post a launch to run the kernel on a GPU, or on the CPU device, which executes a translation of the
compiler's TTIR. The answer is a verdict, findings at your own line, and on a GPU timings.

A kernel that does not compile, or computes wrong values, is a result with status 200. Errors are
problems (RFC 9457) that name the field.

APIs of other projects have their own document: [openapi-adapters.json](openapi-adapters.json).
"""
TAGS = [
    {"name": "compilations", "description": "Compile kernels. A request's key names its result."},
    {"name": "artifacts", "description": "Stages of a compilation, and files derived from them."},
    {
        "name": "launches",
        "description": "Run, check and time kernels. A launch belongs to its caller.",
    },
    {"name": "batches", "description": "Up to 1,000 jobs in one request."},
    {"name": "lessons", "description": "Lessons on writing kernels, as on the page."},
    {"name": "page", "description": "States of the web page, which permalinks name."},
    {"name": "system", "description": "Targets, devices, workers, health and metrics."},
]

ROUTES = (
    compilations,
    derived,
    diffs,
    artifacts,
    events,
    inspect,
    launches,
    tensors,
    batches,
    states,
    lessons,
    system,
    usage,
)
BODIES: tuple[type[BaseModel], ...] = (
    CompileRequest,
    InspectRequest,
    LaunchRequest,
    launches.LaunchQuery,
    BatchRequest,
    PageState,
)


def create_app(settings: ServiceSettings, features: Sequence[Feature] = ()) -> FastAPI:
    """Return the application of the core with `features`."""
    traffic = Traffic()
    app = FastAPI(
        title="tritond",
        version=VERSION,
        description=DESCRIPTION,
        openapi_tags=[*TAGS, *(dict(f.tag) for f in features if f.tag)],
        lifespan=lifespan(settings, features, traffic),
        openapi_url=None,  # `routes.pages` makes it in a thread, off the event loop
        docs_url=None,  # FastAPI's pages load a CDN's scripts; `routes.pages` serves its own
        redoc_url=None,
        # FastAPI would match each for every request; GET /metrics is ours
        telemetry={"tracing": False, "metrics": False, "logs": False},
        generate_unique_id_function=operation_id,
        redirect_slashes=False,  # it would reveal the scheme and host behind a proxy
        responses={422: {"model": Problem, "description": "What is wrong, field by field"}},
    )
    app.add_middleware(HeadMiddleware)
    app.add_middleware(
        BrowserMiddleware,
        bound=settings.host,
        names=settings.host_names,
        may_be_framed=bool(settings.framing_origins),
    )
    app.add_middleware(RequestIdMiddleware, traffic=traffic)
    if tracing.is_on():
        app.add_middleware(TracingMiddleware)
    install_handlers(app)
    app.router.routes.append(compilations.plain_route)
    routers, foreign = [routes.router for routes in ROUTES], list[APIRouter]()
    for feature in features:
        app.router.routes.extend(feature.plain_routes)
        (foreign if feature.is_adapter else routers).extend(feature.routers)
    checks = [Depends(refuse_wrong_query)]
    for router in routers:
        app.include_router(router, dependencies=checks)
    for router in foreign:
        app.include_router(
            router, dependencies=checks, generate_unique_id_function=adapter_operation_id
        )
    app.include_router(pages.router)
    app.state.framing_origins = settings.framing_origins
    app.state.page_opens_github = settings.page_opens_github
    bodies = [*BODIES, *(body for feature in features for body in feature.bodies)]
    owned = [*OWNED, *(jobs for feature in features for jobs in feature.owned)]
    batch_examples = dict(EXAMPLES)
    for feature in features:
        batch_examples |= feature.batch_examples
    describe(
        app,
        bodies,
        (route for router in (*routers, *foreign) for route in router.routes),
        lambda document: describe_batches(document, owned, batch_examples),
    )
    adapted = {
        route.path_format
        for router in foreign
        for route in router.routes
        if isinstance(route, APIRoute)
    }
    app.state.document = OpenApiDocument(app, lambda path: path not in adapted)
    app.state.adapters_document = OpenApiDocument(app, adapted.__contains__, ADAPTERS_TITLE)
    return app

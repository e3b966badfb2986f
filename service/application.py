"""The FastAPI application: its routes, its documentation, and every error as a problem."""

from collections.abc import Sequence

from fastapi import Depends, FastAPI
from pydantic import BaseModel

from compiler.inspection import InspectRequest
from compiler.problem import Problem
from compiler.request.compile_request import CompileRequest
from launch.request.launch_request import LaunchRequest
from programs.program_request import ProgramRequest
from service import VERSION
from service.batches.batch import BatchRequest
from service.feature import Feature
from service.http.browser import BrowserMiddleware
from service.http.middleware import HeadMiddleware, RequestIdMiddleware
from service.http.openapi import OpenApiDocument, describe
from service.http.problems import install_handlers
from service.http.query import refuse_unknown
from service.lifespan import lifespan
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
    pages,
    program_bundle,
    programs,
    states,
    system,
    tensors,
)
from service.settings import ServiceSettings

DESCRIPTION = """Compile, cache and run Triton GPU kernels over HTTP.

Post a kernel with its signature, constexprs and a target; get its TTIR, TTGIR, LLVM IR, PTX and
cubin, its registers and spills, and errors that point at your own line. No GPU is needed.

Post a launch, and the kernel runs on a GPU, or on the CPU device, which runs a translation of the
compiler's own TTIR. The answer is a verdict, findings at your own line, and on a GPU timing. A
kernel that does not compile, or is not right, is a result and no HTTP error; errors are problems
(RFC 9457) that name the field.
"""
TAGS = [
    {"name": "compilations", "description": "Kernels compiled, by the key of what was posted."},
    {"name": "artifacts", "description": "What compilers made of them, and what is made of that."},
    {"name": "launches", "description": "Kernels run, compared and timed; each its caller's own."},
    {
        "name": "programs",
        "description": "What launches kernels, recorded, replayed and compared; each its caller's.",
    },
    {
        "name": "batches",
        "description": "Up to 1,000 compilations, launches or programs in one request.",
    },
    {"name": "page", "description": "What permalinks of the web page lead to."},
    {"name": "system", "description": "What the deployment has, and how it is."},
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
    programs,
    program_bundle,
    batches,
    states,
    system,
)
BODIES: tuple[type[BaseModel], ...] = (
    CompileRequest,
    InspectRequest,
    LaunchRequest,
    launches.LaunchQuery,
    ProgramRequest,
    BatchRequest,
    PageState,
)


def create_app(settings: ServiceSettings, features: Sequence[Feature] = ()) -> FastAPI:
    """Return the application of the core with `features`."""
    app = FastAPI(
        title="tritond",
        version=VERSION,
        description=DESCRIPTION,
        openapi_tags=[*TAGS, *(dict(f.tag) for f in features if f.tag)],
        lifespan=lifespan(settings, features),
        openapi_url=None,  # made beside the event loop by `routes.pages`
        docs_url=None,  # both come from elsewhere on the net; `routes.pages` does not
        redoc_url=None,
        # each would be looked up for every request; GET /metrics is ours
        telemetry={"tracing": False, "metrics": False, "logs": False},
        redirect_slashes=False,  # it would name the scheme and host that a proxy hides
        responses={422: {"model": Problem, "description": "What is wrong, field by field"}},
    )
    app.add_middleware(HeadMiddleware)
    app.add_middleware(
        BrowserMiddleware,
        bound=settings.host,
        names=settings.host_names,
        may_be_framed=bool(settings.framing_origins),
    )
    app.add_middleware(RequestIdMiddleware)
    install_handlers(app)
    app.router.routes.append(compilations.plain_route)
    routers = [routes.router for routes in ROUTES]
    for feature in features:
        app.router.routes.extend(feature.plain_routes)
        routers += feature.routers
    for router in routers:
        app.include_router(router, dependencies=[Depends(refuse_unknown)])
    app.include_router(pages.router)
    app.state.framing_origins = settings.framing_origins
    bodies = [*BODIES, *(body for feature in features for body in feature.bodies)]
    describe(app, bodies, (route for router in routers for route in router.routes))
    app.state.document = OpenApiDocument(app)
    return app

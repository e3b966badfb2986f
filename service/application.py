"""The FastAPI application: its routes, its documentation, and every error as a problem."""

from fastapi import FastAPI
from pydantic import BaseModel

from compiler.inspection import InspectRequest
from compiler.launch.request import LaunchRequest
from compiler.problem import Problem
from compiler.request import CompileRequest
from service import VERSION
from service.batches.batch import BatchRequest
from service.lifespan import lifespan
from service.openapi import describe_bodies
from service.problems import install_handlers
from service.request_id import RequestIdMiddleware
from service.routes import (
    artifacts,
    batches,
    compilations,
    derived,
    events,
    inspect,
    launches,
    page,
    posting,
    system,
    tensors,
)
from service.settings import ServiceSettings

DESCRIPTION = """Compile, cache and run Triton GPU kernels over HTTP.

Post a kernel with its signature, constexprs and a target; get its TTIR, TTGIR, LLVM IR, PTX and
cubin, its registers and spills, and errors that point at your own line. No GPU is needed.
"""

ROUTES = (
    posting,
    compilations,
    derived,
    artifacts,
    events,
    inspect,
    launches,
    tensors,
    batches,
    system,
    page,
)
BODIES: tuple[type[BaseModel], ...] = (
    CompileRequest,
    InspectRequest,
    LaunchRequest,
    launches.LaunchQuery,
    BatchRequest,
)


def create_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Return the application; without `settings` they are read from the environment."""
    app = FastAPI(
        title="tritond",
        version=VERSION,
        description=DESCRIPTION,
        lifespan=lifespan(settings or ServiceSettings()),
        # each would be looked up for every request; GET /metrics is ours
        telemetry={"tracing": False, "metrics": False, "logs": False},
        redirect_slashes=False,  # it would name the scheme and host that a proxy hides
        responses={422: {"model": Problem, "description": "What is wrong, field by field"}},
    )
    app.add_middleware(RequestIdMiddleware)
    install_handlers(app)
    app.router.routes.append(posting.plain_route)
    for routes in ROUTES:
        app.include_router(routes.router)
    describe_bodies(app, BODIES)
    return app

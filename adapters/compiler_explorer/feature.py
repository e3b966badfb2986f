"""Compiler Explorer's API, as a part of the service."""

from adapters.compiler_explorer import routes
from adapters.compiler_explorer.compiling import ExplorerCompileRequest
from service.feature import Feature

COMPILER_EXPLORER = Feature(
    is_adapter=True,
    tag={"name": "compiler explorer", "description": "Its API's shape, for editor plug-ins."},
    routers=(routes.router, routes.builtin),
    bodies=(ExplorerCompileRequest,),
)

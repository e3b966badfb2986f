"""The Model Context Protocol, as a part of the service."""

from adapters.mcp.endpoint import mcp_route, serving
from service.feature import Feature

MCP = Feature(plain_routes=(mcp_route,), serving=serving)

# Runs in: service
"""HTTP only: routes, auth, limits, problems. Never parses, compiles or executes user source."""

VERSION = "0.1.0"

# Runs in: service
"""HTTP itself: bodies, query strings, problems, middleware, bounds of connections."""

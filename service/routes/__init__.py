# Runs in: service
"""The routes, one resource a file."""

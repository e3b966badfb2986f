# Runs in: service, worker
"""Finds the fastest variant of a sweep of launches: the next runs, and their meaning. Pure."""

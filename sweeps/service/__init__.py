# Runs in: service
"""Sweeps over HTTP: from a request to its job, and from what is stored to an answer."""

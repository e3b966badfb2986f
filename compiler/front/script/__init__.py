# Runs in: child with user code
"""Runs a source as its own script, and records what its launches pass to kernels.

Runs user Python, so only children that are thrown away may use it.
"""

# Runs in: service, worker
"""Compile requests: parsed, measured, and resolved against a toolchain."""

# Runs in: worker, launcher
"""Runs of a kernel under compute-sanitizer and ncu, in separate processes."""

# Runs in: worker, launcher
"""Runs of a kernel under compute-sanitizer and ncu, in processes of their own."""

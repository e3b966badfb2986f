# Runs in: child with user code
"""Permanent patches of torch and Triton in a process that records."""

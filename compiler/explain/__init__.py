# Runs in: child with user code
"""Findings on a kernel's cost in the texts of its stages, by source line; only texts are read."""

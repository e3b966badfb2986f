# Runs in: child with user code, child without
"""Triton IR as a readable Python module on NumPy."""

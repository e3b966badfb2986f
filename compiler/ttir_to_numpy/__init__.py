"""Triton IR as a readable Python module on NumPy."""

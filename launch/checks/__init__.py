"""Checks while a kernel runs: accesses, races, and the resulting findings.

NumPy only; whatever runs the kernel calls these.
"""

# Runs in: worker, child with user code, child without, launcher
"""Checks of a running kernel: accesses, races, and the resulting findings.

NumPy only. The code that runs the kernel calls these checks.
"""

"""Checks of a running kernel: accesses, races, and the resulting findings.

NumPy only. The code that runs the kernel calls these checks.
"""

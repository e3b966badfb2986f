# Runs in: child with user code, child without
"""Runs compiled IR in NumPy: many programs at once, with every access checked.

It executes no user Python.
"""

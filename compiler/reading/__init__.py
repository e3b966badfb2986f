# Runs in: child with user code
"""Reads the kernels of a source from its text: facts, parameters, proposed types.

Its children have the profile `parse` and run no user code. It parses syntax, and neither executes
nor imports a source. Standard library only, without Triton.
"""

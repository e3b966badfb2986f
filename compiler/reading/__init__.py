# Runs in: child with user code
"""Reads the kernels of a source from its text: facts, parameters, proposed types.

Runs in: child without user code. Parses syntax; nothing here executes or imports user code.
Standard library only, without Triton.
"""

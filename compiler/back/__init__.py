"""The back end: TTIR or other IR to machine code, and what only Triton's own code can tell of it.

Runs in back children. No user Python ever runs beside it. Standard library and Triton only.
"""

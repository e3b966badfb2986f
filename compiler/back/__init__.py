# Runs in: child with user code, child without
"""The back end: TTIR or other IR to machine code, and facts that only Triton's own code knows.

Runs in back children. No user Python ever runs in the same process. Standard library and Triton
only.
"""

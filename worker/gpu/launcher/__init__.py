# Runs in: worker, launcher
"""The launcher: the process that holds a GPU and runs one launch after the other.

Standard library, NumPy, ml_dtypes and cuda-bindings.
"""

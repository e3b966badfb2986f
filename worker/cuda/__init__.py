"""The CUDA launcher: processes of our own that hold a GPU, and the worker's hold on them.

No user Python ever runs here. `launcher` and what it imports run in those processes, on the
standard library, NumPy, ml_dtypes and cuda-bindings; `launchers` and what it imports run in the
worker, which never imports CUDA.
"""

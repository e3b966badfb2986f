# Runs in: service, worker, child with user code, child without, launcher
"""The memory of a launch: element types, initial values, poison, `.npy` files.

One set for the CPU and the GPU. NumPy and ml_dtypes; no Triton.
"""

"""The CPU device: Triton's interpreter, with every access checked.

Runs in zygotes and their single-use children on NumPy, ml_dtypes and Triton.
"""

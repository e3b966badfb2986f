"""What a launch computes on a CPU: buffers, Triton's interpreter, references, comparisons.

Runs in zygotes and their single-use children on NumPy, ml_dtypes and Triton. Buffers, references
and comparisons need no Triton.
"""

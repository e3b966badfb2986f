"""What a zygote of launch tasks needs in its environment before it imports anything."""

ENVIRONMENT = {
    "OPENBLAS_NUM_THREADS": "1",
    "TRITON_INTERPRET": "1",
}
"""One BLAS thread, as a zygote may have no second one; `@triton.jit` makes interpreted functions,
Triton's own library included, only if this is set when Triton is imported.
"""

TORCH_ENVIRONMENT = {
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""The same for a zygote of references in torch."""

"""`tritonc program`: what launches kernels, run beside a reference, and what is recorded of it."""

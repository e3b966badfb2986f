# Runs in: client
"""`tritonc program`: runs code that launches kernels, and a reference; shows recordings."""

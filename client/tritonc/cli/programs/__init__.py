# Runs in: client
"""`tritonc program`: runs code that launches kernels beside a reference; shows recordings."""
